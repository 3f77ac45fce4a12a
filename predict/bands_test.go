package predict_test

import (
	"fmt"
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/extend"
	"github.com/arche-netcode/netcode/input"
	"github.com/arche-netcode/netcode/interest"
	ecs "github.com/arche-netcode/netcode/internal/world"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/interpolate"
	"github.com/arche-netcode/netcode/predict"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/transport"
)

// Entities that a client predicts without owning them have no bands.
func TestExactNamesWhatAClientPredicts(t *testing.T) {
	p := netcode.NewProtocol()
	netcode.Replicate[components.Predicted](p)
	schema := p.Schema()
	store, exact := snapshot.NewStore(schema, snapshot.Config{}), predict.Exact(schema)
	store.Begin(1)
	plain, two, all := store.Spawn(), store.Spawn(), store.Spawn()
	set := func(id netcode.NetworkID, v components.Predicted) {
		lanes := make([]uint32, schema.Plan(0).Lanes())
		schema.Plan(0).Quantise(reflect.ValueOf(&v).UnsafePointer(), lanes)
		store.Set(id, 0, lanes)
	}
	set(two, components.Predicted{Client: 2})
	set(all, components.Predicted{})
	store.Commit()
	for client := netcode.ClientID(1); client <= 3; client++ {
		require.False(t, exact(store, client, plain))
		require.Equal(t, client == 2, exact(store, client, two))
		require.True(t, exact(store, client, all))
	}
	none := predict.Exact(netcode.NewProtocol().Schema())
	require.False(t, none(store, 1, all), "the protocol has no Predicted")
}

// newBandedProtocol is newProtocol with distance bands of moving components.
func newBandedProtocol() *netcode.Protocol {
	p := netcode.NewProtocol()
	netcode.Replicate[position](p, netcode.Bands(netcode.Band{Beyond: 4, Scale: 8}, netcode.Band{Beyond: 20, Scale: 32, Every: 3}))
	netcode.Replicate[velocity](p, netcode.Bands(netcode.Band{Beyond: 10, Scale: 4, Every: 2}))
	netcode.Replicate[heat](p)
	netcode.Replicate[components.Owner](p)
	netcode.Replicate[components.Predicted](p)
	interpolate.Register[position](p)
	input.Register[control](p)
	predict.Register[position](p)
	predict.Register[velocity](p)
	predict.Register[heat](p)
	predict.Local[cooldown](p)
	predict.Spawns(p)
	return p
}

// bandedGame is a random game with distance bands.
type bandedGame struct {
	*chaos
	grid   *interest.Grid
	rows   map[reflect.Type][]int // Of a component: its own row, and the rows of its bands.
	coarse int                    // The number of values compared in a band.
	exact  int                    // The number of values of predicted entities.
}

func newBandedGame(t *testing.T, seed uint64) *bandedGame {
	p := newBandedProtocol()
	schema, config := p.Schema(), predict.Config{InputDelay: int(seed % 4), MaxReplay: 8 + int(seed%3)*24}
	g := newGameOf(t, p, transport.Link{Delay: 40 * time.Millisecond}, seed, config, nil)
	b := &bandedGame{chaos: newChaos(g, seed), rows: map[reflect.Type][]int{}}
	for row := range schema.Rows() {
		of := schema.Plan(row).Type()
		b.rows[of] = append(b.rows[of], row)
	}
	b.grid = interest.NewGrid(interest.GridConfig{Position: interest.PositionOf(schema, func(p *position) (x, y, z float32) { return p.X, p.Y, 0 })})
	bands := interest.NewBands(b.grid, interest.BandsConfig{Schema: schema, Grid: b.grid, Exact: predict.Exact(schema)})
	g.server.SetInterest(interest.New(bands, interest.Despawn))
	for range 3 {
		g.join(p, config).act = wander
	}
	return b
}

// look moves the viewpoints of the clients.
func (b *bandedGame) look() {
	for client := range b.server.Clients {
		if b.random.IntN(3) > 0 {
			b.grid.Look(client, float32(b.random.IntN(60)), float32(b.random.IntN(60)), 0)
		} else if id, ok := b.group.ID(b.bodies[client]); ok {
			b.grid.Follow(client, id)
		}
	}
}

// rest stops all motion and heals the network.
func (b *bandedGame) rest() {
	b.rules.wind = 0
	for _, l := range b.links {
		l.SetLink(transport.Link{})
	}
	for _, p := range b.players {
		p.skip, p.act = 0, func(*player) control { return control{} }
	}
	b.run(2)
	for query := generic.NewFilter1[velocity]().Query(b.world); query.Next(); {
		*query.Get() = velocity{}
	}
	b.run(8 * rate)
}

// check compares the world of a client at rest with the server's. Entities that the server lets it predict are exact.
// Others are rounded as in their band.
func (b *bandedGame) check(p *player) {
	schema, store, exact := b.server.Protocol().Schema(), b.server.Store(), predict.Exact(b.server.Protocol().Schema())
	for id := range store.All {
		e, ok := p.group.Entity(id)
		require.True(b.t, ok, "%v", id)
		mask := extend.OfServer(b.server).Session(p.client.ID()).View().Sight(id)
		for _, of := range []reflect.Type{reflect.TypeFor[position](), reflect.TypeFor[velocity]()} {
			row := b.rows[of][0]
			fine, shown := schema.Plan(row), schema.Band(mask, row)
			require.GreaterOrEqual(b.t, shown, 0)
			want, got := reflect.New(of), make([]uint32, fine.Lanes())
			fine.Dequantise(store.Row(id, row), want.UnsafePointer())
			if shown != row {
				require.False(b.t, store.Owner(id) == p.client.ID() || exact(store, p.client.ID(), id), "%v has a band", id)
				schema.Plan(shown).Quantise(want.UnsafePointer(), got)
				schema.Plan(shown).Dequantise(got, want.UnsafePointer())
				b.coarse++
			} else if p.sim.Predicts(id) {
				b.exact++
			}
			fine.Quantise(want.UnsafePointer(), got)
			expected := append([]uint32{}, got...)
			fine.Quantise(ecs.Get(p.world, e, ecs.TypeID(p.world, of)), got)
			require.Equal(b.t, expected, got, "client %d, %v, row %d, predicted %v", p.client.ID(), id, shown, p.sim.Predicts(id))
		}
	}
}

// TestPredictionConvergesBesideBands plays random games of three predicting clients with distance bands. At rest each
// client has the values of its bands, its predicted entities are exact, and mispredictions have ended. Without viewpoints
// the worlds are equal to the bit.
func TestPredictionConvergesBesideBands(t *testing.T) {
	coarse, exact := 0, 0
	for seed := range uint64(sized(3, 8)) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			b := newBandedGame(t, seed)
			b.run(2 * rate)
			for range 40 {
				b.act()
				b.look()
				b.run(b.random.IntN(rate))
			}
			for id := range b.server.Store().All {
				for client := range b.server.Clients {
					b.server.Show(client, id)
				}
			}
			b.rest()
			var wrong []uint64
			for _, p := range b.players {
				b.check(p)
				wrong = append(wrong, p.sim.Stats().Mispredictions)
			}
			b.run(rate)
			for i, p := range b.players {
				require.Equal(t, wrong[i], p.sim.Stats().Mispredictions)
			}
			for client := range b.server.Clients {
				b.grid.Look(client, float32(math.NaN()), 0, 0)
			}
			b.heal()
			coarse, exact = coarse+b.coarse, exact+b.exact
		})
	}
	require.Greater(t, coarse, 50)
	require.Greater(t, exact, 50)
}

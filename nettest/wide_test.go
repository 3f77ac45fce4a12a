package nettest_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/authority"
	"github.com/arche-netcode/netcode/components"
	netecs "github.com/arche-netcode/netcode/ecs"
	"github.com/arche-netcode/netcode/interest"
	ecs "github.com/arche-netcode/netcode/internal/world"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/nettest"
	"github.com/arche-netcode/netcode/record"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/transport"
)

// part is as many component types as there are pairs of types.
type part[A, B any] struct {
	V uint16
	X float32 `net:"min=-100,max=100,step=0.01"`
}

// wideGame is a game with many component types, whose rows are in the order of their registration.
type wideGame struct {
	*rand.Rand
	protocol *netcode.Protocol
	types    []reflect.Type
	most     int
	lives    []ecs.Entity
}

func newWideGame(seed uint64, types int) *wideGame {
	g := &wideGame{Rand: rand.New(rand.NewPCG(seed, 9)), protocol: netcode.NewProtocol(), most: types}
	replicate16[int8](g)
	replicate16[int16](g)
	replicate16[int32](g)
	replicate16[int64](g)
	replicate16[uint8](g)
	replicate16[uint16](g)
	replicate16[uint32](g)
	replicate16[uint64](g)
	replicate16[float32](g)
	replicate16[float64](g)
	replicate16[int](g)
	replicate16[uint](g)
	replicate16[complex64](g)
	replicate16[complex128](g)
	replicate16[bool](g)
	replicate16[string](g)
	return g
}

func replicate16[A any](g *wideGame) {
	replicatePart[A, int8](g)
	replicatePart[A, int16](g)
	replicatePart[A, int32](g)
	replicatePart[A, int64](g)
	replicatePart[A, uint8](g)
	replicatePart[A, uint16](g)
	replicatePart[A, uint32](g)
	replicatePart[A, uint64](g)
	replicatePart[A, float32](g)
	replicatePart[A, float64](g)
	replicatePart[A, int](g)
	replicatePart[A, uint](g)
	replicatePart[A, complex64](g)
	replicatePart[A, complex128](g)
	replicatePart[A, bool](g)
	replicatePart[A, string](g)
}

func replicatePart[A, B any](g *wideGame) {
	if len(g.types) < g.most {
		netcode.Replicate[part[A, B]](g.protocol, netcode.Named(fmt.Sprintf("Part%03d", len(g.types))))
		g.types = append(g.types, reflect.TypeFor[part[A, B]]())
	}
}

// play spawns, changes and removes entities and components of the server's world.
func (g *wideGame) play(w *ecs.World, frame int) {
	if frame > 150 {
		return // AssertConverge needs a world at rest
	}
	replicated := ecs.ComponentID[components.Replicated](w)
	if frame == 1 || g.IntN(12) == 0 {
		for range 4 {
			g.lives = append(g.lives, ecs.Spawn(w, nil, replicated))
		}
	}
	if len(g.lives) > 60 {
		at := g.IntN(len(g.lives))
		w.RemoveEntity(g.lives[at])
		g.lives = append(g.lives[:at], g.lives[at+1:]...)
	}
	for range sized(8, 20) {
		e, id := g.lives[g.IntN(len(g.lives))], ecs.TypeID(w, g.types[g.IntN(len(g.types))])
		switch {
		case !ecs.Has(w, e, id):
			ecs.Exchange(w, e, []ecs.ID{id}, nil, nil)
		case g.IntN(4) == 0:
			ecs.Exchange(w, e, nil, []ecs.ID{id}, nil)
			continue
		}
		// All parts lie alike in memory.
		*(*part[int8, int8])(ecs.Get(w, e, id)) = part[int8, int8]{V: uint16(g.IntN(1 << 16)), X: float32(g.IntN(20000))/100 - 100}
	}
}

// manyTypes is the number of component types of a large game: 64, or 200 in a build with the tag netcode_256.
const manyTypes = min(200, snapshot.MaxRows)

// TestAGameOfManyComponentTypes plays at 20 % loss with a component that one client must not see, is recorded and saved, and converges.
func TestAGameOfManyComponentTypes(t *testing.T) {
	t.Parallel()
	const secret = manyTypes - 50
	for seed := range uint64(sized(1, 2)) {
		g := newWideGame(seed, manyTypes)
		schema := g.protocol.Schema()
		require.Equal(t, manyTypes, schema.Rows())
		require.Equal(t, g.types[secret], schema.Plan(secret).Type())
		rows := func(_ *snapshot.Store, client netcode.ClientID, _ netcode.NetworkID) snapshot.Mask {
			if client == 1 {
				return snapshot.AllRows().Without(secret)
			}
			return snapshot.AllRows()
		}
		n := nettest.New(t, nettest.Config{
			Protocol: g.protocol, Clients: 2, Seed: seed, Game: g.play,
			Link: transport.Link{Delay: 40 * time.Millisecond, Jitter: 20 * time.Millisecond, Loss: .2},
			Setup: func(s *systems.ServerSystems, _ *ecs.World) {
				s.Server.SetInterest(interest.New(interest.NewRows(interest.All(), rows), interest.Despawn))
			},
		})
		var file bytes.Buffer
		stop, err := record.Start(n.Server.Server, &file)
		require.NoError(t, err)
		taped := map[netcode.Tick]map[netcode.NetworkID]snapshot.Mask{}
		for range 20 {
			n.Run(150 * time.Millisecond)
			store := n.Server.Store()
			taped[store.Tick()] = map[netcode.NetworkID]snapshot.Mask{}
			for id := range store.All {
				taped[store.Tick()][id] = store.Mask(id)
			}
		}
		n.AssertConverge()
		require.NoError(t, stop())
		seen := map[netcode.ClientID][]int{}
		for _, c := range n.Clients {
			seen[c.ID()] = make([]int, schema.Rows())
			for e := range netecs.Entities(c.World) {
				for row, of := range g.types {
					if ecs.Has(c.World, e, ecs.TypeID(c.World, of)) {
						seen[c.ID()][row]++
					}
				}
			}
		}
		require.Zero(t, seen[1][secret], "it is hidden")
		for row, count := range seen[2] {
			require.True(t, row == secret || count == seen[1][row])
		}
		require.Positive(t, seen[2][secret])
		require.Positive(t, seen[1][manyTypes-1])
		replayWide(t, &file, taped, n.Server.Store())
		saveWide(t, n.Server.Server, schema)
	}
}

// replayWide compares a recording with what the server had in some ticks.
func replayWide(t *testing.T, file io.Reader, taped map[netcode.Tick]map[netcode.NetworkID]snapshot.Mask, store *snapshot.Store) {
	r, err := record.NewReader(file)
	require.NoError(t, err)
	compared := 0
	for {
		tick, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		for id, mask := range taped[tick] {
			generation, rows := r.Entity(id.Index)
			require.Equal(t, id.Generation, generation)
			require.Equal(t, mask, rows, "%s as of %d", id, tick)
			compared++
			for ; tick == store.Tick() && !rows.IsZero(); rows = rows.Rest() {
				require.Equal(t, store.Row(id, rows.Lowest()), r.Row(id.Index, rows.Lowest()))
			}
		}
	}
	require.Greater(t, compared, 500)
}

// saveWide saves the game and compares the file with the server.
func saveWide(t *testing.T, s *netcode.Server, schema *snapshot.Schema) {
	var file bytes.Buffer
	require.NoError(t, record.Save(s, &file))
	saved, err := record.ReadSaved(&file, schema)
	require.NoError(t, err)
	at := 0
	for id := range s.Store().All {
		rows, _, _ := saved.Entity(at)
		require.Equal(t, s.Store().Mask(id), rows)
		for ; !rows.IsZero(); rows = rows.Rest() {
			require.Equal(t, s.Store().Row(id, rows.Lowest()), saved.Row(nil, at, rows.Lowest(), nil))
		}
		at++
	}
	require.Equal(t, at, saved.Len())
}

// TestAClientWritesTheLastOfManyComponents gives a client the right to a component of a high row.
func TestAClientWritesTheLastOfManyComponents(t *testing.T) {
	type zeal struct{ V uint16 }
	g := newWideGame(4, manyTypes-2)
	netcode.Replicate[components.Owner](g.protocol)
	netcode.Replicate[zeal](g.protocol, authority.WrittenBy(authority.OwnerWrites))
	var body ecs.Entity
	n := nettest.New(t, nettest.Config{
		Protocol: g.protocol, Clients: 1, Seed: 4, Link: transport.Link{Delay: 40 * time.Millisecond, Loss: .2},
		Setup: func(s *systems.ServerSystems, w *ecs.World) {
			bodies := generic.NewMap3[components.Replicated, components.Owner, zeal](w)
			s.Server.OnConnect(func(id netcode.ClientID) {
				body = bodies.NewWith(&components.Replicated{}, &components.Owner{Client: id}, &zeal{V: 1})
			})
		},
	})
	require.Equal(t, manyTypes-1, g.protocol.Schema().RowOf(reflect.TypeFor[zeal]()))
	require.True(t, n.RunUntil(5*time.Second, n.Connected))
	c := n.Clients[0]
	mine := netcode.NetworkID{}
	require.True(t, n.RunUntil(5*time.Second, func() bool {
		for _, id := range netecs.Entities(c.World) {
			mine = id
		}
		return authority.MayWrite[zeal](c.Client, mine)
	}))
	require.Equal(t, 1, authority.Rights(c.Client, mine).Count())
	for e := range netecs.Entities(c.World) {
		zeals := generic.NewMap[zeal](c.World)
		zeals.Get(e).V = 777
	}
	written := generic.NewMap[zeal](n.Server.World)
	require.True(t, n.RunUntil(5*time.Second, func() bool { return written.Get(body).V == 777 }))
}

// TestOneComponentTypeTooManyIsRefused holds the limit, and that its error tells the way out.
func TestOneComponentTypeTooManyIsRefused(t *testing.T) {
	type more struct{ V uint8 }
	way := map[int]string{
		64:  "64 components: join some into one, or build both ends with -tags netcode_256 for up to 256",
		256: "256 components: join some into one",
	}
	g := newWideGame(1, snapshot.MaxRows)
	require.Len(t, g.types, snapshot.MaxRows)
	require.PanicsWithValue(t, "netcode: Replicate[nettest_test.more]: a protocol holds at most "+way[snapshot.MaxRows],
		func() { netcode.Replicate[more](g.protocol) })
	require.Equal(t, snapshot.MaxRows, g.protocol.Schema().Rows())
}

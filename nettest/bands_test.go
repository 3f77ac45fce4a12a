package nettest_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	netecs "github.com/arche-netcode/netcode/ecs"
	"github.com/arche-netcode/netcode/interest"
	"github.com/arche-netcode/netcode/internal/alloctest"
	"github.com/arche-netcode/netcode/internal/rig"
	ecs "github.com/arche-netcode/netcode/internal/world"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/nettest"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/wire"
)

type (
	bandPlace struct {
		X, Y float32 `net:"min=-512,max=512,step=0.01"`
	}
	bandTurn struct {
		Q [4]float32 `net:"quat,bits=10"`
	}
	bandFloat struct{ X float32 }
)

// bandsNet is a game with distance bands: bodies that move, come and go, and clients that look from where they please.
type bandsNet struct {
	*nettest.Net
	t      *testing.T
	random *rand.Rand
	plans  [2][]*quantize.Plan // of place and turn: the component, and its bands
	rows   [2][]int
	every  [2][]int
	grid   *interest.Grid
	sight  *interest.Interest
	model  map[tick.Tick]map[netcode.NetworkID]bandsModel
	hidden map[netcode.NetworkID]bool // from client 1
	looks  map[netcode.ClientID][2]float32
	still  bool
	bodies []bandsBody
	bare   int // frames in which a client lacked a component, which none may
	coarse int // values that were compared in a band
}

const bandsReach = 120 // of positions and viewpoints

func newBandsNet(t *testing.T, seed uint64, link transport.Link) *bandsNet {
	g := &bandsNet{t: t, random: rand.New(rand.NewPCG(seed, 53)), hidden: map[netcode.NetworkID]bool{}, looks: map[netcode.ClientID][2]float32{},
		model: map[tick.Tick]map[netcode.NetworkID]bandsModel{}}
	p := netcode.NewProtocol()
	netcode.Replicate[bandPlace](p, netcode.Bands(netcode.Band{Beyond: 20, Scale: 4}, netcode.Band{Beyond: 60, Scale: 16, Every: 3}))
	netcode.Replicate[bandTurn](p, netcode.Bands(netcode.Band{Beyond: 40, Scale: 8, Every: 2}))
	netcode.Replicate[bandFloat](p)
	netcode.Replicate[components.Owner](p)
	g.every = [2][]int{{1, 1, 3}, {1, 2}}
	for k, of := range []reflect.Type{reflect.TypeFor[bandPlace](), reflect.TypeFor[bandTurn]()} {
		for row := range p.Schema().Rows() {
			if plan := p.Schema().Plan(row); plan.Type() == of {
				g.plans[k], g.rows[k] = append(g.plans[k], plan), append(g.rows[k], row)
			}
		}
		require.Len(t, g.plans[k], len(g.every[k]))
	}
	g.grid = interest.NewGrid(interest.GridConfig{Position: interest.PositionOf(p.Schema(), func(p *bandPlace) (x, y, z float32) { return p.X, p.Y, 0 })})
	rows := interest.NewRows(g.grid, func(_ *snapshot.Store, client netcode.ClientID, id netcode.NetworkID) snapshot.Mask {
		if client == 1 && g.hidden[id] {
			return snapshot.Mask{}.With(g.rows[0][0]).Not()
		}
		return snapshot.AllRows()
	})
	g.sight = interest.New(interest.NewBands(rows, interest.BandsConfig{Schema: p.Schema(), Grid: g.grid}), interest.Despawn)
	g.Net = nettest.New(t, nettest.Config{
		Protocol: p, Clients: 3, Seed: seed, Link: link, Game: g.play,
		Server: netcode.Config{SendBudget: -1, TickRate: 60}, Client: netcode.Config{SendBudget: -1},
	})
	g.Server.SetInterest(g.sight)
	return g
}

// bandsBody is a body of the server's world.
type bandsBody struct {
	entity ecs.Entity
	whole  bool // it has both components as long as it lives, and nobody hides them
}

// bandsModel is the dumb model of an entity at a tick: of each component and band the lanes of the component that the band was made of. None
// where the entity lacks the component.
type bandsModel [2][3][]uint32

// play moves, spawns and ends bodies, takes components from them and gives them back.
func (g *bandsNet) play(w *ecs.World, frame int) {
	places, turns, owners := generic.NewMap1[bandPlace](w), generic.NewMap1[bandTurn](w), generic.NewMap1[components.Owner](w)
	if g.still {
		return
	}
	far := func() float32 { return (g.random.Float32()*2 - 1) * bandsReach }
	for len(g.bodies) < 40 || len(g.bodies) < 60 && g.random.IntN(10) == 0 {
		b := bandsBody{whole: len(g.bodies)%2 == 0}
		builder := generic.NewMap5[components.Replicated, components.Owner, bandPlace, bandTurn, bandFloat](w)
		b.entity = builder.NewWith(&components.Replicated{},
			&components.Owner{Client: netcode.ClientID(g.random.IntN(8))}, &bandPlace{far(), far()}, &bandTurn{[4]float32{0, 0, 0, 1}}, &bandFloat{})
		g.bodies = append(g.bodies, b)
	}
	if n := g.random.IntN(len(g.bodies)); g.random.IntN(20) == 0 {
		w.RemoveEntity(g.bodies[n].entity)
		g.bodies[n] = g.bodies[len(g.bodies)-1]
		g.bodies = g.bodies[:len(g.bodies)-1]
	}
	for _, b := range g.bodies {
		if ecs.Has(w, b.entity, ecs.ComponentID[bandPlace](w)) && g.random.IntN(3) > 0 {
			p := places.Get(b.entity)
			p.X, p.Y = p.X+g.random.Float32()*2-1, p.Y+g.random.Float32()*2-1
			if g.random.IntN(100) == 0 {
				p.X, p.Y = far(), far()
			}
		}
		if ecs.Has(w, b.entity, ecs.ComponentID[bandTurn](w)) && g.random.IntN(3) > 0 {
			sin, cos := math.Sincos(float64(frame) / 20)
			turns.Get(b.entity).Q = [4]float32{0, float32(sin), 0, float32(cos)}
		}
		if id := ecs.ComponentID[bandPlace](w); !b.whole && g.random.IntN(60) == 0 {
			if ecs.Has(w, b.entity, id) {
				ecs.Exchange(w, b.entity, nil, []ecs.ID{id}, nil)
			} else {
				ecs.Exchange(w, b.entity, []ecs.ID{id}, nil, nil)
				*places.Get(b.entity) = bandPlace{far(), far()}
			}
		}
	}
	for _, c := range g.Clients {
		client := c.ID()
		if at, ok := g.looks[client]; !ok || g.random.IntN(120) == 0 {
			g.looks[client] = [2]float32{far(), far()}
		} else {
			g.looks[client] = [2]float32{at[0] + g.random.Float32() - 0.5, at[1] + g.random.Float32() - 0.5}
		}
		g.grid.Look(client, g.looks[client][0], g.looks[client][1], 0)
	}
	if b := g.bodies[g.random.IntN(len(g.bodies))]; g.random.IntN(5) == 0 {
		owners.Get(b.entity).Client = netcode.ClientID(g.random.IntN(8))
	}
	if b := g.bodies[g.random.IntN(len(g.bodies))]; !b.whole && g.random.IntN(5) == 0 {
		if id := g.id(b.entity); !id.IsZero() {
			g.hidden[id] = !g.hidden[id]
			g.sight.Refresh(id)
		}
	}
}

func (g *bandsNet) id(e ecs.Entity) netcode.NetworkID {
	ids := generic.NewMap1[components.Replicated](g.Server.World)
	return ids.Get(e).ID
}

// lanes quantises a component of an entity of the server's world, nil where it lacks it.
func (g *bandsNet) lanes(e ecs.Entity, k int) []uint32 {
	plan, w := g.plans[k][0], g.Server.World
	id := ecs.TypeID(w, plan.Type())
	if !ecs.Has(w, e, id) {
		return nil
	}
	lanes := make([]uint32, plan.Lanes())
	plan.Quantise(ecs.Get(w, e, id), lanes)
	return lanes
}

// note takes the newest tick into the model.
func (g *bandsNet) note() {
	now := g.Server.Tick()
	before, next := g.model[now-1], map[netcode.NetworkID]bandsModel{}
	for _, b := range g.bodies {
		id := g.id(b.entity)
		old, known := before[id]
		var m bandsModel
		for k := range m {
			lanes := g.lanes(b.entity, k)
			for band, every := range g.every[k] {
				turn := (int(now)+int(id.Index))/every != (int(now)-1+int(id.Index))/every
				if m[k][band] = lanes; known && lanes != nil && old[k][band] != nil && !turn {
					m[k][band] = old[k][band]
				}
			}
		}
		next[id] = m
	}
	g.model[now] = next
}

// value returns the value that a band gives of a component, as the component's plan has it.
func (g *bandsNet) value(k, band int, lanes []uint32) any {
	fine, coarse := g.plans[k][0], g.plans[k][band]
	v, of := reflect.New(fine.Type()), make([]uint32, fine.Lanes())
	fine.Dequantise(lanes, v.UnsafePointer())
	if band > 0 {
		coarse.Quantise(v.UnsafePointer(), of)
		coarse.Dequantise(of, v.UnsafePointer())
		fine.Quantise(v.UnsafePointer(), of)
		fine.Dequantise(of, v.UnsafePointer())
	}
	return v.Elem().Interface()
}

// band returns which band a client has of a component, -1 for none.
func (g *bandsNet) band(c *nettest.Client, index uint32, k int) int {
	mask, _, ok := c.Replica().RecordAt(index, c.Replica().Entity(index).Tick)
	require.True(g.t, ok)
	for band, row := range g.rows[k] {
		if mask.Has(row) {
			return band
		}
	}
	return -1
}

// check compares what a client has with the model.
func (g *bandsNet) check(c *nettest.Client) {
	if c.State() != netcode.Connected {
		return
	}
	for now := range c.Replica().All {
		e, ok := c.Systems.Entity(now.ID)
		require.True(g.t, ok)
		was, ok := g.model[now.Tick][now.ID]
		require.True(g.t, ok, "%v did not live at %d", now.ID, now.Tick)
		for k := range was {
			band, id := g.band(c, now.ID.Index, k), ecs.TypeID(c.World, g.plans[k][0].Type())
			require.Equal(g.t, band >= 0, ecs.Has(c.World, e, id))
			require.Equal(g.t, band >= 0, now.Mask.Has(g.rows[k][0]))
			if band < 0 {
				continue
			}
			require.NotNil(g.t, was[k][band])
			got := reflect.NewAt(g.plans[k][0].Type(), ecs.Get(c.World, e, id)).Elem().Interface()
			require.Equal(g.t, g.value(k, band, was[k][band]), got, "frame %d, client %d, %v, band %d", g.Frame(), c.ID(), now.ID, band)
			if band > 0 {
				g.coarse++
			}
		}
	}
	for _, b := range g.bodies {
		if e, ok := c.Systems.Entity(g.id(b.entity)); ok && b.whole {
			if !ecs.Has(c.World, e, ecs.ComponentID[bandPlace](c.World)) || !ecs.Has(c.World, e, ecs.ComponentID[bandTurn](c.World)) {
				g.bare++
			}
		}
	}
}

// settled checks which band each client has in the end, by the distance, and that it has the newest value.
func (g *bandsNet) settled() {
	begins, w := [2][]float64{{20, 60}, {40}}, g.Server.World
	owners, places := generic.NewMap1[components.Owner](w), generic.NewMap1[bandPlace](w)
	for _, c := range g.Clients {
		look := g.looks[c.ID()]
		for _, b := range g.bodies {
			id, owner := g.id(b.entity), owners.Get(b.entity).Client
			for k := range begins {
				lanes, got := g.lanes(b.entity, k), g.band(c, id.Index, k)
				if lanes == nil || k == 0 && c.ID() == 1 && g.hidden[id] {
					require.Equal(g.t, -1, got)
					continue
				}
				least, most := 0, 0
				if ecs.Has(w, b.entity, ecs.ComponentID[bandPlace](w)) && owner != c.ID() {
					p := places.Get(b.entity)
					far := math.Hypot(float64(p.X-look[0]), float64(p.Y-look[1]))
					for _, beyond := range begins[k] {
						if far > beyond+0.01 {
							least++
						}
						if far > 0.9*beyond-0.01 {
							most++
						}
					}
				}
				require.True(g.t, least <= got && got <= most, "client %d has %v in band %d, not %d to %d", c.ID(), id, got, least, most)
				e, _ := c.Systems.Entity(id)
				at := ecs.Get(c.World, e, ecs.TypeID(c.World, g.plans[k][0].Type()))
				require.Equal(g.t, g.value(k, got, lanes), reflect.NewAt(g.plans[k][0].Type(), at).Elem().Interface())
			}
		}
	}
}

// TestBandsAreExact plays random games: each client has exactly the value of the band that it is told of, never lacks a component while
// bands change, and has the newest value of the right band when the network is well again.
func TestBandsAreExact(t *testing.T) {
	for seed, loss := range []float64{0, 0.05, 0.2, 0.4} {
		if seed%3 > 0 && !*heavy {
			continue
		}
		t.Run(fmt.Sprintf("loss %v", loss), func(t *testing.T) {
			g := newBandsNet(t, uint64(seed), transport.Link{Delay: 30 * time.Millisecond, Jitter: 20 * time.Millisecond, Loss: loss})
			for frame := range 600 {
				if frame%150 == 60 { // One comes anew, as another client.
					g.Remove(g.Clients[2])
					g.Join()
				}
				g.Step()
				g.note()
				for _, c := range g.Clients {
					g.check(c)
				}
			}
			require.Zero(t, g.bare, "frames in which a client lacked a component")
			require.Greater(t, g.coarse, 10000)
			g.still = true
			g.Heal()
			for range 240 {
				g.Step()
				g.note()
			}
			g.settled()
			for _, c := range g.Clients {
				g.check(c)
			}
			g.AssertConverge()
			c := g.Clients[1]
			places := generic.NewMap1[bandPlace](c.World)
			for e, id := range netecs.Entities(c.World) {
				if g.band(c, id.Index, 0) > 0 {
					places.Get(e).X += 0.01
				}
			}
			require.ErrorContains(t, g.CheckConverge(), "bandPlace.")
		})
	}
}

// TestBandsAllocateNothing runs a server and 8 clients, who read what they get. Bodies go around, and change their bands.
func TestBandsAllocateNothing(t *testing.T) {
	p := netcode.NewProtocol()
	netcode.Replicate[bandPlace](p, netcode.Bands(netcode.Band{Beyond: 40, Scale: 4}, netcode.Band{Beyond: 100, Scale: 16, Every: 3}))
	r := rig.New(t, p, netcode.Config{SendBudget: -1})
	grid := interest.NewGrid(interest.GridConfig{Position: interest.PositionOf(p.Schema(), func(p *bandPlace) (x, y, z float32) { return p.X, p.Y, 0 })})
	bands := interest.NewBands(grid, interest.BandsConfig{Schema: p.Schema(), Grid: grid})
	r.Server.SetInterest(interest.New(bands, interest.Despawn))
	r.Server.OnConnect(func(client netcode.ClientID) { grid.Look(client, 20*float32(client), 0, 0) })
	var ids []wire.NetworkID
	plan, place, lanes := p.Schema().Plan(0), bandPlace{}, make([]uint32, 2)
	memory := reflect.ValueOf(&place).UnsafePointer()
	r.Server.Game = func(store *snapshot.Store) {
		for i := range 100 {
			if len(ids) < 100 {
				ids = append(ids, store.Spawn())
			}
			sin, cos := math.Sincos(float64(store.Tick())/40 + float64(i))
			place = bandPlace{float32(i) + 100*float32(sin), 100 * float32(cos)}
			plan.Quantise(memory, lanes)
			store.Set(ids[i], 0, lanes)
		}
	}
	var clients []*rig.ClientEnd
	for range 8 {
		clients = append(clients, r.Joined(p, netcode.Config{SendBudget: -1}))
	}
	rows := 0
	step := func() {
		r.Step()
		for _, c := range clients {
			for _, id := range ids {
				if c.Replica().Row(id.Index, 0) != nil {
					rows++
				}
			}
		}
	}
	for range 1500 {
		step()
	}
	rows = 0
	alloctest.Zero(t, 200, step, "allocations of a frame of the server and its 8 clients")
	require.Greater(t, rows, 200*8*99)
}

// TestHiddenComponentsWithBandsChangeNoByte: what is sent to a client that may not see a component is the same, whatever the component and its
// bands do.
func TestHiddenComponentsWithBandsChangeNoByte(t *testing.T) {
	calm, busy := sentBesideHiddenBands(t, false), sentBesideHiddenBands(t, true)
	require.Greater(t, len(calm), 100)
	require.Equal(t, calm, busy)
}

// sentBesideHiddenBands returns what was sent to client 1, who sees bandFloat alone, and when.
func sentBesideHiddenBands(t *testing.T, busy bool) (packets []string) {
	p := netcode.NewProtocol()
	netcode.Replicate[bandFloat](p)
	netcode.Replicate[bandPlace](p, netcode.Bands(netcode.Band{Beyond: 40, Scale: 4}, netcode.Band{Beyond: 100, Scale: 16, Every: 3}))
	r := rig.New(t, p, netcode.Config{SendBudget: -1})
	float, place := p.Schema().RowOf(reflect.TypeFor[bandFloat]()), p.Schema().RowOf(reflect.TypeFor[bandPlace]())
	grid := interest.NewGrid(interest.GridConfig{Position: func(_ *snapshot.Store, id wire.NetworkID) (x, y, z float32, ok bool) {
		return 5 * float32(id.Index), 0, 0, true
	}})
	bands := interest.NewBands(interest.NewRows(interest.All(), func(*snapshot.Store, netcode.ClientID, wire.NetworkID) snapshot.Mask {
		return snapshot.Mask{}.With(float)
	}), interest.BandsConfig{Schema: p.Schema(), Grid: grid})
	r.Server.SetInterest(interest.New(bands, interest.Despawn))
	random, secret := rand.New(rand.NewPCG(53, 1)), rand.New(rand.NewPCG(53, 2))
	var ids []wire.NetworkID
	r.Server.Game = func(store *snapshot.Store) {
		for len(ids) < 40 {
			ids = append(ids, store.Spawn())
		}
		for _, id := range ids {
			if random.IntN(4) == 0 {
				store.Set(id, float, []uint32{math.Float32bits(random.Float32())})
			}
			switch {
			case !busy || secret.IntN(2) == 0:
			case secret.IntN(10) == 0:
				store.Remove(id, place)
			default:
				store.Set(id, place, []uint32{secret.Uint32N(100000), secret.Uint32N(100000)})
			}
		}
	}
	c := r.Joined(p, netcode.Config{SendBudget: -1})
	r.Tamper = func(_, to transport.Addr, packet []byte) []byte {
		if to == c.Conn.LocalAddr() {
			packets = append(packets, fmt.Sprintf("%v %x", r.Now, packet))
		}
		return packet
	}
	for range 300 {
		grid.Look(c.ID(), 200*random.Float32(), 0, 0)
		r.Step()
		require.Zero(t, c.Replica().Entity(ids[0].Index).Mask.Without(float))
	}
	return packets
}

// bandSaid is a message about an entity.
type bandSaid struct{ N uint32 }

// TestMessagesDoNotWaitForAnotherBand: a message about an entity waits for the state that its client gets, and not for what only others
// get.
func TestMessagesDoNotWaitForAnotherBand(t *testing.T) {
	for name, how := range map[string][]netcode.Option{"about": nil, "after all state": {netcode.AfterAllState()}} {
		t.Run(name, func(t *testing.T) {
			p, heard := netcode.NewProtocol(), 0
			netcode.Replicate[bandPlace](p, netcode.Bands(netcode.Band{Beyond: 10, Scale: 1024, Every: 60}))
			netcode.Handle(p, func(_ *netcode.Context, m *bandSaid) { heard++ }, netcode.FromServer())
			r := rig.New(t, p, netcode.Config{SendBudget: -1})
			grid := interest.NewGrid(interest.GridConfig{Position: func(*snapshot.Store, wire.NetworkID) (x, y, z float32, ok bool) { return 100, 0, 0, true }})
			bands := interest.NewBands(grid, interest.BandsConfig{Schema: p.Schema(), Grid: grid})
			r.Server.SetInterest(interest.New(bands, interest.Despawn))
			r.Server.OnConnect(func(client netcode.ClientID) { grid.Look(client, 0, 0, 0) })
			var id wire.NetworkID
			row, moves := p.Schema().RowOf(reflect.TypeFor[bandPlace]()), uint32(0)
			r.Server.Game = func(store *snapshot.Store) {
				if id.IsZero() {
					id = store.Spawn()
				}
				moves++
				store.Set(id, row, []uint32{50000 + moves, 50000})
			}
			c := r.Joined(p, netcode.Config{SendBudget: -1})
			r.Run(2 * time.Second)
			said, had := 0, slices.Clone(c.Replica().Row(id.Index, row))
			for range 60 {
				for _, mode := range []wire.Delivery{netcode.Unreliable, netcode.UnreliableSequenced, netcode.Reliable, netcode.ReliableOrdered} {
					require.NoError(t, netcode.Send(r.Server.Server, netcode.To(c.ID()), &bandSaid{uint32(said)}, append([]netcode.Option{netcode.About(id), netcode.Over(mode)}, how...)...))
					said++
				}
				r.Run(50 * time.Millisecond)
			}
			r.Run(200 * time.Millisecond)
			require.Equal(t, said, heard)
			require.Equal(t, had, c.Replica().Row(id.Index, row), "the client is in the band")
		})
	}
}

package guide_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/input"
	"github.com/arche-netcode/netcode/interest"
	ecs "github.com/arche-netcode/netcode/internal/world"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/predict"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/memory"
)

// Recipes of the guide with a host: a server and a player in one process and one world.

// hosted is a host whose clock and network are virtual.
type hosted struct {
	server *netcode.Server
	player *netcode.Client
	group  *systems.HostSystems
	world  *ecs.World
	step   func()
}

// newHosted makes a host, has setup finish it, and runs its first frame.
func newHosted(t *testing.T, p *netcode.Protocol, config netcode.Config, setup func(h *hosted)) *hosted {
	t.Helper()
	server, err := netcode.NewServer(p, config)
	require.NoError(t, err)
	player, err := netcode.NewClient(p, netcode.Config{})
	require.NoError(t, err)
	socket, err := memory.NewNetwork().Listen(transport.MustParseAddr("127.0.0.1:1"))
	require.NoError(t, err)
	var now time.Duration
	group, err := systems.NewHost(server, player, socket, func() time.Duration { return now })
	require.NoError(t, err)
	for _, end := range []interface{ OnError(func(error)) }{server, player} {
		end.OnError(func(err error) { require.NoError(t, err) })
	}
	world := ecs.New()
	h := &hosted{server: server, player: player, group: group, world: world}
	if setup != nil {
		setup(h)
	}
	loop := systems.NewRunner(world, group, 60)
	h.step = func() {
		now += time.Second / 60
		loop.Step()
	}
	h.step()
	require.Equal(t, netcode.Connected, player.State())
	return h
}

// until runs frames until something is so, for three seconds at most.
func (h *hosted) until(t *testing.T, so func() bool) {
	t.Helper()
	for range 180 {
		if so() {
			return
		}
		h.step()
	}
	require.Fail(t, "it did not come true in three seconds")
}

// body adds a replicated entity and returns it with its id.
func (h *hosted) body(t *testing.T) (e ecs.Entity, id netcode.NetworkID) {
	t.Helper()
	build := generic.NewMap2[components.Replicated, Position](h.world)
	e = build.New()
	h.until(t, func() bool {
		id, _ = h.group.ID(e)
		return h.server.Store().Alive(id)
	})
	return e, id
}

// withHost lists the recipes that a host shows in another way than a client, and those that are for hosts, by the names of their functions.
var withHost = map[string]func(t *testing.T){
	"sparks": func(t *testing.T) {
		played := 0
		h := newHosted(t, protocol(), netcode.Config{}, func(h *hosted) { sparks(h.group.View, func(ecs.Entity) { played++ }) })
		h.body(t)
		h.step()
		require.Equal(t, 1, played)
	},
	"see players": func(t *testing.T) {
		p := protocol()
		netcode.Replicate[Hand](p)
		netcode.Replicate[components.Owner](p)
		h := newHosted(t, p, netcode.Config{}, func(h *hosted) { players(h.group.ServerSystems, h.world, see(p, h.server)) })
		_, near := h.body(t)
		build := generic.NewMap2[components.Replicated, Position](h.world)
		e := build.NewWith(&components.Replicated{}, &Position{X: 500})
		h.until(t, func() bool { id, _ := h.group.ID(e); return h.server.Store().Alive(id) })
		far, _ := h.group.ID(e)
		h.until(t, func() bool { return h.server.Visible(1, near) && !h.server.Visible(1, far) })
		before := h.server.Store().Len()
		h.player.Close()
		h.until(t, func() bool { return h.server.Store().Len() == before-1 })
	},
	"distant look": func(t *testing.T) {
		p := netcode.NewProtocol()
		distant(p)
		h := newHosted(t, p, netcode.Config{}, func(h *hosted) { look(p, h.server).Look(1, 0, 0, 0) })
		spots := generic.NewMap2[components.Replicated, Spot](h.world)
		e := spots.NewWith(&components.Replicated{}, &Spot{X: 301.2345})
		id, _ := h.group.ID(e)
		for range 20 {
			h.step()
		}
		require.True(t, h.server.Visible(1, id))
		_, spot := spots.Get(e)
		require.Equal(t, float32(301.2345), spot.X, "a host's player sees the server's world, in which nothing is rounded")
	},
	"launch": func(t *testing.T) {
		p, heard := netcode.NewProtocol(), []netcode.NetworkID{}
		netcode.Replicate[Soldier](p)
		var h *hosted
		netcode.Handle(p, func(ctx *netcode.Context, _ *Opened) {
			_, ok := h.group.Entity(ctx.Entity)
			require.True(t, ok)
			heard = append(heard, ctx.Entity)
		})
		h = newHosted(t, p, netcode.Config{}, nil)
		id := launch(h.group.ServerSystems, h.world, h.player.ID())
		h.step()
		require.Equal(t, []netcode.NetworkID{id}, heard)
		require.Equal(t, h.player.ID(), h.server.Owner(id))
		h.until(t, func() bool { return h.server.Store().Alive(id) })
	},
	"save restore": func(t *testing.T) {
		p := protocol()
		h := newHosted(t, p, netcode.Config{}, nil)
		h.body(t)
		var file bytes.Buffer
		require.NoError(t, save(h.server, &file))
		require.NoError(t, restore(h.group.ServerSystems, h.world, &file))
		h.until(t, func() bool { return h.server.Store().Len() == 2 })
	},
	"predicted relayed move Step fire fly": func(t *testing.T) {
		p := netcode.NewProtocol()
		predicted(p)
		relayed(p)
		predict.Local[Reload](p)
		predict.Spawns(p)
		heard := 0
		var sim *predict.Simulation
		h := newHosted(t, p, netcode.Config{}, func(h *hosted) {
			sim = predict.Simulate(h.group, predict.Config{}, predict.Func(move), &gun{})
			sim.OnEffect(func(predict.Effect) { heard++ })
		})
		tanks := generic.NewMap4[components.Replicated, components.Owner, Body, Pace](h.world)
		tank := tanks.NewWith(&components.Replicated{}, &components.Owner{Client: h.player.ID()}, &Body{}, &Pace{})
		for range 60 {
			require.NoError(t, input.Set(h.player, &Stick{X: 1, Fire: heard == 0}))
			h.step()
		}
		_, _, at, _ := tanks.Get(tank)
		require.Greater(t, at.X, float32(4), "its world is the server's: it moves, and nothing is predicted")
		require.Positive(t, heard)
	},
	"dress camera redraw draw hidden": func(t *testing.T) {
		p := netcode.NewProtocol()
		netcode.Replicate[components.Kind](p)
		netcode.Replicate[components.Owner](p)
		netcode.Replicate[Health](p)
		netcode.Replicate[Shield](p)
		smooth(p)
		rooms := interest.NewRooms()
		var followed []ecs.Entity
		bars, unshielded := map[ecs.Entity][]uint8{}, 0
		h := newHosted(t, p, netcode.Config{}, func(h *hosted) {
			h.server.SetInterest(interest.New(rooms, interest.Despawn))
			dress(h.group.View, h.world)
			camera(h.group.View, h.world, func(e ecs.Entity) { followed = append(followed, e) })
			h.group.Add(tick.Update, systems.Func(func(*ecs.World) {
				redraw(h.group.View, func(e ecs.Entity, now uint8) { bars[e] = append(bars[e], now) }, func(ecs.Entity) { unshielded++ })
			}))
		})
		rooms.Enter(h.player.ID(), 1)
		sprites, health, shields := generic.NewMap1[Sprite](h.world), generic.NewMap1[Health](h.world), generic.NewMap1[Shield](h.world)
		e, id := h.body(t)
		kinds, owners := generic.NewMap1[components.Kind](h.world), generic.NewMap1[components.Owner](h.world)
		kinds.Assign(e, &components.Kind{ID: kindTree})
		owners.Assign(e, &components.Owner{Client: h.player.ID()})
		health.Assign(e, &Health{Now: 9})
		shields.Assign(e, &Shield{})
		for range 10 {
			h.step()
		}
		require.False(t, sprites.Get(e) != nil, "it is hidden")
		require.Equal(t, 1, hidden(h.group.View, h.world))
		rooms.Add(id, 1)
		h.until(t, func() bool { return h.group.View.Sees(e) })
		h.step()
		require.Equal(t, "tree", sprites.Get(e).Name)
		require.Equal(t, []ecs.Entity{e}, followed)
		require.Equal(t, []uint8{9}, bars[e])
		require.Zero(t, hidden(h.group.View, h.world))
		places := generic.NewMap1[Position](h.world)
		places.Get(e).X = 7
		health.Get(e).Now = 8
		shields.Remove(e)
		h.until(t, func() bool { return unshielded == 1 })
		for range 6 {
			h.step()
		}
		require.Equal(t, []uint8{9, 8}, bars[e])
		var drawn []float32
		draw(h.world, func(x, _ float32) { drawn = append(drawn, x) })
		require.Len(t, drawn, 1)
		require.InDelta(t, 7, drawn[0], .01)
		rooms.Remove(id, 1)
		h.until(t, func() bool { return !h.group.View.Sees(e) })
		require.Nil(t, sprites.Get(e), "its sprite is freed, and it lives on")
		drawn = nil
		draw(h.world, func(x, _ float32) { drawn = append(drawn, x) })
		require.Empty(t, drawn)
	},
	"single invite alone": func(t *testing.T) {
		p := protocol()
		server, err := netcode.NewServer(p, netcode.Config{})
		require.NoError(t, err)
		player, err := netcode.NewClient(p, netcode.Config{})
		require.NoError(t, err)
		group, err := single(server, player)
		require.NoError(t, err)
		world := ecs.New()
		loop := systems.NewRunner(world, group, 60)
		loop.Step()
		require.Equal(t, netcode.Connected, player.State())
		socket, err := memory.NewNetwork().Listen(transport.Addr{})
		require.NoError(t, err)
		require.NoError(t, invite(group, socket))
		loop.Step()
		require.Equal(t, systems.Socket(socket), group.Receive.Socket)
		alone(group)
		loop.Step()
		require.Equal(t, systems.Offline{}, group.Receive.Socket)
		require.Equal(t, netcode.Connected, player.State())
	},
	"bots": func(t *testing.T) {
		p := protocol()
		netcode.Answer[Price, Coins](p, nil)
		h := newHosted(t, p, netcode.Config{}, nil)
		bots([]*netcode.Client{h.player})
		var offer uint32
		require.NoError(t, netcode.Call(t.Context(), h.server, h.player.ID(), &Price{}, func(r *Coins, err error) {
			require.NoError(t, err)
			offer = r.Count + 1
		}))
		h.until(t, func() bool { return offer == 1 })
	},
}

func TestGuideWithAHost(t *testing.T) {
	for names, walk := range withHost {
		t.Run(names, walk)
	}
}

package guide_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/authority"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/delta"
	netecs "github.com/arche-netcode/netcode/ecs"
	"github.com/arche-netcode/netcode/input"
	"github.com/arche-netcode/netcode/interest"
	ecs "github.com/arche-netcode/netcode/internal/world"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/peer"
	"github.com/arche-netcode/netcode/predict"
	"github.com/arche-netcode/netcode/record"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/memory"
	"github.com/arche-netcode/netcode/wire"
)

// Each recipe of the guide is tried with a host: a server and a player in one process and one world.

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

// withHost is a test for each recipe that a host can run, by the names of its functions.
var withHost = map[string]func(t *testing.T){
	"chats Serialize": func(t *testing.T) {
		p := netcode.NewProtocol()
		chats(p, func(netcode.ClientID, string) { t.Error("who said it is not told") })
		h := newHosted(t, p, netcode.Config{}, nil)
		require.NoError(t, netcode.Send(h.player, netcode.ToServer(), &Chat{Text: "hello"}))
		h.step()
		require.EqualValues(t, 1, h.server.Stats().Messages.Handled+h.server.Stats().Messages.Immediate)
	},
	"RegisterFramerate SetFramerate FramerateOf Client Server": func(t *testing.T) {
		p := protocol()
		RegisterFramerate(p)
		h := newHosted(t, p, netcode.Config{}, nil)
		SetFramerate(h.player, 60)
		h.step()
		require.Equal(t, 60, FramerateOf(h.server, 1))
	},
	"open": func(t *testing.T) {
		p := protocol()
		var heard netcode.NetworkID
		netcode.Handle(p, func(ctx *netcode.Context, _ *Opened) { heard = ctx.Entity }, netcode.FromServer(), netcode.Over(netcode.Reliable))
		h := newHosted(t, p, netcode.Config{}, nil)
		_, door := h.body(t)
		require.NoError(t, open(h.server, door, 1))
		h.step()
		require.Equal(t, door, heard)
	},
	"levels sendLevel Serialize": func(t *testing.T) {
		p := netcode.NewProtocol()
		var loaded []byte
		levels(p, func(level []byte) { loaded = append(loaded, level...) })
		h := newHosted(t, p, netcode.Config{}, nil)
		level := bytes.Repeat([]byte("grass "), 1000)
		var deflate wire.Deflate
		require.NoError(t, sendLevel(h.server, 1, level, &deflate))
		h.step()
		require.Equal(t, level, loaded)
	},
	"sparks": func(t *testing.T) {
		played := 0
		h := newHosted(t, protocol(), netcode.Config{}, func(h *hosted) { sparks(h.group.View, func(ecs.Entity) { played++ }) })
		h.body(t)
		h.step()
		require.Equal(t, 1, played)
	},
	"scoreboard": func(t *testing.T) {
		h := newHosted(t, netcode.NewProtocol(), netcode.Config{}, nil)
		h.step()
		require.Equal(t, []string{"player 1: 0 ms"}, scoreboard(h.server))
	},
	"shop ask": func(t *testing.T) {
		p := netcode.NewProtocol()
		shop(p, map[uint16]uint32{3: 20})
		h := newHosted(t, p, netcode.Config{}, nil)
		price := uint32(0)
		require.NoError(t, ask(context.Background(), h.player, 3, func(c uint32) { price = c }))
		require.NoError(t, ask(context.Background(), h.player, 4, func(uint32) { t.Error("it is not for sale") }))
		h.until(t, func() bool { return price == 20 })
	},
	"writers lend take": func(t *testing.T) {
		p := netcode.NewProtocol()
		writers(p)
		h := newHosted(t, p, netcode.Config{}, func(h *hosted) { lend(h.server) })
		build := generic.NewMap4[components.Replicated, components.Owner, Steering, Carried](h.world)
		e := build.NewWith(&components.Replicated{}, &components.Owner{Client: 1}, &Steering{}, &Carried{})
		h.until(t, func() bool { id, _ := h.group.ID(e); return h.server.Store().Alive(id) })
		box, _ := h.group.ID(e)
		require.True(t, authority.MayWrite[Steering](h.player, box))
		require.False(t, authority.MayWrite[Carried](h.player, box))
		require.NoError(t, take(h.player, box))
		h.until(t, func() bool { return authority.MayWrite[Carried](h.player, box) })
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
	"fog": func(t *testing.T) {
		p := protocol()
		netcode.Replicate[Hand](p)
		var revealed, allowed *interest.Explicit
		h := newHosted(t, p, netcode.Config{}, func(h *hosted) { revealed, allowed = fog(h.server, see(p, h.server)) })
		_, id := h.body(t)
		h.step()
		require.False(t, h.server.Visible(1, id))
		revealed.Show(1, id)
		allowed.Show(1, id)
		h.until(t, func() bool { return h.server.Visible(1, id) })
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
	"convoy": func(t *testing.T) {
		p := protocol()
		netcode.Replicate[CarriedBy](p)
		var teams *interest.Teams
		var sight *interest.Interest
		h := newHosted(t, p, netcode.Config{}, func(h *hosted) { _, teams, sight = convoy(p, h.server) })
		e, tank := h.body(t)
		turrets := generic.NewMap2[components.Replicated, CarriedBy](h.world, generic.T[CarriedBy]())
		turret, _ := h.group.ID(turrets.New(e))
		h.step()
		require.False(t, h.server.Visible(1, turret))
		h.server.SetOwner(tank, 2)
		teams.Join(1, 1)
		teams.Join(2, 1)
		h.until(t, func() bool { return h.server.Visible(1, tank) && h.server.Visible(1, turret) })
		teams.Join(1, 0)
		require.True(t, sight.RefreshClient(1))
		require.False(t, h.server.Visible(1, turret))
	},
	"divide": func(t *testing.T) {
		var rooms *interest.Rooms
		h := newHosted(t, protocol(), netcode.Config{}, func(h *hosted) { rooms = divide(h.group.ServerSystems) })
		_, id := h.body(t)
		h.step()
		require.False(t, h.server.Visible(1, id), "it is in the arena, and the player in the lobby")
		rooms.Enter(1, arena)
		h.until(t, func() bool { return h.server.Visible(1, id) })
	},
	"atNight": func(t *testing.T) {
		dark := true
		var sight *interest.Interest
		h := newHosted(t, protocol(), netcode.Config{}, func(h *hosted) { sight = atNight(h.server, interest.All(), &dark) })
		_, id := h.body(t)
		h.until(t, func() bool { return !h.server.Visible(1, id) })
		dark = false
		sight.RefreshAll()
		h.until(t, func() bool { return h.server.Visible(1, id) })
	},
	"host": func(t *testing.T) { TestGuideHost(t) },
	"fixedSteps": func(t *testing.T) {
		p := netcode.NewProtocol()
		handled, steps := 0, 0
		netcode.Handle(p, func(*netcode.Context, *chat) { handled++ }, netcode.AtStage(netcode.StageFixedUpdate))
		server, err := netcode.NewServer(p, netcode.Config{})
		require.NoError(t, err)
		player, err := netcode.NewClient(p, netcode.Config{})
		require.NoError(t, err)
		var now time.Duration
		group, err := systems.NewHost(server, player, silence{}, func() time.Duration { return now })
		require.NoError(t, err)
		group.Add(netcode.StageFixedUpdate, counted{func() { steps++ }})
		world := ecs.New()
		frame := fixedSteps(group, world, func() time.Duration { return now })
		for i := range 100 {
			frame()
			if i > 0 {
				require.NoError(t, netcode.Send(server, netcode.ToAll(), &chat{}))
				require.NoError(t, netcode.Send(player, netcode.ToServer(), &chat{}))
			}
			now += time.Second / 100
		}
		require.InDelta(t, 50, steps, 1)
		require.InDelta(t, 198, handled, 4)
	},
	"score patrol": func(t *testing.T) {
		p := netcode.NewProtocol()
		replicate(p)
		h := newHosted(t, p, netcode.Config{}, nil)
		board, err := score(h.server, Look{Hat: 3})
		require.NoError(t, err)
		h.until(t, func() bool { return h.server.Store().Alive(board) })
		patrol(h.server)
		require.Equal(t, netcode.Connected, h.player.State())
	},
	"follow": func(t *testing.T) {
		told, connected := "", false
		h := newHosted(t, netcode.NewProtocol(), netcode.Config{}, func(h *hosted) {
			follow(h.player, func(text string) { told = text })
			h.player.OnConnect(func(netcode.ClientID) { connected = true })
		})
		require.True(t, connected, "hooks that are set before the first frame are called in it")
		h.server.Kick(1, "be nice")
		require.Contains(t, told, "be nice")
		require.ErrorIs(t, h.player.Err(), peer.ReasonKicked)
	},
	"register give watch": func(t *testing.T) {
		p := protocol()
		c := register(p)
		var shown []Slot
		h := newHosted(t, p, netcode.Config{}, func(h *hosted) { c.watch(h.player, &shown) })
		_, id := h.body(t)
		require.NoError(t, c.give(h.server, id))
		h.until(t, func() bool { return len(shown) == 1 && shown[0] == Slot{3, 2} })
		require.True(t, c.Quests.Of(h.player, id).Has(17))
	},
	"march replicate dig": func(t *testing.T) {
		p := netcode.NewProtocol()
		netcode.Replicate[Soldier](p)
		netcode.Replicate[Shield](p)
		replicate(p)
		h := newHosted(t, p, netcode.Config{}, nil)
		soldier := march(h.world)
		build := generic.NewMap2[components.Replicated, Ground](h.world)
		tile := build.New()
		h.until(t, func() bool { id, _ := h.group.ID(soldier); return h.server.Store().Alive(id) })
		dig(h.group.ServerSystems, h.world, tile)
		id, _ := h.group.ID(tile)
		h.until(t, func() bool {
			ground, _, _ := netcode.ValueAt[Ground](h.server, id, h.server.Store().Tick())
			return ground.Height[3] == 255
		})
	},
	"sketch": func(t *testing.T) {
		p := netcode.NewProtocol()
		netcode.Replicate[Soldier](p)
		h := newHosted(t, p, netcode.Config{}, nil)
		grave, ghost := sketch(h.world)
		h.until(t, func() bool { id, _ := h.group.ID(grave); return h.server.Store().Alive(id) })
		_, ok := h.group.ID(ghost)
		require.False(t, ok)
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
	"equip": func(t *testing.T) {
		p := netcode.NewProtocol()
		netcode.Replicate[Hero](p)
		h := newHosted(t, p, netcode.Config{}, nil)
		build := generic.NewMap2[components.Replicated, Hero](h.world)
		hero := Hero{}
		equip(&hero)
		entity := build.NewWith(&components.Replicated{}, &hero)
		h.until(t, func() bool { id, _ := h.group.ID(entity); return h.server.Store().Alive(id) })
		id, _ := h.group.ID(entity)
		got, ok, _ := netcode.ValueAt[Hero](h.server, id, h.server.Store().Tick())
		require.True(t, ok)
		require.Equal(t, hero, got)
	},
	"nextRound roundOf": func(t *testing.T) {
		p := netcode.NewProtocol()
		netcode.Replicate[Round](p)
		h := newHosted(t, p, netcode.Config{}, nil)
		round := netecs.NewResource[Round](h.world)
		nextRound(round)
		h.step()
		number, ok := roundOf(round) // the player has the server's world, and reads it there
		require.True(t, ok)
		require.EqualValues(t, 1, number)
	},
	"mount carried budget weigh": func(t *testing.T) {
		p := netcode.NewProtocol()
		weigh(p)
		h := newHosted(t, p, netcode.Config{}, nil)
		one, _ := h.body(t)
		other, _ := h.body(t)
		mount(h.world, one, other, 3)
		budget(h.world, one, other)
		h.step()
		require.Equal(t, 2, carried(h.world))
	},
	"trained": func(t *testing.T) {
		p := protocol()
		text, err := os.ReadFile("../../delta/shipped.tables")
		require.NoError(t, err)
		require.NoError(t, trained(p, text))
		newHosted(t, p, netcode.Config{}, nil).body(t)
	},
	"trail learn fall ballistics": func(t *testing.T) {
		p := protocol()
		ballistics(p)
		h := newHosted(t, p, netcode.Config{}, nil)
		var file bytes.Buffer
		stop, err := record.Start(h.server, &file)
		require.NoError(t, err)
		shells := generic.NewMap2[components.Replicated, Shell](h.world)
		shell := shells.NewWith(&components.Replicated{}, &Shell{Y: 100, Fuse: 900})
		e, id := h.body(t)
		at := generic.NewMap1[Position](h.world)
		for range 120 {
			at.Get(e).X++
			_, s := shells.Get(shell)
			s.Fuse--
			h.step()
		}
		require.Greater(t, len(trail(h.server, id)), 30)
		require.NoError(t, stop())
		text, err := learn(p, io.Reader(&file))
		require.NoError(t, err)
		_, err = delta.ParseTables(text)
		require.NoError(t, err)
	},
	"smooth play walk shoot": func(t *testing.T) {
		p := netcode.NewProtocol()
		smooth(p)
		input.Register[Control](p)
		places := map[netcode.ClientID]*Position{1: {}}
		h := newHosted(t, p, netcode.Config{}, func(h *hosted) {
			h.group.Add(netcode.StageUpdate, systems.Func(func(*ecs.World) { walk(h.server, places) }))
		})
		e, id := h.body(t)
		_, own := h.body(t)
		at := generic.NewMap1[Position](h.world)
		at.Get(e).X = 20
		require.NoError(t, play(h.player, 1, true, 1))
		h.until(t, func() bool { return places[1].X > 10 })
		hit, ok := shoot(h.server, 1, own, func(muzzle, body Position) bool { return body.X == muzzle.X+20 })
		require.True(t, ok, "its player sees what there is")
		require.Equal(t, id, hit)
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
			h.group.Add(netcode.StageUpdate, systems.Func(func(*ecs.World) {
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
	"matchProtocol start onReady maybeBegin begin end phase": func(t *testing.T) {
		var m *matches
		p, entered := protocol(), 0
		matchProtocol(p, func(player netcode.ClientID) { m.onReady(player) })
		h := newHosted(t, p, netcode.Config{}, func(h *hosted) {
			m = &matches{
				server: h.server, world: h.world, ready: map[netcode.ClientID]bool{}, build: func(uint32) {},
				enter: func(netcode.ClientID) { entered++ },
			}
			build := generic.NewMap2[Match, components.Replicated](h.world)
			m.match = build.New()
			m.start()
		})
		require.NoError(t, netcode.Send(h.player, netcode.ToServer(), &Ready{}))
		h.until(t, func() bool { return m.phase().Phase == isPlaying })
		require.Equal(t, 1, entered)
		m.end()
		require.Equal(t, Match{Phase: inLobby}, *m.phase())
	},
	"returning": func(t *testing.T) {
		var saved []string
		h := newHosted(t, protocol(), netcode.Config{Keep: time.Minute}, func(h *hosted) {
			returning(h.group.ServerSystems, h.world, func(account string) { saved = append(saved, account) })
		})
		filter := generic.NewFilter1[components.Owner]()
		query := filter.Query(h.world)
		require.Equal(t, 1, query.Count(), "its player has an avatar")
		query.Close()
		h.player.Close()
		h.until(t, func() bool { return len(saved) == 1 })
		require.Equal(t, []string{""}, saved, "and no identity")
	},
}

// withoutHost is why a host does not run the other recipes.
var withoutHost = map[string]string{
	"player":         "it makes a systems.ClientSystems: a host's handler finds the entity by HostSystems.Entity, which the walk of open does by its id",
	"level":          "it is for systems.ClientSystems: a host loads the level once, into the server's world",
	"connectAs":      "a host's player connects to no address",
	"reconnect":      "as connectAs",
	"approve":        "OnApprove of a host's server is asked about the other players alone",
	"approveLater":   "as approve",
	"steer":          "a host's player writes in the server's world, where game code does",
	"respawn":        "the player of a host has no writes on their way: it shares the world that the server corrects",
	"join":           "a host gives its HostSystems to predict.Simulate, as the walk of predicted does",
	"admit":          "as join",
	"place":          "a host's grid reads the same store as that of any server",
	"dressShells":    "a host's player is not predicted: nothing spawns ahead of the server",
	"plainProtocol":  "it is a protocol: a host's player is no client of the plain profile",
	"run":            "it is a loop of NewServer: one of a host is fixedSteps, or host",
	"restartable":    "a host's player has no session that could be lost",
	"publicServer":   "it is a matter of the socket: NewHost takes the same one",
	"bounds":         "a host's player has no packets",
	"playerSocket":   "a host's player needs no socket",
	"backend":        "it is a program beside the game",
	"Send":           "it counts what travels to a client: to a host's player nothing does",
	"wholeTicks":     "a host's player sees the server's world, which is whole",
	"lag":            "as wholeTicks",
	"loadingBar":     "a host's player has all at once",
	"showBar":        "as loadingBar",
	"loadLevels":     "it takes the Runner of a program: a host's player loads as others do",
	"transfers":      "a host's player has the server's memory",
	"receiveLevels":  "as transfers",
	"sendMap":        "as transfers",
	"inspected":      "live.New takes the HostSystems of a host as they are",
	"watching":       "a server that plays a recording has spectators, and no game of its own",
	"replay":         "as watching",
	"remember":       "a host records as any server: record.Start takes its Server",
	"killcam":        "as watching",
	"verify":         "a replay has no players of its own",
	"fought":         "a host's player sees the server's world, in which the steps of the match run",
	"fight":          "as fought",
	"hit":            "as fought",
	"revive":         "as fought",
	"runBots":        "bots are clients of other processes",
	"fleetServer":    "a fleet has servers without a host's player",
	"attachMoving":   "as fleetServer",
	"askFleet":       "a backend asks, which has no world",
	"openAgones":     "as fleetServer",
	"TestSchema":     "a test of the protocol alone",
	"newestProtocol": "a host and its player are one build",
	"TestMyGame":     "nettest runs clients with worlds of their own",

	"movable":         "a host's ServerSystems are attached as any: TestAHostMovesItsGuests of package handover",
	"throughTheGate":  "as movable; the player of a host cannot move",
	"openSession":     "a host's player has its session in the server's process",
	"travel":          "as openSession",
	"tellUndelivered": "as openSession",

	"TestMyGameAmongLiars": "nettest runs clients with worlds of their own",
}

// Every function that the guide shows is walked with a host, or it is said why not. Functions that no page shows may be walked too.
func TestGuideWithAHost(t *testing.T) {
	files, err := filepath.Glob("*_test.go")
	require.NoError(t, err)
	name, word := regexp.MustCompile(`(?m)^func (?:\([^)]*\) )?(\w+)`), regexp.MustCompile(`\w+`)
	walked := map[string]bool{}
	for names := range withHost {
		for _, n := range word.FindAllString(names, -1) {
			walked[n] = true
		}
	}
	declared, found := map[string]bool{}, map[string]bool{}
	for _, file := range files {
		if file == "pages_test.go" || file == "host_test.go" { // these hold marks, and no recipes
			continue
		}
		source, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, f := range name.FindAllStringSubmatch(string(source), -1) {
			declared[f[1]] = true
		}
		blocks, err := marked(file, string(source))
		require.NoError(t, err)
		for _, b := range blocks {
			for _, f := range name.FindAllStringSubmatch(b.code, -1) {
				found[f[1]] = true
				_, not := withoutHost[f[1]]
				require.True(t, walked[f[1]] != not, "%s: %s is to be tried with a host, or listed with the reason why not", b.where, f[1])
			}
		}
	}
	for n := range walked {
		require.True(t, declared[n], "there is no %s", n)
	}
	for n := range withoutHost {
		require.True(t, found[n], "no page shows %s", n)
	}
	for names, walk := range withHost {
		t.Run(names, walk)
	}
}

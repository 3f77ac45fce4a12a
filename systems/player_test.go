package systems_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/errs"
	"github.com/arche-netcode/netcode/interest"
	"github.com/arche-netcode/netcode/internal/alloctest"
	"github.com/arche-netcode/netcode/internal/steps"
	ecs "github.com/arche-netcode/netcode/internal/world"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/interpolate"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/memory"
)

// watcher is the code of a player, the same for a host and a guest. It records spawns, despawns and changes.
type watcher struct {
	view   systems.PlayerView
	events map[netcode.NetworkID][]string
	last   map[netcode.NetworkID]float32 // By Changed.
}

func watch(view systems.PlayerView) *watcher {
	w := &watcher{view: view, events: map[netcode.NetworkID][]string{}, last: map[netcode.NetworkID]float32{}}
	view.OnSpawn(func(e ecs.Entity, id netcode.NetworkID) {
		if !view.Sees(e) {
			w.events[id] = append(w.events[id], "not seen")
		}
		w.events[id] = append(w.events[id], "spawn")
	})
	for kind := range uint16(2) {
		view.OnSpawnKind(kind, func(_ ecs.Entity, id netcode.NetworkID) {
			w.events[id] = append(w.events[id], fmt.Sprint("kind ", kind))
		})
	}
	view.OnDespawn(func(_ ecs.Entity, id netcode.NetworkID) { w.events[id] = append(w.events[id], "despawn") })
	return w
}

// look runs a frame of the player's game.
func (w *watcher) look() {
	if !w.view.Applied() {
		return
	}
	for e, p := range systems.Changed[position](w.view) {
		id, ok := w.view.ID(e)
		if !ok {
			continue
		}
		w.last[id] = p.X
	}
}

// pair is a host and a guest, with the views of both.
type pair struct {
	now         time.Duration
	worlds      [2]*ecs.World
	host        *systems.HostSystems
	guest       *systems.ClientSystems
	loops       []*systems.Runner
	hosts, sees *watcher
	rooms       *interest.Rooms
	network     *memory.Network
	protocol    *netcode.Protocol
}

func newPair(t *testing.T, online bool) *pair {
	p := &pair{worlds: [2]*ecs.World{ecs.New(), ecs.New()}, network: memory.NewNetwork(), rooms: interest.NewRooms(), protocol: netcode.NewProtocol()}
	netcode.Replicate[position](p.protocol)
	netcode.Replicate[components.Kind](p.protocol)
	interpolate.Register[position](p.protocol)
	server, err := netcode.NewServer(p.protocol, netcode.Config{})
	require.NoError(t, err)
	server.SetInterest(interest.New(p.rooms, interest.Despawn))
	server.OnConnect(func(id netcode.ClientID) { p.rooms.Enter(id, 1) })
	player, err := netcode.NewClient(p.protocol, netcode.Config{})
	require.NoError(t, err)
	socket := systems.Socket(systems.Offline{})
	if online {
		socket = p.listen(t)
	}
	p.host, err = systems.NewHost(server, player, socket, p.clock)
	require.NoError(t, err)
	p.hosts = watch(p.host.View)
	p.host.Add(tick.Update, systems.Func(func(*ecs.World) { p.hosts.look() }))
	p.loops = []*systems.Runner{systems.NewRunner(p.worlds[0], p.host, 60)}
	return p
}

func (p *pair) clock() time.Duration { return p.now }

func (p *pair) listen(t *testing.T) *memory.Conn {
	socket, err := p.network.Listen(serverAddress)
	require.NoError(t, err)
	return socket
}

// join connects a guest.
func (p *pair) join(t *testing.T) {
	guest, err := netcode.NewClient(p.protocol, netcode.Config{})
	require.NoError(t, err)
	own, err := p.network.Listen(transport.Addr{})
	require.NoError(t, err)
	p.guest = systems.NewClient(guest, own, p.clock)
	p.guest.Interpolate = nil // It would delay OnDespawn beyond the next OnSpawn.
	p.sees = watch(p.guest)
	p.guest.Add(tick.Update, systems.Func(func(*ecs.World) { p.sees.look() }))
	require.NoError(t, guest.Connect(serverAddress))
	p.worlds[1] = ecs.New()
	p.loops = append(p.loops[:1], systems.NewRunner(p.worlds[1], p.guest, 60))
}

func (p *pair) step() {
	p.now += time.Second / 60
	for _, loop := range p.loops {
		loop.Step()
	}
}

func (p *pair) run(d time.Duration) {
	for end := p.now + d; p.now < end; {
		p.step()
	}
}

// spawn makes an entity in the server's world.
func (p *pair) spawn(x float32, kind uint16) ecs.Entity {
	build := generic.NewMap3[components.Replicated, position, components.Kind](p.worlds[0])
	return build.NewWith(&components.Replicated{}, &position{X: x}, &components.Kind{ID: kind})
}

// A host's player gets the same events as a guest with the same visibility, in the same order for each entity. Hidden
// entities can be identified.
func TestAHostsPlayerIsToldAsAGuestIs(t *testing.T) {
	p := newPair(t, true)
	p.join(t)
	p.run(time.Second)
	r := rand.New(rand.NewPCG(11, 1))
	places := generic.NewMap1[position](p.worlds[0])
	var all []ecs.Entity
	inRoom := map[ecs.Entity]bool{}
	for range 1500 {
		switch pick := r.IntN(40); {
		case pick == 0:
			all = append(all, p.spawn(r.Float32(), uint16(r.IntN(3))))
		case len(all) == 0 || pick > 9:
		case pick == 1:
			i := r.IntN(len(all))
			p.worlds[0].RemoveEntity(all[i])
			all = append(all[:i], all[i+1:]...)
		case pick < 5:
			e := all[r.IntN(len(all))]
			if id, ok := p.host.ID(e); ok {
				if inRoom[e] = !inRoom[e]; inRoom[e] {
					p.rooms.Add(id, 1)
				} else {
					p.rooms.Remove(id, 1)
				}
			}
		default:
			places.Get(all[r.IntN(len(all))]).X = r.Float32()
		}
		if r.IntN(4) == 0 {
			p.run(100 * time.Millisecond) // The guest sees each change separately.
		}
		p.step()
	}
	p.run(3 * time.Second)
	require.NotEmpty(t, p.sees.events)
	require.Equal(t, p.sees.events, p.hosts.events)
	seen := 0
	for _, e := range all {
		id, _ := p.host.ID(e)
		_, guestSees := p.guest.Entity(id)
		require.Equal(t, guestSees, p.host.View.Sees(e))
		if !guestSees {
			require.False(t, ecs.Has(p.worlds[0], e, ecs.ComponentID[components.Smooth[position]](p.worlds[0])), "nothing is drawn of it")
			continue
		}
		seen++
		require.Equal(t, places.Get(e).X, p.hosts.last[id])
		require.Equal(t, p.sees.last[id], p.hosts.last[id])
		smooth := generic.NewMap1[components.Smooth[position]](p.worlds[0])
		require.Equal(t, *places.Get(e), smooth.Get(e).Value, "it is at rest")
	}
	require.Positive(t, seen)
	require.Less(t, seen, len(all), "something is hidden")
}

// A host's player sees bodies that move in each tick move in each frame, a tick late. A teleported body jumps.
func TestAHostsPlayerSeesSmoothMotion(t *testing.T) {
	p := newPair(t, false)
	e := p.spawn(0, 0)
	id := func() netcode.NetworkID { id, _ := p.host.ID(e); return id }
	p.run(100 * time.Millisecond)
	p.rooms.Add(id(), 1)
	p.run(100 * time.Millisecond)
	places, smooth := generic.NewMap1[position](p.worlds[0]), generic.NewMap1[components.Smooth[position]](p.worlds[0])
	var shown []float32
	for range 60 {
		if p.host.Server.TickDue() { // Of the last frame: the next frame has no tick.
			places.Get(e).X += 2
		}
		p.step()
		shown = append(shown, smooth.Get(e).Value.X)
	}
	for i := 6; i < len(shown); i++ {
		require.InDelta(t, 1, shown[i]-shown[i-1], 1e-3, "frame %d of %v", i, shown)
	}
	require.InDelta(t, places.Get(e).X, shown[len(shown)-1], 4.1, "a tick late")
}

// A game changes from offline to hosting and back while it runs. Its world, its player and its view continue. Guests
// connect, and are told when it ends.
func TestAGameTurnsFromOfflineToHostingAndBack(t *testing.T) {
	p := newPair(t, false)
	p.run(time.Second)
	require.Equal(t, netcode.Connected, p.host.Client.State())
	e := p.spawn(5, 1)
	p.run(100 * time.Millisecond)
	id, ok := p.host.ID(e)
	require.True(t, ok)
	p.rooms.Add(id, 1)
	p.run(100 * time.Millisecond)
	require.Equal(t, []string{"spawn", "kind 1"}, p.hosts.events[id])
	for round := range 3 {
		p.join(t) // The game is not open yet: nobody answers.
		p.run(time.Second)
		require.Equal(t, netcode.Connecting, p.guest.Client.State())
		socket := p.listen(t)
		require.NoError(t, p.host.Attach(socket))
		p.run(2 * time.Second)
		require.Equal(t, netcode.Connected, p.guest.Client.State(), "round %d", round)
		require.Equal(t, []string{"spawn", "kind 1"}, p.sees.events[id])

		p.host.Detach()
		p.run(2 * time.Second)
		require.Equal(t, netcode.Disconnected, p.guest.Client.State())
		require.ErrorIs(t, p.guest.Client.Err(), errs.ReasonShuttingDown)
		require.Equal(t, systems.Offline{}, p.host.Receive.Socket)
		require.ErrorIs(t, socket.Send(transport.Addr{}, []byte{1}), transport.ErrClosed)
		require.Equal(t, netcode.Connected, p.host.Client.State(), "its player plays on")
		require.True(t, steps.OfServer(p.host.Server).Alone())
	}
	require.Equal(t, []string{"spawn", "kind 1"}, p.hosts.events[id], "nothing of its world has changed")
	p.worlds[0].RemoveEntity(e)
	p.run(time.Second)
	require.Equal(t, []string{"spawn", "kind 1", "despawn"}, p.hosts.events[id])
}

// During a Detach no client is accepted. An unencrypted socket that the internet may reach is refused, and nothing
// changes.
func TestDetachingLetsNobodyIn(t *testing.T) {
	p := newPair(t, true)
	p.join(t)
	p.run(time.Second)
	p.host.Detach()
	guest := p.guest.Client
	p.join(t)
	for i := 0; i < 300 && !steps.OfServer(p.host.Server).Alone(); i++ {
		p.step()
	}
	require.True(t, steps.OfServer(p.host.Server).Alone())
	p.run(time.Second)
	require.Equal(t, netcode.Connected, guest.State(), "its loop does not run, so it was not told")
	require.NotEqual(t, netcode.Connected, p.guest.Client.State())
	public := publicSocket{}
	var plain *errs.PlainError
	require.ErrorAs(t, p.host.Attach(public), &plain)
	require.Equal(t, systems.Offline{}, p.host.Receive.Socket)
}

// publicSocket is an unencrypted socket with an internet address.
type publicSocket struct{ systems.Offline }

func (publicSocket) LocalAddr() transport.Addr { return transport.MustParseAddr("203.0.113.1:9") }

// A host's view allocates nothing once its memory has grown.
func TestAHostsViewAllocatesNothing(t *testing.T) {
	p := newPair(t, false)
	for i := range 100 {
		p.spawn(float32(i), 0)
	}
	p.run(time.Second)
	for id := range p.host.Server.Store().All {
		p.rooms.Add(id, 1)
	}
	filter := generic.NewFilter1[position]()
	places := filter.Filter(p.worlds[0])
	at := ecs.ComponentID[position](p.worlds[0])
	frame := func() {
		for query := ecs.Select(p.worlds[0], places); query.Next(); {
			(*position)(query.Get(at)).X++
		}
		p.step()
	}
	for range 300 {
		frame()
	}
	require.Len(t, p.hosts.last, 100)
	alloctest.Zero(t, 60, frame)
}

package systems_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	netecs "github.com/arche-netcode/netcode/ecs"
	"github.com/arche-netcode/netcode/errs"
	"github.com/arche-netcode/netcode/internal/steps"
	ecs "github.com/arche-netcode/netcode/internal/world"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/memory"
)

func TestReconnectingStartsWithAFreshWorld(t *testing.T) {
	r := newRig(t)
	e := r.spawn()
	r.until(t, func() bool { p, _ := r.seen(e); return p != nil })
	_, first := r.seen(e)
	r.client.Close()
	r.until(t, r.client.Closed)
	require.True(t, r.worlds[1].Alive(first), "the last picture stays")
	require.NoError(t, r.client.Client.Connect(transport.MustParseAddr("127.0.0.1:1")))
	r.until(t, func() bool { _, again := r.seen(e); return again != first && !again.IsZero() })
	query := ecs.Select(r.worlds[1], generic.NewFilter1[components.Replicated]().Filter(r.worlds[1]))
	require.Equal(t, 1, query.Count())
	query.Close()
	require.Empty(t, r.errors)
}

func TestMessagesAreDispatched(t *testing.T) {
	r := newRig(t)
	r.until(t, func() bool { return r.client.Client.State() == netcode.Connected })
	require.NoError(t, netcode.Send(r.client.Client, netcode.ToServer(), &ping{5}))
	r.until(t, func() bool { return len(r.handled) == 1 })
	require.Equal(t, ping{5}, r.handled[0])
}

// A message with About is handled when its entity is in the client's world, also in the stage before Apply.
func TestMessageAboutAnEntityIsHandledWhenItStands(t *testing.T) {
	r := newRig(t)
	r.until(t, func() bool { return r.client.Client.State() == netcode.Connected })
	sent := 0
	r.server.OnSpawn(func(_ ecs.Entity, id netcode.NetworkID) {
		for _, stage := range []tick.Stage{tick.Initialization, tick.EarlyUpdate, tick.Update} {
			require.NoError(t, netcode.Send(r.server.Server, netcode.ToSeers(id), &ping{1}, netcode.About(id), netcode.AtStage(stage)))
			sent++
		}
	})
	for range 20 {
		r.spawn()
		r.step()
	}
	r.until(t, func() bool { return len(r.stands) == 60 })
	require.Equal(t, 60, sent)
	require.NotContains(t, r.stands, false)
}

func TestSystemsStandInTheOrderOfTheFrame(t *testing.T) {
	r := newRig(t)
	game := &move{}
	r.server.Add(tick.PreLateUpdate, game)
	all := r.server.Systems()
	require.Same(t, r.server.Receive, all[0])
	require.Same(t, r.server.Send, all[len(all)-1])
	at := slices.Index(all, systems.System(game))
	require.Same(t, r.server.Tick, all[at+1])
	require.Equal(t, tick.PreLateUpdate, all[at-1].(*systems.Dispatch).Stage)
	all = r.client.Systems()
	at = slices.Index(all, systems.System(r.client.Apply))
	require.Equal(t, tick.EarlyUpdate, all[at+1].(*systems.Dispatch).Stage)
}

// An end gets ErrOtherWorld once if its systems are initialised with one world and updated with another.
func TestSystemsOfAnotherWorld(t *testing.T) {
	r := newRig(t)
	other := ecs.New()
	var told, toldClient int
	r.server.Server.OnError(func(err error) {
		if errors.Is(err, systems.ErrOtherWorld) {
			told++
		}
	})
	r.client.Client.OnError(func(err error) {
		if errors.Is(err, systems.ErrOtherWorld) {
			toldClient++
		}
	})
	r.step()
	for range 10 {
		r.step()
	}
	require.Zero(t, told+toldClient)
	for range 3 {
		r.server.Tick.Update(other)
		r.client.Apply.Update(other)
	}
	require.Equal(t, []int{1, 1}, []int{told, toldClient})
}

func TestAddOfNoSystem(t *testing.T) {
	r := newRig(t)
	require.PanicsWithValue(t, "systems: Add(Update): system 2 of 2 is nil", func() { r.server.Add(tick.Update, &move{}, nil) })
}

// A nil function is refused early, not when the first entity arrives.
func TestHooksThatAreNil(t *testing.T) {
	p := netcode.NewProtocol()
	netcode.Replicate[components.Kind](p)
	c, err := netcode.NewClient(p, netcode.Config{})
	require.NoError(t, err)
	client, server := systems.NewClient(c, &memory.Conn{}, systems.WallClock()), newRig(t).server
	for name, call := range map[string]func(){
		"OnSpawn": func() { client.OnSpawn(nil) }, "OnDespawn": func() { client.OnDespawn(nil) }, "OnSpawnKind": func() { client.OnSpawnKind(1, nil) },
	} {
		require.PanicsWithValue(t, "systems: "+name+": the function is nil", call)
	}
	require.PanicsWithValue(t, "systems: OnSpawn: the function is nil", func() { server.OnSpawn(nil) })
	loop := systems.NewRunner(nil, client, 30)
	require.PanicsWithValue(t, "systems: Do: the function is nil", func() { loop.Do(nil) })
}

// list is a group with its systems in another order than its own.
type list struct {
	*systems.ServerSystems
	change func([]systems.System) []systems.System
}

func (l list) Systems() []systems.System { return l.change(l.ServerSystems.Systems()) }

func TestWrongOrderIsReportedInTheFirstFrame(t *testing.T) {
	changes := map[string]func(all []systems.System) []systems.System{
		"the system Tick has not run": func(all []systems.System) []systems.System {
			return slices.DeleteFunc(all, func(s systems.System) bool { _, ok := s.(*systems.Tick); return ok })
		},
		"the system Receive runs after Dispatch(Initialization)": func(all []systems.System) []systems.System {
			all[0], all[3] = all[3], all[0] // Between the two are steps without a stage.
			return all
		},
		"the system Dispatch(PostLateUpdate) has not run": func(all []systems.System) []systems.System {
			last := len(all) - 1
			all[last], all[last-1] = all[last-1], all[last]
			return all
		},
	}
	for want, change := range changes {
		r := newRig(t)
		loop := systems.NewRunner(r.worlds[0], list{r.server, change}, 60)
		loop.Step()
		require.Len(t, r.errors, 1)
		require.ErrorContains(t, r.errors[0], want)
		loop.Step()
		require.Len(t, r.errors, 1)
	}
}

// broken is a socket that always fails.
type broken struct{}

func (broken) Send(transport.Addr, []byte) error { return errors.New("no route") }

func (broken) Receive([]byte) (int, transport.Addr, error) {
	return 0, transport.Addr{}, errors.New("unplugged")
}

func TestSocketFaultsAreReportedOnce(t *testing.T) {
	p := netcode.NewProtocol()
	client, err := netcode.NewClient(p, netcode.Config{})
	require.NoError(t, err)
	require.NoError(t, client.Connect(transport.MustParseAddr("127.0.0.1:1")))
	var got []string
	client.OnError(func(err error) { got = append(got, err.Error()) })
	w := ecs.New()
	loop := systems.NewRunner(w, systems.NewClient(client, broken{}, func() time.Duration { return 1 }), 60)
	for range 10 {
		loop.Step()
	}
	require.Equal(t, []string{"netcode: receiving: unplugged", "netcode: sending: to 127.0.0.1:1: no route"}, got)
}

func TestProblemsOfTheWorldReachOnError(t *testing.T) {
	r := newRig(t)
	e := r.spawn()
	r.until(t, func() bool { p, _ := r.seen(e); return p != nil })
	p, _ := r.seen(e)
	p.X = 77
	r.until(t, func() bool { return len(r.errors) > 0 })
	p, _ = r.seen(e)
	require.EqualValues(t, 1, p.X, "a client that writes without authority is overruled")
	require.ErrorContains(t, r.errors[0], "position")
}

func TestRunnerClosesWhenItsContextIsDone(t *testing.T) {
	synctest.Test(t, closeWhenTheContextIsDone) // On virtual time, since closing has five seconds.
}

func closeWhenTheContextIsDone(t *testing.T) {
	network := memory.NewNetwork()
	address := transport.MustParseAddr("127.0.0.1:1")
	p := netcode.NewProtocol()
	server, err := netcode.NewServer(p, netcode.Config{})
	require.NoError(t, err)
	client, err := netcode.NewClient(p, netcode.Config{})
	require.NoError(t, err)
	serverSocket, err := network.Listen(address)
	require.NoError(t, err)
	clientSocket, err := network.Listen(transport.Addr{})
	require.NoError(t, err)

	clientWorld, serverWorld := ecs.New(), ecs.New()
	other := systems.NewRunner(clientWorld, systems.NewClient(client, clientSocket, systems.WallClock()), 60)
	group := systems.NewServer(server, serverSocket, systems.WallClock())
	ctx, cancel := context.WithCancel(context.Background())
	group.Add(tick.Update, each(func() { // The client runs in the server's loop: one goroutine.
		other.Step()
		if client.State() == netcode.Connected && server.Stats().Connected == 1 {
			cancel()
		}
	}))
	require.NoError(t, client.Connect(address))
	loop := systems.NewRunner(serverWorld, group, 200)
	require.NoError(t, loop.Run(ctx))
	require.ErrorIs(t, client.Err(), errs.ReasonShuttingDown)
	require.True(t, group.Closed())
	require.NoError(t, loop.Close(context.Background()), "closing twice does nothing")
}

func TestRunnerGivesUpTellingInTime(t *testing.T) {
	r := newRig(t)
	r.until(t, func() bool { return r.server.Server.Stats().Connected == 1 })
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	loop := r.loops[0] // Its clock stands still, so that the close never ends.
	require.ErrorIs(t, loop.Close(ctx), context.DeadlineExceeded)
}

// each is a system that calls a function.
type each func()

func (f each) Initialize(*ecs.World) {}
func (f each) Update(*ecs.World)     { f() }
func (f each) Finalize(*ecs.World)   {}

func TestInterrupt(t *testing.T) {
	ctx, stop := systems.Interrupt(context.Background())
	require.NoError(t, ctx.Err())
	stop()
	require.Error(t, ctx.Err())
}

func TestAddRefusesSystemsThatWouldNeverRun(t *testing.T) {
	r := newRig(t)
	require.PanicsWithValue(t, "systems: Add: Stage(77) is no stage", func() { r.server.Add(tick.Stage(77)) })
	r.server.Systems()
	require.Panics(t, func() { r.server.Add(tick.Update) })
}

// A server reports entities without Replicated to OnError, and counts their component sets. A client does not, since
// these are its own entities.
func TestUnreplicatedIsToldAndCounted(t *testing.T) {
	r := newRig(t)
	for _, w := range r.worlds {
		build := generic.NewMap1[position](w)
		build.NewBatch(10)
	}
	r.until(t, func() bool { return len(r.errors) > 0 })
	for range 200 {
		r.step()
	}
	require.Len(t, r.errors, 1)
	var told netecs.Problem
	require.ErrorAs(t, r.errors[0], &told)
	require.Equal(t, netecs.Unreplicated, told.Kind)
	require.EqualValues(t, 1, r.server.Server.Stats().Unreplicated)
	require.EqualValues(t, 1, r.server.Server.Stats().Errors)
	require.Zero(t, r.client.Client.Stats().Unreplicated)
}

// The capture ignores entities of Spawn, also when the world is reset. Its own entities exist beside them.
func TestExplicitEntitiesBesideTheCapture(t *testing.T) {
	r := newRig(t)
	server := r.server.Server
	id := server.Spawn()
	require.NoError(t, netcode.Put(server, id, &position{X: 7}))
	e := r.spawn()
	r.until(t, func() bool {
		_, explicit := r.client.Entity(id)
		seen, _ := r.seen(e)
		return explicit && seen != nil
	})
	theirs, _ := r.server.ID(e)
	require.NotEqual(t, id, theirs)
	_, ok := r.server.Entity(id)
	require.False(t, ok, "it is in no world")

	r.worlds[0].Reset()
	r.until(t, func() bool { _, there := r.client.Entity(theirs); return !there })
	_, ok = r.client.Entity(id)
	require.True(t, ok)
	require.NoError(t, netcode.Put(server, id, &position{X: 8}))
	require.True(t, server.Despawn(id))
	r.until(t, func() bool { _, there := r.client.Entity(id); return !there })
	require.Zero(t, server.Store().Len())
}

// endless is a socket in which a datagram of a stranger always waits.
type endless struct{ taken int }

func (s *endless) Receive(buf []byte) (int, transport.Addr, error) {
	s.taken++
	return copy(buf, "\xFFnothing"), transport.MustParseAddr("198.51.100.9:9"), nil
}

func (s *endless) Send(transport.Addr, []byte) error { return nil }

// A flood cannot block a frame: a frame takes a bounded number of datagrams, and later frames take the rest.
func TestAFrameTakesSoManyDatagrams(t *testing.T) {
	server, err := netcode.NewServer(netcode.NewProtocol(), netcode.Config{})
	require.NoError(t, err)
	socket := &endless{}
	receive := &systems.Receive{End: server, Socket: socket, Now: func() time.Duration { return time.Second }}
	receive.Update(nil)
	require.Equal(t, 8192, socket.taken)
	require.EqualValues(t, 8192, server.Stats().BadHandshakes)
	receive.Update(nil)
	require.Equal(t, 2*8192, socket.taken)
}

// fullEnd has three packets for one address.
type fullEnd struct {
	steps.Frame
	reported []error
}

func (*fullEnd) Send()                   {}
func (e *fullEnd) Report(err error)      { e.reported = append(e.reported, err) }
func (*fullEnd) address() transport.Addr { return transport.MustParseAddr("1.2.3.4:5") }

func (e *fullEnd) Drain(send func(transport.Addr, []byte)) {
	for _, packet := range []string{"one", "two", "3"} {
		send(e.address(), []byte(packet))
	}
}

// plainSocket takes packets one by one.
type plainSocket struct {
	systems.Socket
	sent []string
	err  error
}

func (s *plainSocket) Send(_ transport.Addr, packet []byte) error {
	s.sent = append(s.sent, string(packet))
	return s.err
}

// allEnd can also return the packets for several addresses at once.
type allEnd struct{ fullEnd }

func (e *allEnd) DrainAll(send func([]transport.Addr, [][]byte, []int)) {
	send([]transport.Addr{e.address(), e.address()}, [][]byte{[]byte("onetwo3"), []byte("four")}, []int{3, 4})
}

// allSocket sends all packets at once.
type allSocket struct{ plainSocket }

func (s *allSocket) SendAll(to []transport.Addr, runs [][]byte, sizes []int) (int, error) {
	s.sent = append(s.sent, fmt.Sprintf("%d: %q of %v", len(to), runs, sizes))
	return 1, s.err
}

func TestSendGivesAllToASocketThatTakesAll(t *testing.T) {
	plain, all := &plainSocket{}, &allSocket{}
	(&systems.Send{End: &fullEnd{}, Socket: plain}).Update(nil)
	(&systems.Send{End: &allEnd{}, Socket: plain}).Update(nil)
	require.Equal(t, []string{"one", "two", "3", "one", "two", "3"}, plain.sent)
	(&systems.Send{End: &fullEnd{}, Socket: all}).Update(nil)
	(&systems.Send{End: &allEnd{}, Socket: all}).Update(nil)
	require.Equal(t, []string{"one", "two", "3", `2: ["onetwo3" "four"] of [3 4]`}, all.sent)
	all.err = errors.New("no route")
	end := &allEnd{}
	(&systems.Send{End: end, Socket: all}).Update(nil)
	require.Len(t, end.reported, 1)
	require.ErrorIs(t, end.reported[0], all.err)
	require.ErrorContains(t, end.reported[0], "1.2.3.4:5")
}

// The round trip includes the waits of both ends for their frames. The ping excludes them, at both ends.
func TestPingLeavesOutTheFrames(t *testing.T) {
	const way = 30 * time.Millisecond
	e := newEnds()
	link := func(address transport.Addr, seed uint64) *transport.Conditioner {
		return transport.Condition(e.listen(t, address), transport.Link{Delay: way}, seed, e.clock)
	}
	p := netcode.NewProtocol()
	netcode.Replicate[position](p)
	server, err := netcode.NewServer(p, netcode.Config{TickRate: 20})
	require.NoError(t, err)
	client, err := netcode.NewClient(p, netcode.Config{})
	require.NoError(t, err)
	sockets := [2]*transport.Conditioner{link(serverAddress, 1), link(transport.Addr{}, 2)}
	e.run(e.world(), systems.NewServer(server, sockets[0], e.clock))
	e.run(e.world(), systems.NewClient(client, sockets[1], e.clock))
	require.NoError(t, client.Connect(sockets[0].LocalAddr()))
	require.Zero(t, client.Ping())

	// Frames of 1/60 s and of 1/20 s, in steps of 1/240 s, so that the ends do not wait in step.
	var first [2]time.Duration
	for step := range 240 * 5 {
		e.now += time.Second / 240
		if step%4 == 1 {
			e.loops[1].Step()
		}
		if step%12 == 0 {
			e.loops[0].Step()
		}
		for i, s := range sockets {
			require.NoError(t, s.Poll())
			stats, _ := server.ClientStats(1)
			if ping := [2]time.Duration{stats.Ping, client.Ping()}[i]; ping != 0 && first[i] == 0 {
				first[i] = e.now
			}
		}
	}
	require.Equal(t, netcode.Connected, client.State())
	stats, ok := server.ClientStats(1)
	require.True(t, ok)
	rtt, _ := client.RTT()
	t.Logf("RTT %v at the client, %v at the server; ping %v, %v; known after %v", rtt, stats.RTT, client.Ping(), stats.Ping, first)
	for _, rtt := range []time.Duration{rtt, stats.RTT} {
		require.Greater(t, rtt, 2*way+8*time.Millisecond)
	}
	for i, ping := range []time.Duration{client.Ping(), stats.Ping} {
		require.InDelta(t, float64(2*way), float64(ping), float64(2*time.Millisecond))
		require.NotZero(t, first[i])
		require.Less(t, first[i], 3*time.Second)
	}
}

package systems_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/errs"
	"github.com/arche-netcode/netcode/input"
	ecs "github.com/arche-netcode/netcode/internal/world"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/memory"
	"github.com/arche-netcode/netcode/transport/secure"
)

// A constructor refuses a nil argument at once and names it: otherwise the first frame would panic.
func TestNilArgumentsAreRefused(t *testing.T) {
	r := newRig(t)
	server, client := r.server.Server, r.client.Client
	socket, now := r.server.Receive.Socket, func() time.Duration { return 0 }
	var failed *memory.Conn // Like the socket of a Listen whose error was dropped.
	host := func(server *netcode.Server, client *netcode.Client, socket systems.Socket, now func() time.Duration) func() {
		return func() { _, _ = systems.NewHost(server, client, socket, now) }
	}
	for want, call := range map[string]func(){
		"NewServer: the server is nil":                                    func() { systems.NewServer(nil, socket, now) },
		"NewServer: the socket is nil":                                    func() { systems.NewServer(server, nil, now) },
		"NewServer: the clock is nil":                                     func() { systems.NewServer(server, socket, nil) },
		"NewClient: the client is nil":                                    func() { systems.NewClient(nil, socket, now) },
		"NewClient: the socket is nil":                                    func() { systems.NewClient(client, failed, now) },
		"NewClient: the clock is nil":                                     func() { systems.NewClient(client, socket, nil) },
		"NewHost: the server is nil":                                      host(nil, client, socket, now),
		"NewHost: the client is nil":                                      host(server, nil, socket, now),
		"NewHost: the socket (systems.Offline{} is one to nobody) is nil": host(server, client, failed, now),
		"NewHost: the clock is nil":                                       host(server, client, socket, nil),
		"NewRunner: the group is nil":                                     func() { systems.NewRunner(nil, nil, 60) },
	} {
		require.PanicsWithValue(t, "systems: "+want, call)
	}
	var group *systems.ServerSystems
	require.PanicsWithValue(t, "systems: NewRunner: the group is nil", func() { systems.NewRunner(nil, group, 60) })
}

// A rate without frames is refused early.
func TestRunnerRefusesARateOfNoFrames(t *testing.T) {
	group := newRig(t).server
	for rate, want := range map[int]string{
		0:  "systems: NewRunner: 0 frames a second: a loop has 1 or more, 60 for instance",
		-1: "systems: NewRunner: -1 frames a second: a loop has 1 or more, 60 for instance",
	} {
		require.PanicsWithValue(t, want, func() { systems.NewRunner(nil, group, rate) })
	}
	require.NotPanics(t, func() { systems.NewRunner(nil, group, 1) })
}

// One group at a time runs a server or a client. After Finalize another group may.
func TestTwoGroupsForOneEndAreRefused(t *testing.T) {
	network := memory.NewNetwork()
	listen := func() *memory.Conn {
		socket, err := network.Listen(transport.Addr{})
		require.NoError(t, err)
		return socket
	}
	now := func() time.Duration { return 0 }
	protocol := netcode.NewProtocol()
	server, err := netcode.NewServer(protocol, netcode.Config{})
	require.NoError(t, err)
	client, err := netcode.NewClient(protocol, netcode.Config{})
	require.NoError(t, err)
	player, err := netcode.NewClient(protocol, netcode.Config{})
	require.NoError(t, err)

	first := systems.NewServer(server, listen(), now)
	taken := "systems: NewServer: the server is in another group already: one group drives it, until Runner.Close or the systems' Finalize"
	require.PanicsWithValue(t, taken, func() { systems.NewServer(server, listen(), now) })
	require.PanicsWithValue(t, taken, func() { _, _ = systems.NewHost(server, player, listen(), now) })
	systems.NewClient(client, listen(), now)
	require.PanicsWithValue(t,
		"systems: NewClient: the client is in another group already: one group drives it, until Runner.Close or the systems' Finalize",
		func() { systems.NewClient(client, listen(), now) })

	loop := systems.NewRunner(nil, first, 60)
	loop.Step()
	require.NoError(t, loop.Close(t.Context()))
	require.NotPanics(t, func() { systems.NewServer(server, listen(), now) })
}

// boundConn is an unencrypted connection that is bound to an address.
type boundConn struct {
	transport.Conn
	at transport.Addr
}

func (b boundConn) LocalAddr() transport.Addr { return b.at }

// An unencrypted server listens only on loopback and private addresses, unless Config.Plain is set.
func TestAServerInClearListensOnPrivateAddressesAlone(t *testing.T) {
	now := func() time.Duration { return 0 }
	listen := func(socket systems.Socket, plain bool) (err error) {
		defer func() { err, _ = recover().(error) }()
		server, fault := netcode.NewServer(netcode.NewProtocol(), netcode.Config{Plain: plain})
		require.NoError(t, fault)
		systems.NewServer(server, socket, now)
		return nil
	}
	for text, public := range map[string]bool{
		"127.0.0.1:9000": false, "[::1]:9000": false, "10.1.2.3:9000": false, "192.168.1.2:9000": false, "172.16.0.1:1": false,
		"[fd00::1]:9000": false, "[fe80::1]:9000": false, "169.254.1.1:9000": false,
		"0.0.0.0:9000": true, "[::]:9000": true, "203.0.113.7:9000": true, "[2001:db8::1]:9000": true, "100.64.0.1:9000": true,
	} {
		socket := boundConn{at: transport.MustParseAddr(text)}
		err := listen(socket, false)
		require.NoError(t, listen(socket, true), text)
		encrypted, fault := secure.Listen(socket, secure.Config{Key: secure.Key{1}, Admit: secure.Tokens("a:1")})
		require.NoError(t, fault)
		require.NoError(t, listen(encrypted, false), text)
		require.NoError(t, listen(transport.Condition(encrypted, transport.Link{}, 1, now), false), text)
		joined := listen(transport.Join(encrypted, socket), false)
		require.Equal(t, public, joined != nil, "%s beside an encrypted one", text)
		if !public {
			require.NoError(t, err, text)
			require.NoError(t, listen(transport.Condition(socket, transport.Link{}, 1, now), false), text)
			continue
		}
		var refused *errs.PlainError
		require.ErrorAs(t, err, &refused, text)
		require.Equal(t, socket.at, refused.Address)
		for _, word := range []string{text, "secure.Listen", "Config.Plain", "secure.Tokens"} {
			require.ErrorContains(t, err, word)
		}
		require.ErrorAs(t, listen(transport.Condition(socket, transport.Link{}, 1, now), false), &refused)
	}
	require.NoError(t, listen(struct{ systems.Socket }{}, false), "a socket of the game's own, without an address, is not judged")
}

// Other goroutines use the loop's world by Do. Each function runs between frames, in the order of its goroutine. None is
// lost or waits for ever when the loop ends. The program has no world of its own.
func TestDo(t *testing.T) {
	synctest.Test(t, callTheLoop) // On virtual time, since closing has five seconds.
}

func callTheLoop(t *testing.T) {
	socket, err := memory.NewNetwork().Listen(transport.Addr{})
	require.NoError(t, err)
	server, err := netcode.NewServer(netcode.NewProtocol(), netcode.Config{})
	require.NoError(t, err)
	group := systems.NewServer(server, socket, systems.WallClock())
	frames, inFrame := 0, false // Used by the loop alone: the race detector checks it.
	var world *ecs.World
	group.Add(tick.EarlyUpdate, systems.Func(func(w *ecs.World) { world, inFrame = w, true }))
	group.Add(tick.PostLateUpdate, systems.Func(func(*ecs.World) { frames, inFrame = frames+1, false }))
	loop := systems.NewRunner(nil, group, 500)
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	const goroutines, each = 8, 200
	got := [goroutines][]int{}
	var done atomic.Int32
	for g := range goroutines {
		go func() {
			for i := range each {
				if !loop.Do(func() { got[g] = append(got[g], i); require.False(t, inFrame) }) {
					t.Error("the loop runs")
				}
			}
			if done.Add(1) == goroutines {
				stop()
			}
		}()
	}
	require.NoError(t, loop.Run(ctx))
	for _, list := range got {
		require.Len(t, list, each)
		for i, n := range list {
			require.Equal(t, i, n)
		}
	}
	require.NotNil(t, world)
	require.Positive(t, frames)
	require.False(t, loop.Do(func() { t.Error("the loop is over") }))
}

// jab is an input with presses of one frame.
type jab struct {
	Fire   bool  `net:"event"`
	Number int32 `net:"event=count"`
}

// A press of the host's player is in exactly one tick's input, at any rates, before or after the game asks for inputs in
// the frame.
func TestAPressOfTheHostIsInOneTick(t *testing.T) {
	for _, ticks := range []int{20, 30, 60, 120} {
		for _, stage := range []tick.Stage{tick.PreUpdate, tick.PostLateUpdate} {
			for _, every := range []bool{false, true} {
				t.Run(fmt.Sprintf("%d ticks %v single %v", ticks, stage, every), func(t *testing.T) { pressAsHost(t, ticks, stage, every) })
			}
		}
	}
}

func pressAsHost(t *testing.T, ticks int, stage tick.Stage, single bool) {
	e := newEnds()
	p := netcode.NewProtocol()
	input.Register[jab](p)
	server, err := netcode.NewServer(p, netcode.Config{TickRate: ticks})
	require.NoError(t, err)
	client, err := netcode.NewClient(p, netcode.Config{})
	require.NoError(t, err)
	host, err := systems.NewHost(server, client, e.listen(t, serverAddress), e.clock)
	require.NoError(t, err)
	pressed, fired, sum, frame := 0, 0, 0, 0
	host.Add(stage, each(func() {
		if frame++; client.State() != netcode.Connected {
			return
		}
		in := jab{}
		if frame%7 == 0 && frame < 700 {
			pressed++
			in = jab{Fire: true, Number: int32(pressed)}
		}
		require.NoError(t, input.Set(client, &in))
	}))
	host.Add(tick.Update, each(func() {
		note := func(in jab, _ bool) {
			if sum += int(in.Number); in.Fire {
				fired++
			}
		}
		if !single {
			note(input.Of[jab](server, client.ID()))
			return
		}
		for step := netcode.Tick(server.Steps()) - 1; step >= 0; step-- {
			note(input.At[jab](server, client.ID(), server.Tick()-step))
		}
	}))
	e.run(e.world(), host)
	for range 720 {
		e.step()
	}
	require.Greater(t, pressed, 90)
	require.Equal(t, pressed, fired)
	require.Equal(t, pressed*(pressed+1)/2, sum)
}

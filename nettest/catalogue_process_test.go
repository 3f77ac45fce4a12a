package nettest_test

import (
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/mlange-42/arche/ecs"
	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/internal/casebook"
	"github.com/arche-netcode/netcode/nettest"
	"github.com/arche-netcode/netcode/nettest/adversary"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/wire"
)

// A client connects anew from its address and port while packets of the session before are still on their way; each comes once more
// later. Nothing of them counts in the new session, which is usable within a second.
func TestCase41SameAddressReconnects(t *testing.T) {
	n := party(t, 2, 41, netcode.Config{})
	c := n.Clients[0]
	n.SetLinks(c, transport.Link{Delay: 100 * time.Millisecond}, transport.Link{Delay: 100 * time.Millisecond, Jitter: 200 * time.Millisecond, Reorder: .5})
	var old [][]byte
	n.OnSend(func(from, to transport.Addr, datagram []byte) {
		if to == n.Address() {
			old = append(old, append([]byte(nil), datagram...))
		}
	})
	count := 0
	for range sized(5, 50) {
		n.Run(time.Second)
		of, id := old, c.ID()
		old = nil
		stats, _ := n.Server.ClientStats(id)
		require.NoError(t, c.Connect(n.Address()))
		began := n.Now()
		require.True(t, n.RunUntil(4*time.Second, func() bool { return c.State() == netcode.Connected }), "%v %v", c.State(), c.Err())
		require.LessOrEqual(t, n.Now()-began, 4*time.Second, "round trips of 200 to 400 ms, and repeats of what overtook each other")
		require.NotEqual(t, id, c.ID())
		bad := n.Server.Stats().Packets.BadChecksum
		for _, datagram := range of {
			n.Server.Receive(stats.Address, datagram)
			count++
		}
		require.Equal(t, netcode.Connected, c.State())
		n.Run(time.Second)
		_, here := n.Server.ClientStats(c.ID())
		require.True(t, here, "the new session lives")
		require.Greater(t, n.Server.Stats().Packets.BadChecksum, bad, "packets of the old epoch are dropped")
		require.LessOrEqual(t, lag(n, c), 30)
	}
	casebook.Injected(t, count, "datagrams of an earlier session of the same address")
}

// Random ids into each table that the other end fills: entities that messages wait for, numbers of reliable messages, pieces, numbers of
// calls, rights, collections, ticks of inputs, addresses of handshakes. The tables stay as they are.
func TestCase50RemoteKeyedTables(t *testing.T) {
	p := newVisitGame(t, netcode.Config{}).protocol
	n := nettest.New(t, nettest.Config{Protocol: p, Seed: 50, Rate: 30, Client: netcode.Config{MaxEntities: 1000, SentPackets: 64}, Server: netcode.Config{SentPackets: 64}})
	server := adversary.NewServer(adversary.Config{Protocol: p, Conn: n.Listen(), Now: n.Now, Seed: 50})
	n.Each(server.Step)
	c := n.JoinAt(server.Address())
	liar := adversary.NewClient(adversary.Config{Protocol: p, Conn: n.Listen(), Remote: n.Address(), Now: n.Now, Seed: 51})
	n.Each(liar.Step)
	require.True(t, n.RunUntil(2*time.Second, func() bool { return liar.Connected() && server.Joined() && c.State() == netcode.Connected }))
	stranger := adversary.NewStranger(p, 52, n.Server.Receive)
	random, calls := uint32(1), 0
	draw := func() uint32 { random = random*1664525 + 1013904223; return random >> 8 }
	flood := func(frames int) {
		for range frames {
			for range 20 {
				id := wire.NetworkID{Index: draw() % (1 << 20), Generation: 1 + draw()%1000}
				server.About(id)
				liar.About(id)
				liar.ForTick(int16(draw()))
				server.ForTick(int16(draw()))
				for _, e := range []*adversary.End{server.End, liar.End} {
					e.Say(wire.MessageRefusal, byte(wire.FlagCall), []byte{byte(draw()), byte(draw())})
					calls++
				}
			}
			require.NoError(t, server.Named("netcode.right", 1))
			stranger.Hellos(20)
			n.Step()
		}
	}
	flood(300)
	before := heap()
	flood(sized(150, 600)) // The rights stay below MaxEntities, beyond which the client ends the connection.
	require.LessOrEqual(t, heap(), before+before/50+256<<10)
	require.NotEqual(t, netcode.Connecting, c.State())
	require.Equal(t, netcode.Connected, c.State(), "%v", c.Err())
	require.Nil(t, liar.Reason())
	casebook.Injected(t, server.Told("About")+liar.Told("About"), "messages about random entities")
	casebook.Injected(t, server.Told("ForTick")+liar.Told("ForTick"), "messages for random ticks")
	casebook.Injected(t, calls, "refusals of random calls")
	casebook.Injected(t, server.Told("Named"), "rights to random entities")
	casebook.Injected(t, stranger.Told("Hellos"), "handshakes from random addresses")
}

// Clients that are killed in every frame of their lives, from the first Hello over join and play to the close: their places come back when
// they have been silent for long enough, nothing of them stays, and those who play notice nothing.
func TestCase56KilledInEveryPhase(t *testing.T) {
	n := party(t, 4, 56, netcode.Config{SilenceTimeout: time.Second, KeepAlive: 300 * time.Millisecond, SentPackets: 64, Clients: 256})
	s := newSteady(t, n, n.Clients...)
	phases := map[netcode.State]int{}
	wave := func() {
		for life := range 50 {
			c := n.Join()
			for range life % 25 {
				s.step()
			}
			if life%2 == 1 {
				c.Close()
				s.step()
			}
			phases[c.State()]++
			n.Remove(c)
		}
		s.run(3*time.Second, nil)
		require.Equal(t, 4, clientsOf(n), "all places are back")
	}
	wave()
	before := heap()
	for range sized(2, 19) {
		wave()
	}
	require.LessOrEqual(t, heap(), before+before/50+heapNoise*4)
	s.unmoved()
	for _, state := range []netcode.State{netcode.Connecting, netcode.Connected, netcode.Closing} {
		casebook.Injected(t, phases[state], "clients killed while "+state.String())
	}
}

// The server is killed and a new one begins at its address, with clients attached: they notice in time, join anew, and have its world within
// ten seconds. No byte of the old session counts.
func TestCase57ServerRestarts(t *testing.T) {
	g := &walkers{count: 30}
	config := netcode.Config{SilenceTimeout: 3 * time.Second, KeepAlive: time.Second}
	n := nettest.New(t, nettest.Config{
		Protocol: protocol(), Clients: 5, Seed: 57, Rate: 30, Link: transport.Link{Delay: 30 * time.Millisecond, Loss: .05}, Server: config, Client: config,
		Game: func(w *ecs.World, frame int) { g.play(w, frame) },
	})
	require.True(t, n.RunUntil(3*time.Second, n.Connected))
	old := 0
	restarts := sized(3, 30)
	for range restarts {
		n.Run(2 * time.Second)
		*g = walkers{count: 30}
		n.Restart()
		died := n.Now()
		rejoined := func() bool {
			for _, c := range n.Clients {
				if c.State() == netcode.Disconnected {
					require.NoError(t, c.Connect(n.Address()))
				}
			}
			return n.Connected() && clientsOf(n) == len(n.Clients)
		}
		require.True(t, n.RunUntil(10*time.Second, rejoined), "all are back within ten seconds")
		n.Run(time.Second)
		require.LessOrEqual(t, n.Now()-died, 10*time.Second)
		for _, c := range n.Clients {
			require.LessOrEqual(t, lag(n, c), 10)
		}
		old += int(n.Server.Stats().Strangers)
	}
	g.rest = 1
	n.AssertConverge()
	casebook.Injected(t, restarts, "restarts of a server with five clients")
	casebook.Injected(t, old, "packets of sessions of the server before")
}

// A link that is down for nine seconds, and a client that takes no frame for nine: the session goes on, what waits is bounded, and the world is
// the server's within two seconds and four round trips. One of 30 s ends it, and the client joins anew.
func TestCase58LinkDownAndBack(t *testing.T) {
	for _, c := range []struct {
		name  string
		down  time.Duration
		sleep bool
		lives bool
	}{
		{"the link for 9 s", 9 * time.Second, false, true},
		{"the client for 9 s", 9 * time.Second, true, true},
		{"the link for 30 s", 30 * time.Second, false, false},
		{"the client for 30 s", 30 * time.Second, true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := &churn{rest: 1 << 30, state: 58}
			n := nettest.New(t, nettest.Config{
				Protocol: protocol(), Clients: 3, Seed: 58, Rate: 30, Link: transport.Link{Delay: 40 * time.Millisecond}, Game: g.play,
			})
			require.True(t, n.RunUntil(3*time.Second, n.Connected))
			n.Run(2 * time.Second)
			gone := n.Clients[1]
			id := gone.ID()
			if c.sleep {
				n.Suspend(gone)
			} else {
				n.SetLinks(gone, transport.Link{Down: true}, transport.Link{Down: true})
			}
			s, frames := newSteady(t, n, n.Clients[0], n.Clients[2]), 0
			s.run(c.down, func() { frames++ })
			s.unmoved()
			stats, here := n.Server.ClientStats(id)
			require.Equal(t, c.lives, here)
			require.LessOrEqual(t, stats.Waiting, 64<<10, "what waits for it is bounded")
			n.Heal()
			n.Wake(gone)
			if !c.lives {
				n.RunUntil(time.Second, func() bool { return gone.State() == netcode.Disconnected })
				require.NoError(t, gone.Connect(n.Address()))
			}
			g.rest = n.Frame()
			n.AssertConverge()
			require.Equal(t, c.lives, gone.ID() == id)
			casebook.Injected(t, frames, "frames: "+c.name+" does nothing")
		})
	}
}

// shared is an executor of as many goroutines as it has parts.
type shared int

// Parts implements netcode.Executor.
func (e shared) Parts() int { return int(e) }

// Do implements netcode.Executor.
func (e shared) Do(n int, part func(int)) {
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { part(i) })
	}
	all.Wait()
}

// Sends in four goroutines, churn of entities and clients, losses and liars at once; CI runs it under the race detector. No goroutine is left,
// and no id is given twice.
func TestCase59RaceSoak(t *testing.T) {
	before := runtime.NumGoroutine()
	g := &churn{rest: 1 << 30, state: 59}
	p := protocol()
	netcode.Handle(p, func(*netcode.Context, *visitWord) {})
	n := nettest.New(t, nettest.Config{
		Protocol: p, Clients: 6, Seed: 59, Rate: 30, Link: sweepLink(20), Game: g.play, Server: netcode.Config{Executor: shared(4), Clients: 64},
	})
	liar := adversary.NewClient(adversary.Config{Protocol: p, Conn: n.Listen(), Remote: n.Address(), Now: n.Now, Seed: 59})
	n.Each(liar.Step)
	given, last := map[netcode.NetworkID]bool{}, netcode.NetworkID{}
	died := map[netcode.NetworkID]bool{}
	visits(n, sized(20, 300), 2*time.Second, 200*time.Millisecond, func(i int, c *nettest.Client) bool {
		liar.Messages(1)
		liar.About(last)
		if i%2 == 0 {
			n.Kill(c)
			return true
		}
		_ = netcode.Send(n.Server.Server, netcode.ToAll(), &visitWord{}, netcode.Via(netcode.Reliable))
		c.Close()
		for id := range given {
			if !n.Server.Store().Alive(id) {
				died[id] = true
			}
		}
		for id := range n.Server.Store().All {
			require.False(t, died[id], "the id %v is given twice", id)
			given[id], last = true, id
		}
		return false
	})
	require.Greater(t, len(died), 20)
	for i := 0; i < 60_000 && runtime.NumGoroutine() > before; i++ { // The last ones are about to end.
		time.Sleep(time.Millisecond)
	}
	require.LessOrEqual(t, runtime.NumGoroutine(), before, "goroutines")
	casebook.Injected(t, n.Frame(), "frames with sends in four goroutines")
	casebook.Injected(t, len(died), "ids whose entities died")
	casebook.Injected(t, liar.Told("Messages"), "packets of random messages")
}

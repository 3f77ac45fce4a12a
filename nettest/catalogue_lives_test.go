package nettest_test

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	netecs "github.com/arche-netcode/netcode/ecs"
	"github.com/arche-netcode/netcode/errs"
	"github.com/arche-netcode/netcode/internal/alloctest"
	"github.com/arche-netcode/netcode/internal/casebook"
	"github.com/arche-netcode/netcode/internal/replica"
	"github.com/arche-netcode/netcode/internal/steps"
	ecs "github.com/arche-netcode/netcode/internal/world"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/nettest"
	"github.com/arche-netcode/netcode/nettest/adversary"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/wire"
)

// The packets that spawn, update and despawn an entity, each of them twice, in every order: at no time does the client hold
// it twice, or again after its despawn, and once the despawn has come it is gone. Where the update and the despawn lean on the
// spawn, that was acknowledged before they were sent: then it comes first, and once more at any time.
func TestCase24LifePermutations(t *testing.T) {
	for _, leans := range []bool{false, true} {
		orders, want := 0, map[bool]int{false: 90, true: 30}
		permutations([]int{0, 0, 1, 1, 2, 2}, func(order []int) {
			if leans && order[0] != 0 {
				return
			}
			orders++
			require.NoError(t, playLife(leans, order), "leans %v, order %v", leans, order)
		})
		require.Equal(t, want[leans], orders)
		casebook.Injected(t, orders, "orders of spawn, update and despawn, each twice")
	}
}

// permutations calls f with every order of the numbers, equal ones not told apart.
func permutations(numbers []int, f func([]int)) {
	var order []int
	left := map[int]int{}
	for _, n := range numbers {
		left[n]++
	}
	var next func()
	next = func() {
		if len(order) == len(numbers) {
			f(order)
			return
		}
		for n := range len(numbers) {
			if left[n] == 0 {
				continue
			}
			left[n]--
			order = append(order, n)
			next()
			order = order[:len(order)-1]
			left[n]++
		}
	}
	next()
}

// playLife makes the three packets and brings them to a client in this order.
func playLife(leans bool, order []int) error {
	schema := protocol().Schema()
	store := snapshot.NewStore(schema, snapshot.Config{})
	view := snapshot.NewView(store, snapshot.Config{})
	var id wire.NetworkID
	row := map[string]int{}
	for i := range schema.Rows() {
		row[schema.Plan(i).Name()] = i
	}
	packets := make([][]byte, 3)
	for i, game := range []func(){
		func() { id = store.Spawn(); store.Set(id, row["health"], []uint32{1}) },
		func() { store.Set(id, row["health"], []uint32{2}) },
		func() { store.Despawn(id) },
	} {
		store.Begin(tick.Tick(i + 1))
		game()
		store.Commit()
		view.Observe()
		packets[i] = make([]byte, 256)
		packets[i] = packets[i][:view.Write(packets[i], uint64(i+1))]
		if leans && i == 0 {
			view.Acked(1)
		}
	}
	world := ecs.New()
	client := replica.New(schema, snapshot.Config{}, 1)
	apply := netecs.NewApply(world, client, schema, 1, netecs.Hooks{}, nil)
	known, gone := 0, false // what was decoded: nothing, the spawn, the update
	for _, i := range order {
		err := client.Read(packets[i])
		switch {
		case err == nil && i == 2:
			gone = true
		case err == nil:
			known = max(known, i+1)
		default:
			return fmt.Errorf("packet %d: %w", i, err)
		}
		apply.Run()
		held := 0
		for range netecs.Entities(world) {
			held++
		}
		if want := known > 0 && !gone; held > 1 || want != (held == 1) {
			return fmt.Errorf("after packet %d the world holds %d, known %d, gone %v", i, held, known, gone)
		}
		if lanes := client.Row(id.Index, row["health"]); held == 1 && lanes[0] != uint32(known) {
			return fmt.Errorf("after packet %d health is %v", i, lanes)
		}
	}
	return nil
}

// serial is a game in which one entity lives at a time, of which all components say the same number. Each frame it moves,
// and every few frames it dies and another one is born at once, whose network index was another's a moment ago.
type serial struct {
	rest, number int
	now          ecs.Entity
	alive        bool
}

func (g *serial) play(w *ecs.World, frame int) {
	bodies := generic.NewMap3[components.Replicated, position, health](w)
	if frame > g.rest {
		return
	}
	if !g.alive || frame%3 == 0 {
		if g.alive {
			w.RemoveEntity(g.now)
		}
		g.number++
		g.alive = true
		g.now = bodies.NewWith(&components.Replicated{}, &position{X: float32(g.number%50) + .5}, &health{Points: int32(g.number % 50)})
	}
	_, at, _ := bodies.Get(g.now)
	at.Y = float32(g.number%50) + float32(frame%3)/10
}

// whole fails when a client sees components of different entities on one.
func whole(c *nettest.Client) error {
	query := generic.NewFilter2[position, health]().Query(c.World)
	for query.Next() {
		at, points := query.Get()
		x, y := math.Floor(float64(at.X)), math.Floor(float64(at.Y)+.005)
		if int32(x) != points.Points || int32(y) != points.Points {
			query.Close()
			return fmt.Errorf("an entity is at %v with health %d", *at, points.Points)
		}
	}
	return nil
}

// A slot of the network index is used again every few ticks, while a fifth of all packets come up to two seconds late:
// old records never reach the entity that has the index now.
func TestCase25IDReuseRace(t *testing.T) {
	seconds := sized(10, 120)
	for seed := range uint64(sized(2, 8)) {
		g := &serial{rest: 60 * seconds}
		n := nettest.New(t, nettest.Config{
			Protocol: protocol(), Clients: 2, Seed: seed, Game: g.play, Server: netcode.Config{SendBudget: -1},
			Link: transport.Link{Delay: 30 * time.Millisecond, Loss: .1, Reorder: .2, ReorderDelay: 2 * time.Second, Duplicate: .1},
		})
		late := uint64(0)
		for n.Now() < time.Duration(seconds)*time.Second {
			n.Step()
			for i, c := range n.Clients {
				require.NoError(t, whole(c), "seed %d, frame %d, client %d", seed, n.Frame(), i)
			}
		}
		n.AssertConverge()
		for _, c := range n.Clients {
			late += c.Replica().Stats().Late
			require.Equal(t, 1, c.Replica().Len())
		}
		require.Greater(t, late, uint64(seconds), "records really came late")
		casebook.Injected(t, late, "records that came after newer ones")
		require.Greater(t, g.number, 10*seconds)
	}
}

// bits returns the bits of a despawn's record, at a gap of none.
func despawnBits(generation uint32) int {
	w := wire.NewBitWriter(make([]byte, 64))
	w.Bool(true)
	w.Var(0)
	w.Var(uint64(generation))
	return w.Bits()
}

// crowd spawns so many entities in one frame and removes all of them in another.
type crowd struct {
	count, born, die int
	all              []ecs.Entity
}

func (g *crowd) play(w *ecs.World, frame int) {
	switch frame {
	case g.born:
		bodies := generic.NewMap2[components.Replicated, position](w)
		for range g.count {
			g.all = append(g.all, bodies.NewWith(&components.Replicated{}, &position{X: float32(len(g.all)%128) / 2}))
		}
	case g.die:
		for _, e := range g.all {
			w.RemoveEntity(e)
		}
	}
}

// Ten thousand entities are born at once, and later die at once, with 8 KB/s to tell of it. Both take no longer than their
// bytes do at that rate: the worst record's, with a tenth for what packets add and a second for the round trip and the
// burst that the budget may have been saved up for or not.
func TestCase26MassDespawn(t *testing.T) {
	const budget = 8 << 10
	count := sized(2000, 10000)
	g := &crowd{count: count, born: 60, die: -1}
	n := nettest.New(t, nettest.Config{
		Protocol: protocol(), Clients: 1, Seed: 26, Game: g.play, Server: netcode.Config{SendBudget: budget, NoRepeat: true},
		Link: transport.Link{Delay: 30 * time.Millisecond},
	})
	bound := func(bits int) time.Duration {
		return time.Duration(1.1*float64(bits*count)/8/budget*float64(time.Second)) + time.Second
	}
	client := n.Clients[0]
	n.Run(time.Second)
	schema := protocol().Schema()
	spawn := 1 + 3 + 1 + 4 + schema.Rows() // one more, gap, kind, generation, rows
	for row := range schema.Rows() {
		if schema.Plan(row).Name() == "position" {
			spawn += schema.Plan(row).Bits()
		}
	}
	require.True(t, n.RunUntil(bound(spawn), func() bool { return client.Replica().Len() == count }),
		"spawned %d of %d in %v", client.Replica().Len(), count, bound(spawn))
	n.Run(time.Second)
	require.NoError(t, n.CheckConverge())
	g.die = n.Frame() + 1
	casebook.Injected(t, count, "despawns in one tick")
	took := n.Now()
	require.True(t, n.RunUntil(bound(despawnBits(1)), func() bool { return client.Replica().Len() == 0 }),
		"%d of %d are left after %v", client.Replica().Len(), count, bound(despawnBits(1)))
	t.Logf("%d despawns in %v of virtual time, the bound is %v", count, n.Now()-took, bound(despawnBits(1)))
	for range netecs.Entities(client.World) {
		require.Fail(t, "an entity is left in the world")
	}
	n.AssertConverge()
}

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
			steps.OfServer(n.Server).Receive(stats.Address, datagram)
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
	stranger := adversary.NewStranger(p, 52, steps.OfServer(n.Server).Receive)
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
	before := alloctest.Heap(t)
	flood(sized(150, 600)) // The rights stay below MaxEntities, beyond which the client ends the connection.
	require.LessOrEqual(t, alloctest.Heap(t), before+before/50+256<<10)
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
	before := alloctest.Heap(t)
	for range sized(2, 19) {
		wave()
	}
	require.LessOrEqual(t, alloctest.Heap(t), before+before/50+heapNoise*4)
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

// Churn of entities and clients, losses and liars at once. No goroutine is left,
// and no id is given twice.
func TestCase59RaceSoak(t *testing.T) {
	before := runtime.NumGoroutine()
	g := &churn{rest: 1 << 30, state: 59}
	p := protocol()
	netcode.Handle(p, func(*netcode.Context, *visitWord) {})
	n := nettest.New(t, nettest.Config{
		Protocol: p, Clients: 6, Seed: 59, Rate: 30, Link: sweepLink(20), Game: g.play, Server: netcode.Config{Clients: 64},
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
		_ = netcode.Send(n.Server.Server, netcode.ToAll(), &visitWord{}, netcode.Over(netcode.Reliable))
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

// brick is a note that has a packet of 256 bytes for itself.
type brick struct {
	Number, Way uint32
	Check       uint64
	Filler      [20]uint64
}

// wrapWays is the number of flows in each direction: every mode, on two channels.
const wrapWays = 4 * 2

// flow is the messages of one mode and channel in one direction, counted as they come.
type flow struct {
	sent, came uint32
	next       uint32          // ordered: the next that must come; sequenced: behind the newest that came
	early      map[uint32]bool // reliable: which came beyond next; unreliable: of those that came lately
}

// take checks one message against what the mode promises.
func (f *flow) take(mode wire.Delivery, number uint32) error {
	f.came++
	switch mode {
	case netcode.ReliableOrdered:
		if number != f.next {
			return fmt.Errorf("%d came, not %d", number, f.next)
		}
		f.next++
		return nil
	case netcode.UnreliableSequenced:
		if number < f.next {
			return fmt.Errorf("%d came after %d", number, f.next-1)
		}
		f.next = number + 1
		return nil
	}
	if number < f.next || f.early[number] || number >= f.sent {
		return fmt.Errorf("%d came twice, or was never sent", number)
	}
	f.early[number] = true
	for f.early[f.next] || mode == netcode.Unreliable && f.next+4096 < number {
		delete(f.early, f.next)
		f.next++
	}
	return nil
}

// floods are the flows of a server and one client, both ways: 0 is what the client sends.
type floods struct {
	apart float64 // sum of how much more than the link loses was thought to be lost
	looks int
	net   *nettest.Net
	flows [2][wrapWays]flow
}

// mode and channel of a flow.
func wayOf(way int) (wire.Delivery, int) { return wire.Delivery(way / 2), way % 2 * 63 }

// speak sends one message of each flow in both directions. A message that finds the queue full is sent later.
func (f *floods) speak(t *testing.T) {
	for way := range wrapWays {
		mode, channel := wayOf(way)
		for from := range f.flows {
			flow := &f.flows[from][way]
			m := brick{Number: flow.sent, Way: uint32(way), Check: check(flow.sent)}
			m.Filler[19] = ^m.Check
			end, to := netcode.Endpoint(f.net.Clients[0].Client), netcode.ToServer()
			if from == 1 {
				end, to = f.net.Server.Server, netcode.To(f.net.Clients[0].ID())
			}
			err := netcode.Send(end, to, &m, netcode.Over(mode), netcode.OnChannel(channel))
			if err == nil {
				flow.sent++
			} else if !errors.Is(err, errs.ErrBackPressure) && !errors.Is(err, errs.ErrQueueFull) {
				require.NoError(t, err)
			}
		}
	}
}

// packets counts the packets of the end that sent fewer.
func (f *floods) packets() uint64 {
	stats, _ := f.net.Server.ClientStats(f.net.Clients[0].ID())
	return min(stats.Packets.Sent, f.net.Clients[0].Stats().Packets.Sent)
}

// Ten times around the 16-bit sequence numbers in both directions, from the first number, from the middle and from the end of
// the numbers, on links that lose nothing up to 60 %, with bursts, duplicates and reordering: every mode keeps what it promises,
// by content, the worlds agree in the end, and what the ends make of the link goes on across every wrap. (peer has the same for
// connections whose very first packet has such a number.)
func TestCase16EveryModeOverTheWraps(t *testing.T) {
	if testing.Short() {
		t.Skip("long; the race detector has nothing to find in one goroutine")
	}
	for seed, start := range sized([]uint64{0}, []uint64{0, 32760, 65500}) {
		t.Run(fmt.Sprint(start), func(t *testing.T) {
			t.Parallel()
			overWraps(t, uint64(seed), start, uint64(sized(1, 10)))
		})
	}
}

func overWraps(t *testing.T, seed, start, wraps uint64) {
	links := []transport.Link{
		{Delay: 30 * time.Millisecond, Loss: .3},
		{Delay: 30 * time.Millisecond},
		{Delay: 30 * time.Millisecond, Loss: .1, Duplicate: .2, Reorder: .2, Jitter: 10 * time.Millisecond},
		{Delay: 30 * time.Millisecond, BurstLoss: transport.GilbertElliott{Enter: .05, Length: 8}, Duplicate: .1},
		{Delay: 30 * time.Millisecond, Loss: .6, Reorder: .3},
	}
	f := &floods{}
	for from := range f.flows {
		for way := range f.flows[from] {
			f.flows[from][way].early = map[uint32]bool{}
		}
	}
	p := protocol()
	netcode.Handle(p, func(ctx *netcode.Context, m *brick) {
		from := 0
		if ctx.Sender == 0 {
			from = 1
		}
		mode, channel := wayOf(int(m.Way))
		require.Equal(t, netcode.Over(mode), netcode.Over(ctx.Channel.Delivery()))
		require.Equal(t, channel, ctx.Channel.Number())
		require.True(t, m.Check == check(m.Number) && m.Filler[19] == ^m.Check, "what arrives is what was sent")
		require.NoError(t, f.flows[from][m.Way].take(mode, m.Number), "%v %d from %d", mode, channel, ctx.Sender)
	})
	patient := netcode.Config{SendBudget: -1, SilenceTimeout: time.Minute, ReliableStall: time.Minute}
	server := patient
	server.PacketSize = 256
	f.net = nettest.New(t, nettest.Config{
		Protocol: p, Clients: 1, Seed: 1600 + seed, Link: transport.Link{Delay: 30 * time.Millisecond}, Server: server, Client: patient,
		Game: wander,
	})
	require.True(t, f.net.RunUntil(5*time.Second, f.net.Connected))
	f.net.Run(200 * time.Millisecond)
	turn := func() {
		for range 4 {
			f.speak(t)
		}
		f.net.Step()
	}
	for f.packets() < start {
		turn()
	}
	const parts = 10 // of the way, each with a link of its own
	for part := range uint64(parts) {
		link := links[(part+seed)%uint64(len(links))]
		f.net.SetLink(link)
		began := f.net.Now()
		for f.packets() < start+(part+1)*wraps<<16/parts {
			turn()
			if f.net.Now()-began > 2*time.Second {
				f.continuous(t, link)
			}
		}
	}
	require.InDelta(t, 0, f.apart/float64(f.looks), .1, "what is thought to be lost, of %d looks", f.looks)
	f.net.Heal()
	f.net.Run(5 * time.Second)
	require.True(t, f.net.Connected())
	for from := range f.flows {
		for way := range f.flows[from] {
			flow, name := &f.flows[from][way], fmt.Sprint(wayOf(way))
			mode, _ := wayOf(way)
			require.Greater(t, flow.sent, uint32(1000*wraps), name)
			require.LessOrEqual(t, flow.came, flow.sent, name)
			require.Greater(t, flow.came, flow.sent/4, name)
			if mode == netcode.Reliable || mode == netcode.ReliableOrdered {
				require.Equal(t, flow.sent, flow.came, "%s: each once", name)
				require.Equal(t, flow.sent, flow.next, name)
			}
		}
	}
	f.net.AssertConverge()
}

// continuous fails when an end's idea of the link is not near what the link is.
func (f *floods) continuous(t *testing.T, link transport.Link) {
	stats, _ := f.net.Server.ClientStats(f.net.Clients[0].ID())
	near, _ := f.net.Clients[0].RTT()
	for _, rtt := range []time.Duration{stats.RTT, near} {
		require.Greater(t, rtt, 2*link.Delay-20*time.Millisecond)
		require.Less(t, rtt, 2*link.Delay+250*time.Millisecond)
	}
	if link.BurstLoss.Enter == 0 && link.Reorder == 0 { // what comes too late counts as lost
		require.Greater(t, stats.Loss, link.Loss-.3)
		require.Less(t, stats.Loss, link.Loss+.6) // acknowledgements are lost, too, and it is of some 50 packets
		f.apart, f.looks = f.apart+stats.Loss-link.Loss, f.looks+1
	}
}

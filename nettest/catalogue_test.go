package nettest_test

import (
	"flag"
	"fmt"
	"runtime/debug"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/congestion"
	"github.com/arche-netcode/netcode/errs"
	"github.com/arche-netcode/netcode/interest"
	"github.com/arche-netcode/netcode/internal/alloctest"
	"github.com/arche-netcode/netcode/internal/casebook"
	ecs "github.com/arche-netcode/netcode/internal/world"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/nettest"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/transport"
)

// The catalogue of faults, by number. Each case is small in plain `go test` and of its full size with -heavy.
var (
	heavy      = flag.Bool("heavy", false, "the cases of the catalogue in their full size")
	sweepSeeds = flag.Int("sweep-seeds", 1, "seeds for each loss of TestCase23LossSweep")
)

// TestMain lets the garbage collector run seldom: most memory of these tests is of worlds that are over.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	m.Run()
}

// sized is a size that a case has, small or full.
func sized[T any](small, full T) T {
	if *heavy {
		return full
	}
	return small
}

// lag counts the ticks that a client is behind its server.
func lag(n *nettest.Net, c *nettest.Client) int {
	if c.Replica() == nil {
		return 1 << 30
	}
	return int(n.Server.Tick() - c.Replica().Tick())
}

// walkers is a game in which so many entities walk on for ever, or until the frame rest.
type walkers struct {
	count, rest int
	all         []ecs.Entity
}

func (g *walkers) play(w *ecs.World, frame int) {
	bodies := generic.NewMap2[components.Replicated, position](w)
	for len(g.all) < g.count {
		g.all = append(g.all, bodies.NewWith(&components.Replicated{}, &position{X: float32(len(g.all)%100) / 10}))
	}
	if g.rest > 0 && frame > g.rest {
		return
	}
	at := generic.NewMap[position](w)
	for i, e := range g.all {
		p := at.Get(e)
		p.X += float32((frame+i)%7-3) / 20
		p.Y += float32((frame*3+i)%5-2) / 20
	}
}

// A client that never acknowledges, and one that goes on acknowledging one old packet, for ten minutes: the server's memory
// stays as it is, such a client costs no more than its budget, and what it gets is whole, not deltas against what it never
// said it has. The other client notices nothing.
func TestCase20AckStarvation(t *testing.T) {
	for _, c := range []struct {
		name string
		cut  func(n *nettest.Net, victim *nettest.Client)
	}{
		{"never acknowledges", func(n *nettest.Net, victim *nettest.Client) {
			n.SetLinks(victim, starvedLink(), transport.Link{Down: true})
		}},
		{"acknowledges one old packet", func(n *nettest.Net, victim *nettest.Client) {
			n.SetLinks(victim, transport.Link{Down: true}, starvedLink())
		}},
	} {
		t.Run(c.name, func(t *testing.T) { ackStarvation(t, c.cut) })
	}
}

func starvedLink() transport.Link { return transport.Link{Delay: 40 * time.Millisecond} }

func ackStarvation(t *testing.T, cut func(n *nettest.Net, victim *nettest.Client)) {
	const budget, settle = 16 << 10, 20 * time.Second
	span := sized(40*time.Second, 10*time.Minute)
	g := &walkers{count: 40}
	patience := netcode.Config{SendBudget: budget, SentPackets: 256, SilenceTimeout: time.Hour}
	n := nettest.New(t, nettest.Config{
		Protocol: protocol(), Clients: 2, Seed: 20, Rate: 30, Link: starvedLink(), Game: g.play, Server: patience, Client: patience,
	})
	require.True(t, n.RunUntil(3*time.Second, n.Connected))
	n.Run(time.Second)
	honest, victim := n.Clients[0], n.Clients[1]
	cut(n, victim)
	n.Run(settle)
	stats := func() netcode.ClientStats {
		s, ok := n.Server.ClientStats(victim.ID())
		require.True(t, ok, "it is still connected")
		return s
	}
	memory, before := alloctest.Heap(t), stats()
	for end := n.Now() + span; n.Now() < end; {
		n.Step()
		require.LessOrEqual(t, lag(n, honest), 6, "the other client")
	}
	after := stats()
	require.LessOrEqual(t, alloctest.Heap(t), memory+memory/50+64<<10, "memory is constant")
	casebook.Injected(t, after.Packets.Sent-before.Packets.Sent, "packets that are never acknowledged")
	bytes := after.Packets.BytesSent - before.Packets.BytesSent
	require.LessOrEqual(t, bytes, uint64(budget*span.Seconds()+budget/2), "the rate is capped")
	require.NotZero(t, after.Snapshot.Rows-before.Snapshot.Rows, "it is sent whole rows")
	require.Zero(t, after.Snapshot.Deltas-before.Snapshot.Deltas, "and nothing that leans on what is long gone")
	g.rest = n.Frame()
	n.AssertConverge()
}

// Every loss up to 60 %, half of it in bursts, with reordering, duplicates and corruption on top: Converge, NoGhostRef and
// Order hold, and members of a group are never seen apart.
func TestCase23LossSweep(t *testing.T) {
	for _, percent := range []int{0, 1, 5, 20, 33, 50, 60} {
		t.Run(fmt.Sprint(percent), func(t *testing.T) {
			for seed := range *sweepSeeds {
				t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
					t.Parallel()
					lossSweep(t, percent, uint64(seed))
				})
			}
		})
	}
}

// sweepLink loses so many percent, half each on its own and half in bursts of eight.
func sweepLink(percent int) transport.Link {
	loss := float64(percent) / 100
	alone := loss / 2
	inBursts := (loss - alone) / (1 - alone) // of what is left
	return transport.Link{
		Delay: 40 * time.Millisecond, Jitter: 10 * time.Millisecond, Loss: alone, Reorder: .3, Duplicate: .1, Corrupt: .01,
		BurstLoss: transport.GilbertElliott{Enter: inBursts / (1 - inBursts) / 8, Length: 8},
	}
}

// twin is a component of entities that change together and travel together.
type twin struct{ Serial uint32 }

// twins is the churn, and three entities of one group that get the number of the frame all at once.
type twins struct {
	churn
	all []ecs.Entity
}

func (g *twins) play(w *ecs.World, frame int) {
	g.churn.play(w, frame)
	members := generic.NewMap3[components.Replicated, components.Group, twin](w)
	for len(g.all) < 3 {
		g.all = append(g.all, members.NewWith(&components.Replicated{}, &components.Group{ID: 7}, &twin{}))
	}
	if frame > g.rest {
		return
	}
	for _, e := range g.all {
		_, _, t := members.Get(e)
		t.Serial = uint32(frame)
	}
}

// together fails unless a client sees all three twins with the same number, or none.
func together(t testing.TB, c *nettest.Client) (seen int) {
	query := generic.NewFilter1[twin]().Query(c.World)
	var first uint32
	for query.Next() {
		serial := query.Get().Serial
		if seen++; seen == 1 {
			first = serial
		} else if serial != first {
			t.Errorf("twins of %d and %d at one client", first, serial)
		}
	}
	if seen != 0 && seen != 3 {
		t.Errorf("%d of three twins", seen)
	}
	return seen
}

func lossSweep(t *testing.T, percent int, seed uint64) {
	const seconds = 3
	p := protocol()
	netcode.Replicate[twin](p)
	g := &twins{churn: churn{rest: 60 * seconds, state: seed}}
	n := nettest.New(t, nettest.Config{
		Protocol: p, Clients: 2, Seed: seed, Link: sweepLink(percent), Game: g.play, Server: netcode.Config{SendBudget: -1},
	})
	seen := 0
	for n.Now() < seconds*time.Second {
		n.Step()
		for _, c := range n.Clients {
			seen += together(t, c)
		}
		if t.Failed() {
			t.Fatalf("%d %% loss, seed %d, frame %d", percent, seed, n.Frame())
		}
	}
	n.AssertConverge()
	require.True(t, n.Connected(), "%d %% loss, seed %d", percent, seed)
	faults := n.LinkStats()
	casebook.Injected(t, faults.Lost+faults.Duplicated+faults.Reordered+faults.Corrupted, "datagrams lost, doubled, overtaken or damaged")
	require.True(t, percent > 33 || seen > 0, "the twins arrived")
	for _, c := range n.Clients {
		require.Zero(t, c.Stats().Malformed)
		require.Zero(t, c.Stats().Resyncs)
	}
}

// Catalogue case 14. A handler despawns the entity that its message is about, at the server and at a client, while more messages
// about it wait behind it in the same frame: each of them finds the entity alive or is told that it is gone, and nothing fails.
func TestCase14HandlerDespawns(t *testing.T) {
	p := protocol()
	var n *nettest.Net
	found, gone := 0, 0
	netcode.Handle(p, func(ctx *netcode.Context, m *note) {
		w, entity := n.Server.World, n.Server.Systems.Entity
		if _, server := ctx.End.(*netcode.Server); !server {
			w, entity = n.Clients[0].World, n.Clients[0].Systems.Entity
		}
		e, ok := entity(ctx.Entity)
		if !ok {
			gone++
			return
		}
		require.True(t, w.Alive(e))
		found++
		if m.Number == 1 {
			w.RemoveEntity(e)
			_, ok = entity(ctx.Entity)
			require.False(t, ok, "at once")
		}
	}, netcode.Over(netcode.ReliableOrdered))
	var e ecs.Entity
	n = nettest.New(t, nettest.Config{
		Protocol: p, Clients: 2, Seed: 14, Link: transport.Link{Delay: 20 * time.Millisecond},
		Game: func(w *ecs.World, frame int) {
			if frame%120 == 30 { // once for each end
				walkers := generic.NewMap2[components.Replicated, position](w)
				e = walkers.New()
			}
		},
	})
	send := func(end netcode.Endpoint, to netcode.Recipient, id netcode.NetworkID) {
		for i := range uint32(5) {
			require.NoError(t, netcode.Send(end, to, &note{i, check(i)}, netcode.About(id)))
		}
	}
	for turn, first := range []netcode.Endpoint{n.Clients[0].Client, n.Server.Server} {
		n.Run(time.Second)
		id, ok := n.Server.Systems.ID(e)
		require.True(t, ok)
		found, gone = 0, 0
		if turn == 0 {
			send(first, netcode.ToServer(), id)
		} else {
			send(first, netcode.To(n.Clients[0].ID()), id)
		}
		n.Run(time.Second)
		require.Equal(t, 2, found, "the one before it, and that one")
		require.LessOrEqual(t, gone, 3, "the others, where they are handled at all")
		require.True(t, n.Connected())
		if turn == 0 {
			require.Zero(t, n.Clients[1].Replica().Len(), "it is gone everywhere")
		} else {
			require.True(t, n.Server.World.Alive(e), "a client removes its own copy alone")
		}
	}
	require.Zero(t, n.Server.Stats().HandlerPanics)
}

// Catalogue case 30, messages. Messages about an entity that a client may see and does not have wait, under caps of bytes
// and of time, and leaves when the entity does; of one that never comes it is dropped, and counted. The client, which holds what
// overtook its entity on the way under caps of its own, never has to.
func TestCase30MessageBeforeSpawn(t *testing.T) {
	p := protocol()
	netcode.Replicate[boulder](p) // does not fit a packet: in sight, and yet it does not come
	heard := 0
	var n *nettest.Net
	netcode.Handle(p, func(ctx *netcode.Context, m *note) {
		_, there := n.Clients[0].Systems.Entity(ctx.Entity)
		require.True(t, there, "never before its entity")
		heard++
	})
	var e ecs.Entity
	const held, late = 20, 500 * time.Millisecond
	const room = held * (16 + 12) // a note and what is kept beside it
	n = nettest.New(t, nettest.Config{
		Protocol: p, Clients: 1, Seed: 30, Link: transport.Link{Delay: 20 * time.Millisecond},
		Server: netcode.Config{PacketSize: 256, OutboxBytes: room, DeferredTime: late},
		Game: func(w *ecs.World, frame int) {
			if frame == 30 {
				boulders := generic.NewMap3[components.Replicated, boulder, position](w)
				e = boulders.New()
			}
		},
	})
	n.Run(time.Second)
	id, ok := n.Server.Systems.ID(e)
	require.True(t, ok)
	c := n.Clients[0]
	require.True(t, n.Server.Visible(c.ID(), id))
	tell := func(count, taken int) {
		for i := range count {
			err := netcode.Send(n.Server.Server, netcode.To(c.ID()), &note{uint32(i), check(uint32(i))}, netcode.About(id))
			if i < taken {
				require.NoError(t, err)
			} else {
				require.ErrorIs(t, err, errs.ErrQueueFull, "by bytes")
			}
		}
		n.Run(200 * time.Millisecond)
	}
	tell(3*held, held)
	require.Zero(t, heard)
	require.Zero(t, n.Server.Stats().DelayedDropped)
	n.Run(late)
	require.EqualValues(t, held, n.Server.Stats().DelayedDropped, "by time: it never came")
	casebook.Injected(t, n.Server.Stats().DelayedDropped, "messages about an entity that never came")
	require.Zero(t, c.Stats().Messages.Deferred, "of what the client cannot have nothing leaves")
	tell(5, 5)
	require.Zero(t, heard)
	ecs.Exchange(n.Server.World, e, nil, []ecs.ID{ecs.ComponentID[boulder](n.Server.World)}, nil) // now it fits
	n.Run(200 * time.Millisecond)
	require.Equal(t, 5, heard, "what was held is handled when it comes")
	tell(1, 1)
	require.Equal(t, 6, heard)
	require.True(t, n.Connected())
	require.EqualValues(t, held, n.Server.Stats().DelayedDropped)
	require.Zero(t, c.Stats().Messages.DeferredLate)
}

// aim is a component that names an entity.
type aim struct {
	At ecs.Entity `net:"entity"`
}

// aimed returns the target of a client's only aim: an entity of its world, or the zero entity.
func aimed(t *testing.T, c *nettest.Client) (at ecs.Entity, there bool) {
	t.Helper()
	query := generic.NewFilter1[aim]().Query(c.World)
	for query.Next() {
		require.False(t, there, "one aim only")
		at, there = query.Get().At, true
	}
	if !at.IsZero() {
		require.True(t, c.World.Alive(at), "an aim is at a living entity or at nobody")
	}
	return at, there
}

// A component names an entity that the client may not see yet: it names nobody, then the entity when it is shown, nobody
// when it is hidden again, and nobody for ever when the target was never shown and died. The client that sees everything
// gets the reference before its target at times, and resolves it when that comes.
func TestCase30ReferenceBeforeSpawn(t *testing.T) {
	const shown, hidden, died, rest = 120, 240, 360, 420
	for seed := range uint64(sized(4, 40)) {
		p := protocol()
		netcode.Replicate[aim](p)
		var archer, target ecs.Entity
		var n *nettest.Net
		began := 1 << 30 // the frame in which both are connected
		targetID := func() netcode.NetworkID {
			id, _ := n.Server.Systems.ID(target)
			return id
		}
		n = nettest.New(t, nettest.Config{
			Protocol: p, Clients: 2, Seed: seed, Link: bad(.2), Server: netcode.Config{SendBudget: -1},
			Game: func(w *ecs.World, frame int) {
				archers, targets := generic.NewMap2[components.Replicated, aim](w), generic.NewMap2[components.Replicated, health](w)
				switch frame - began {
				case 1: // the archer first, so that its record comes before that of its target
					archer, target = archers.New(), targets.New()
					_, a := archers.Get(archer)
					a.At = target
				case shown:
					n.Server.Show(n.Clients[1].ID(), targetID())
				case hidden:
					n.Server.Hide(n.Clients[1].ID(), targetID())
				case died:
					w.RemoveEntity(target)
				}
			},
			Setup: func(s *systems.ServerSystems, _ *ecs.World) {
				s.OnSpawn(func(e ecs.Entity, id netcode.NetworkID) {
					if e == target {
						require.True(t, s.Server.Hide(n.Clients[1].ID(), id))
					}
				})
			},
		})
		sees, half := n.Clients[0], n.Clients[1]
		require.True(t, n.RunUntil(5*time.Second, n.Connected))
		n.Run(time.Second)
		began = n.Frame()
		for frame := 1; frame <= rest; frame++ {
			n.Step()
			aimed(t, sees)
			if at, there := aimed(t, half); frame < shown {
				require.True(t, at.IsZero(), "seed %d, frame %d: it may not see whom it is at, there %v", seed, frame, there)
			}
			if frame == shown-1 || frame == hidden-1 || frame == died-1 {
				at, there := aimed(t, sees)
				require.True(t, there && !at.IsZero(), "seed %d, frame %d", seed, frame)
			}
		}
		n.AssertConverge()
		for _, c := range n.Clients {
			at, there := aimed(t, c)
			require.True(t, there && at.IsZero(), "seed %d: whom it was at is dead", seed)
			require.Equal(t, 1, c.Replica().Len())
		}
	}
}

// While it is shown, the client that may see the target at times resolves the reference to the very entity that the server
// means, at whatever loss.
func TestCase30ReferenceResolves(t *testing.T) {
	p := protocol()
	netcode.Replicate[aim](p)
	var archers, targets []ecs.Entity
	n := nettest.New(t, nettest.Config{
		Protocol: p, Clients: 2, Seed: 30, Link: bad(.3), Server: netcode.Config{SendBudget: -1},
		Game: func(w *ecs.World, frame int) {
			walkers, aims := generic.NewMap2[components.Replicated, health](w), generic.NewMap2[components.Replicated, aim](w)
			if frame%5 == 0 && frame <= 200 { // each aims at one that is born two frames later
				archers = append(archers, aims.New())
			}
			if frame%5 == 2 && len(targets) < len(archers) {
				targets = append(targets, walkers.NewWith(&components.Replicated{}, &health{Points: int32(len(targets))}))
				_, a := aims.Get(archers[len(targets)-1])
				a.At = targets[len(targets)-1]
			}
		},
	})
	n.Run(4 * time.Second)
	n.AssertConverge()
	for _, c := range n.Clients {
		aims, healths := generic.NewMap[aim](c.World), generic.NewMap[health](c.World)
		for i, archer := range archers {
			id, known := n.Server.Systems.ID(archer)
			require.True(t, known)
			there, known := c.Systems.Entity(id)
			require.True(t, known)
			require.EqualValues(t, i, healths.Get(aims.Get(there).At).Points)
		}
	}
}

// A client proves who it is only some time after it has connected and OnConnect has told of it. Until then it learns of
// nothing that lives, and of nothing that dies; three seconds later it lacks nothing.
func TestCase27AuthEndsAfterTheJoin(t *testing.T) {
	const rate, age = 60, time.Second
	open := map[netcode.ClientID]bool{1: true} // who has proved who it is
	sight := interest.New(interest.NewRows(interest.All(), func(_ *snapshot.Store, client netcode.ClientID, _ netcode.NetworkID) snapshot.Mask {
		if open[client] {
			return snapshot.AllRows()
		}
		return snapshot.Mask{}
	}), interest.Despawn)
	connected := map[netcode.ClientID]time.Duration{}
	g := &turnover{count: sized(1000, 5000), perSecond: sized(100, 500), rate: rate, rest: 1 << 30}
	var n *nettest.Net
	n = nettest.New(t, nettest.Config{
		Protocol: protocol(), Clients: 1, Seed: 271, Rate: rate, Game: g.play, Server: netcode.Config{SendBudget: 256 << 10},
		Link: transport.Link{Delay: 40 * time.Millisecond, Jitter: 5 * time.Millisecond, Loss: .2},
		Setup: func(s *systems.ServerSystems, _ *ecs.World) {
			s.Server.SetInterest(sight)
			s.Server.OnConnect(func(client netcode.ClientID) { connected[client] = n.Now() })
		},
	})
	born := census{born: map[netcode.NetworkID]time.Duration{}}
	run := func(span time.Duration, each func()) {
		for end := n.Now() + span; n.Now() < end; {
			n.Step()
			born.take(n)
			if each != nil {
				each()
			}
		}
	}
	run(4*time.Second, nil)
	late := n.Join()
	run(time.Second, func() { require.True(t, late.Replica() == nil || late.Replica().Len() == 0, "before it is known") })
	require.Contains(t, connected, late.ID())
	before, _ := n.Server.ClientStats(late.ID())
	require.Zero(t, before.Snapshot.Spawns+before.Snapshot.Despawns)
	open[late.ID()] = true
	require.True(t, sight.RefreshClient(late.ID()))
	run(3*time.Second, func() { require.Zero(t, born.missing(n, n.Clients[0], age), "the others are not disturbed") })
	run(time.Second, func() { require.Zero(t, born.missing(n, late, age), "three seconds after it is known") })
	g.rest = n.Frame()
	n.AssertConverge()
}

// bucket is a token bucket as the budget of a client must be, counted apart.
type bucket struct {
	rate, tokens  float64
	at            time.Duration
	sent, packets uint64
	records       uint64
	bound         bool // the rate was at the bound in the tick before
}

// The work of a tick is bounded by the budget, also in the ticks in which somebody joins: of each client, the bytes of a tick are
// what its bucket holds and a packet at most, packets are full, and records are so few as such bytes can hold. Counted, and
// not timed, in every single tick: a join is spread over as many of them as it takes. The others get no less by it.
func TestCase27TheWorkOfATickIsBoundedByTheBudget(t *testing.T) {
	const rate, packet = 30, 1200
	for _, budget := range []int{256 << 10, 32 << 10} {
		g := &turnover{count: sized(1000, 5000), perSecond: sized(100, 500), rate: rate, rest: 1 << 30}
		n := nettest.New(t, nettest.Config{
			Protocol: protocol(), Clients: 1, Seed: 272, Rate: rate, Game: g.play, Server: netcode.Config{SendBudget: budget, Clients: 4},
			Link: transport.Link{Delay: 40 * time.Millisecond, Jitter: 5 * time.Millisecond, Loss: .2},
		})
		buckets := map[netcode.ClientID]*bucket{}
		most, ticks := uint64(0), 0
		step := func() {
			n.Step()
			for id := range n.Server.Clients {
				b := buckets[id]
				stats, _ := n.Server.ClientStats(id)
				if b == nil { // its handshake is not counted
					b = &bucket{rate: float64(budget), tokens: float64(budget) / 4, at: n.Now()}
					buckets[id] = b
				}
				b.tokens = min(b.tokens+b.rate*(n.Now()-b.at).Seconds(), b.rate/4)
				b.at = n.Now()
				v := stats.Snapshot
				records := v.Spawns + v.Updates + v.Despawns
				bytes, packets := stats.Packets.BytesSent-b.sent, stats.Packets.Sent-b.packets
				require.LessOrEqual(t, float64(bytes), b.tokens+packet, "bytes to client %d in frame %d", id, n.Frame())
				few, bound := uint64(3), stats.Line.Reason == congestion.Bound
				if !bound || !b.bound { // The start measures the line with some small packets.
					few = 9
				}
				b.bound = bound
				require.LessOrEqual(t, packets, bytes/(uint64(stats.PacketSize)*2/3)+few, "packets are full")
				spawns := records - b.records
				require.LessOrEqual(t, spawns, bytes*8/despawnLeast, "records, of which none takes less than a despawn")
				if most = max(most, spawns); id > 1 && spawns > 100 {
					ticks++
				}
				b.tokens -= float64(bytes)
				b.sent, b.packets, b.records = stats.Packets.BytesSent, stats.Packets.Sent, records
			}
		}
		run := func(span time.Duration) {
			for end := n.Now() + span; n.Now() < end; {
				step()
			}
		}
		run(sized(3*time.Second, 5*time.Second))
		first, _ := n.Server.ClientStats(1)
		run(3 * time.Second)
		alone, _ := n.Server.ClientStats(1)
		for range 3 {
			n.Join() // three at once
		}
		run(3 * time.Second)
		beside, _ := n.Server.ClientStats(1)
		require.InEpsilon(t, alone.Packets.BytesSent-first.Packets.BytesSent, beside.Packets.BytesSent-alone.Packets.BytesSent, .2,
			"who is there already is sent as much as before")
		run(sized(time.Second, 8*time.Second))
		for _, c := range n.Clients {
			require.Greater(t, c.Replica().Len(), g.count*9/10)
		}
		t.Logf("%d bytes a second: at most %d records in a tick, %d ticks of a join with more than 100", budget, most, ticks)
		g.rest = n.Frame()
		n.AssertConverge()
	}
}

// despawnLeast is less than any record takes, in bits.
const despawnLeast = 3

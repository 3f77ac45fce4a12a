package nettest_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/authority"
	"github.com/arche-netcode/netcode/collections"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/input"
	"github.com/arche-netcode/netcode/interest"
	"github.com/arche-netcode/netcode/internal/alloctest"
	"github.com/arche-netcode/netcode/internal/casebook"
	ecs "github.com/arche-netcode/netcode/internal/world"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/nettest"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
)

// visits lets clients join one after the other, stay for a time and leave, until so many have left. leave says false of one that
// is to be waited for.
func visits(n *nettest.Net, count int, stay, between time.Duration, leave func(i int, c *nettest.Client) (gone bool)) {
	type visit struct {
		c       *nettest.Client
		i       int
		until   time.Duration
		leaving bool
	}
	var here []visit
	joinAt, joined := n.Now(), 0
	for left := 0; left < count; n.Step() {
		if joined < count && n.Now() >= joinAt {
			here, joined, joinAt = append(here, visit{n.Join(), joined, n.Now() + stay, false}), joined+1, joinAt+between
		}
		kept := here[:0]
		for _, v := range here {
			gone := false
			if v.c.State() == netcode.Connected && n.Now() >= v.until && !v.leaving {
				gone, v.leaving = leave(v.i, v.c), true
			}
			if gone || v.c.State() == netcode.Disconnected && n.Now() >= v.until {
				n.Remove(v.c)
				left++
				continue
			}
			kept = append(kept, v)
		}
		clear(here[len(kept):])
		here = kept
	}
}

// inOrder closes a client's connection.
func inOrder(_ int, c *nettest.Client) (gone bool) {
	c.Close()
	return false
}

// staysFlat fails unless the heap stays within 2 % of its size at the start, and heapNoise, after each of several waves of visitors.
func staysFlat(t *testing.T, waves int, wave func()) {
	t.Helper()
	first := alloctest.Heap(t)
	for i := range waves {
		wave()
		now := alloctest.Heap(t)
		t.Logf("after wave %d: %.2f MB, %.2f MB at the start", i+1, float64(now)/1e6, float64(first)/1e6)
		require.LessOrEqual(t, now, first+first/50+heapNoise, "the heap grows with those who have left")
	}
}

// heapNoise is the size that tables of the runtime add to a heap of two megabytes.
const heapNoise = 16 << 10

// 150 clients, and 1200 with -heavy, that join, stay for two seconds and close in order leave nothing behind.
func TestCase49VisitsLeaveNoMemory(t *testing.T) {
	g := &walkers{count: 20}
	n := nettest.New(t, nettest.Config{Protocol: protocol(), Seed: 60, Link: transport.Link{Delay: 20 * time.Millisecond}, Game: g.play, Rate: 30})
	visits(n, 100, 2*time.Second, 250*time.Millisecond, inOrder)
	staysFlat(t, sized(1, 4), func() { visits(n, sized(150, 300), 2*time.Second, 250*time.Millisecond, inOrder) })
	casebook.Injected(t, n.Server.Stats().Disconnected, "clients that came and left")
}

// Eight places whose clients come and go all the time: 2400 ticks, and a million with -heavy.
func TestEightPlacesChangeHandsForLong(t *testing.T) {
	if testing.Short() {
		t.Skip("a long simulation")
	}
	g := &walkers{count: 20}
	n := nettest.New(t, nettest.Config{Protocol: protocol(), Seed: 62, Link: transport.Link{Delay: 30 * time.Millisecond}, Game: g.play, Rate: 30})
	const between = 400 * time.Millisecond
	wave := func(ticks int) { visits(n, ticks/12, 8*between, between, inOrder) }
	wave(1200)
	staysFlat(t, sized(2, 4), func() { wave(sized(600, 250_000)) })
}

// bursts is a game in which a few walk, and all do every now and then.
type bursts struct{ walkers }

func (g *bursts) play(w *ecs.World, frame int) {
	all := g.all
	if frame > 5 && frame%97 != 0 {
		g.all = all[:20]
		g.count = 20
	}
	g.walkers.play(w, frame)
	if len(all) > len(g.all) {
		g.all = all
	}
	g.count = len(g.all)
}

// A client keeps as much memory of the past as its ticks need together, on a link that loses now this tick and now that one. The
// memory that one large tick needed serves the next one: within an eighth.
func TestCase61HistoriesStayAsTheyAre(t *testing.T) {
	g := &bursts{walkers: walkers{count: 600}}
	n := nettest.New(t, nettest.Config{
		Protocol: protocol(), Seed: 61, Clients: 1, Rate: 30, Link: transport.Link{Delay: 50 * time.Millisecond, Jitter: 30 * time.Millisecond, Loss: .1}, Game: g.play,
		Server: netcode.Config{SendBudget: -1},
	})
	n.Run(sized(time.Minute, 6*time.Minute))
	before, memory := n.Clients[0].Stats().HistoryBytes, alloctest.Heap(t)
	n.Run(sized(time.Minute, 20*time.Minute))
	after := n.Clients[0].Stats().HistoryBytes
	grows := before / 8 // The first large ticks find no memory that others have left.
	t.Logf("%d bytes at the start, %d at the end", before, after)
	require.NotZero(t, before)
	require.LessOrEqual(t, after, before+grows)
	require.LessOrEqual(t, alloctest.Heap(t), memory+int(grows)+heapNoise)
}

type visitWord struct{ Text [40]byte }
type visitQuery struct{ Number uint32 }
type visitReply struct{ Number uint32 }

// visitGame has all that a server keeps for a client: an avatar of its own that it writes, interest, collections, inputs,
// messages and questions in both directions.
type visitGame struct {
	t        *testing.T
	protocol *netcode.Protocol
	list     *collections.List[uint32]
	grid     *interest.Grid
	rooms    *interest.Rooms
	net      *nettest.Net
	walkers  walkers
	avatars  map[netcode.ClientID]ecs.Entity
	came     []netcode.ClientID
	left     []netcode.ClientID
}

func newVisitGame(t *testing.T, config netcode.Config) *visitGame {
	g := &visitGame{t: t, protocol: protocol(), walkers: walkers{count: 20}, avatars: map[netcode.ClientID]ecs.Entity{}, rooms: interest.NewRooms()}
	netcode.Replicate[steered](g.protocol, authority.WrittenBy(authority.OwnerWrites))
	netcode.Replicate[components.Owner](g.protocol)
	input.Register[stamp](g.protocol)
	netcode.Handle(g.protocol, func(*netcode.Context, *visitWord) {})
	netcode.Answer(g.protocol, func(_ *netcode.Context, q *visitQuery, r *visitReply) error { r.Number = q.Number; return nil })
	g.list = collections.NewList[uint32](g.protocol, "visits", collections.MaxElements(50))
	g.grid = interest.NewGrid(interest.GridConfig{Position: func(s *snapshot.Store, id netcode.NetworkID) (x, y, z float32, ok bool) {
		return 1, 1, 0, true
	}, Enter: 100, Leave: 120})
	g.net = nettest.New(t, nettest.Config{
		Protocol: g.protocol, Seed: 61, Link: transport.Link{Delay: 20 * time.Millisecond}, Game: g.play, Setup: g.setUp, SetupClient: g.setUpClient,
		Server: config,
	})
	return g
}

func (g *visitGame) setUp(s *systems.ServerSystems, _ *ecs.World) {
	s.Server.SetInterest(interest.New(interest.NewRows(interest.Any(g.grid, g.rooms, interest.NewOwnerOnly(interest.OwnerConfig{ServersToAll: true})),
		interest.OwnerRows(snapshot.Mask{})), interest.Keep))
	s.Server.OnConnect(func(id netcode.ClientID) { g.came = append(g.came, id) })
	s.Server.OnDisconnect(func(id netcode.ClientID, _ *netcode.CloseError) {
		g.left = append(g.left, id)
		g.grid.Look(id, 1, 1, 0) // as a game may that does not look who it was
		g.rooms.Enter(id, 7)
	})
}

func (g *visitGame) setUpClient(i int, c *systems.ClientSystems, w *ecs.World) {
	c.Add(tick.Update, call(func() {
		if c.Client.State() != netcode.Connected {
			return
		}
		require.NoError(g.t, input.Set(c.Client, &stamp{uint64(c.Client.Time().Tick)}))
		if g.net.Frame()%7 == 0 {
			_ = netcode.Send(c.Client, netcode.ToServer(), &visitWord{}, netcode.Over(netcode.ReliableOrdered))
			_ = netcode.Call(g.t.Context(), c.Client, 0, &visitQuery{1}, func(*visitReply, error) {})
		}
		at := generic.NewMap1[steered](w)
		filter := generic.NewFilter1[steered]().Filter(w)
		query := ecs.Select(w, filter)
		var mine []ecs.Entity
		for query.Next() {
			mine = append(mine, query.Entity())
		}
		for _, e := range mine {
			if id, ok := c.ID(e); ok && authority.MayWrite[steered](c.Client, id) {
				at.Get(e).X = float32(g.net.Frame()%100) / 10
			}
		}
	}))
}

// play moves what walks, and gives each client an avatar and a list while it is there.
func (g *visitGame) play(w *ecs.World, frame int) {
	g.walkers.play(w, frame)
	ships := generic.NewMap3[components.Replicated, components.Owner, steered](w)
	for _, id := range g.came {
		g.avatars[id] = ships.NewWith(&components.Replicated{}, &components.Owner{Client: id}, &steered{})
		g.grid.Look(id, 1, 1, 0)
		g.rooms.Enter(id, interest.Room(id%3))
	}
	for _, id := range g.left {
		if e, ok := g.avatars[id]; ok {
			w.RemoveEntity(e)
			delete(g.avatars, id)
		}
	}
	g.came, g.left = g.came[:0], g.left[:0]
	if frame%5 == 0 {
		_ = netcode.Send(g.net.Server.Server, netcode.ToAll(), &visitWord{}, netcode.Over(netcode.Reliable))
	}
	for client, e := range g.avatars {
		if id, ok := g.net.Server.Systems.ID(e); ok && frame%11 == 0 {
			require.NoError(g.t, g.list.Of(g.net.Server.Server, id).Append(uint32(frame)))
			_ = netcode.Call(g.t.Context(), g.net.Server.Server, client, &visitQuery{1}, func(*visitReply, error) {})
		}
	}
}

// Whatever way clients leave, and whatever they had, nothing of them stays.
func TestCase49NothingStaysOfVisitors(t *testing.T) {
	g := newVisitGame(t, netcode.Config{SilenceTimeout: time.Second, KeepAlive: 200 * time.Millisecond, Clients: 6})
	leaveAs := func(i int, c *nettest.Client) (over bool) {
		switch i % 4 {
		case 1:
			g.net.Kill(c)
			return true
		case 2:
			g.net.Server.Kick(c.ID(), "enough")
		default:
			c.Close()
		}
		return false
	}
	wave := func() {
		visits(g.net, sized(40, 100), 2*time.Second, 200*time.Millisecond, leaveAs)
		g.net.Run(3 * time.Second)
	}
	wave()
	staysFlat(t, sized(3, 8), wave)
}

package nettest_test

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	ecs "github.com/arche-netcode/netcode/internal/world"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/nettest"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/wire"
)

// Records of about 5, 15, 50 and 240 bytes: no value can be predicted.
type (
	smallRow  struct{ N uint8 }
	middleRow struct{ N [3]uint32 }
	largeRow  struct{ N [12]uint32 }
	hugeRow   struct{ N [60]uint32 }
)

const (
	small = iota
	middle
	large
	huge
)

// kind is some entities of a rivals that are alike.
type kind struct {
	count  int
	weight float32
	row    int // small, middle, large or huge
	every  int // Its values change every so many ticks; 0 counts as 1.
}

// rivals is a game of entities that change all the time, so that a short budget never suffices for all.
type rivals struct {
	kinds    []kind
	entities []ecs.Entity
	kind     []int // By entity.
	random   *rand.Rand
	each     func() // Called in each frame, if there is one.
}

func newRivals(seed uint64, kinds ...kind) *rivals {
	return &rivals{kinds: kinds, random: rand.New(rand.NewPCG(seed, seed))}
}

// play writes other values into the entities.
func (g *rivals) play(w *ecs.World, frame int) {
	if len(g.entities) == 0 {
		g.spawn(w)
	}
	if g.each != nil {
		g.each()
	}
	smalls, middles, larges := generic.NewMap[smallRow](w), generic.NewMap[middleRow](w), generic.NewMap[largeRow](w)
	huges := generic.NewMap[hugeRow](w)
	for i, e := range g.entities {
		k := g.kinds[g.kind[i]]
		if k.every > 1 && (frame+i)%k.every != 0 {
			continue
		}
		switch k.row {
		case small:
			smalls.Get(e).N = uint8(g.random.Uint32())
		case middle:
			for j := range middles.Get(e).N {
				middles.Get(e).N[j] = g.random.Uint32()
			}
		case large:
			for j := range larges.Get(e).N {
				larges.Get(e).N[j] = g.random.Uint32()
			}
		case huge:
			for j := range huges.Get(e).N {
				huges.Get(e).N[j] = g.random.Uint32()
			}
		}
	}
}

// spawn makes the entities, those of all kinds among each other.
func (g *rivals) spawn(w *ecs.World) {
	bodies, weights := generic.NewMap1[components.Replicated](w), generic.NewMap1[components.Priority](w)
	smalls, middles, larges := generic.NewMap1[smallRow](w), generic.NewMap1[middleRow](w), generic.NewMap1[largeRow](w)
	huges := generic.NewMap1[hugeRow](w)
	left := make([]int, len(g.kinds))
	for k := range g.kinds {
		left[k] = g.kinds[k].count
	}
	for again := true; again; {
		again = false
		for k := range g.kinds {
			if left[k] == 0 {
				continue
			}
			left[k]--
			again = true
			e := bodies.New()
			weights.Assign(e, &components.Priority{Weight: g.kinds[k].weight})
			switch g.kinds[k].row {
			case small:
				smalls.Assign(e, &smallRow{})
			case middle:
				middles.Assign(e, &middleRow{})
			case large:
				larges.Assign(e, &largeRow{})
			case huge:
				huges.Assign(e, &hugeRow{})
			}
			g.entities, g.kind = append(g.entities, e), append(g.kind, k)
		}
	}
}

func rivalProtocol() *netcode.Protocol {
	p := netcode.NewProtocol()
	netcode.Replicate[smallRow](p)
	netcode.Replicate[middleRow](p)
	netcode.Replicate[largeRow](p)
	netcode.Replicate[hugeRow](p)
	return p
}

// tally counts the records that reached a client over some ticks.
type tally struct {
	ticks   int
	sent    int             // Ticks in which state left the server.
	gap     int             // The most ticks between two of those.
	updates map[int]float64 // By kind: updates of one entity, on average.
	least   map[int]int     // By kind: updates of the entity that got fewest.
	wait    map[int]int     // By kind: the most ticks that one waited for its next update.
	bytes   uint64
}

// watch runs some ticks, in each of which the server has more to send than it may, and counts.
func (g *rivals) watch(t *testing.T, n *nettest.Net, ticks int) tally {
	c := n.Clients[0]
	stats := func() netcode.ClientStats {
		s, ok := n.Server.ClientStats(c.ID())
		require.True(t, ok)
		return s
	}
	r := tally{ticks: ticks, updates: map[int]float64{}, least: map[int]int{}, wait: map[int]int{}}
	newest, count := map[wire.NetworkID]tick.Tick{}, map[wire.NetworkID]int{}
	kinds := map[wire.NetworkID]int{}
	ids := generic.NewMap[components.Replicated](n.Server.World)
	for i, e := range g.entities {
		kinds[ids.Get(e).ID] = g.kind[i]
	}
	start, last := stats().Packets.BytesSent, 0
	before := stats().Snapshot.Snapshots
	for e := range c.Replica().All {
		newest[e.ID] = e.Tick
	}
	for i := 1; i <= ticks; i++ {
		n.Step()
		if now := stats().Snapshot.Snapshots; now > before {
			before = now
			r.sent++
			r.gap, last = max(r.gap, i-last), i
		}
		for e := range c.Replica().All {
			if e.Tick > newest[e.ID] {
				k := kinds[e.ID]
				r.wait[k] = max(r.wait[k], int(e.Tick-newest[e.ID]))
				newest[e.ID] = e.Tick
				count[e.ID]++
			}
		}
	}
	for k := range g.kinds {
		r.least[k] = math.MaxInt
	}
	for id, k := range kinds {
		r.updates[k] += float64(count[id]) / float64(g.kinds[k].count)
		r.least[k] = min(r.least[k], count[id])
	}
	r.bytes = stats().Packets.BytesSent - start
	return r
}

// ideal returns the updates of so many that each entity of a kind gets by weight alone: none more than one a tick.
func (g *rivals) ideal(total, ticks float64) []float64 {
	share, capped := make([]float64, len(g.kinds)), make([]bool, len(g.kinds))
	for again := true; again; {
		again = false
		sum, left := 0.0, total
		for k, of := range g.kinds {
			if capped[k] {
				left -= float64(of.count) * ticks / float64(max(of.every, 1))
			} else {
				sum += float64(of.count) * float64(of.weight)
			}
		}
		for k, of := range g.kinds {
			most := ticks / float64(max(of.every, 1))
			if share[k] = most; !capped[k] {
				share[k] = left * float64(of.weight) / sum
				if share[k] > most {
					capped[k], again = true, true
				}
			}
		}
	}
	return share
}

// crowded is a client with a short budget that has all entities of a rivals.
func shortOf(t *testing.T, g *rivals, budget int, loss float64, p *netcode.Protocol) *nettest.Net {
	n := nettest.New(t, nettest.Config{
		Protocol: p, Clients: 1, Seed: 4, Rate: 30, Game: g.play, Server: netcode.Config{SendBudget: budget},
		Link: transport.Link{Delay: 30 * time.Millisecond, Loss: loss},
	})
	c := n.Clients[0]
	require.True(t, n.RunUntil(2*time.Minute, func() bool { return c.Replica() != nil && c.Replica().Len() == len(g.entities) && len(g.entities) > 0 }))
	n.Run(5 * time.Second)
	return n
}

// The budget is spread over ticks: state leaves in every tick in which a share of it suffices for a packet that is worth its
// header, and the entity that counts most never waits.
func TestAShortBudgetSendsStateInEachTick(t *testing.T) {
	for _, budget := range []int{3000, 6000, 12000} {
		for _, row := range []int{small, middle} {
			t.Run(fmt.Sprintf("%d bytes a second, rows %d", budget, row), func(t *testing.T) {
				g := newRivals(1, kind{1, 255, small, 1}, kind{300, 1, row, 1})
				n := shortOf(t, g, budget, 0, rivalProtocol())
				r := g.watch(t, n, 300)
				t.Logf("state left in %d of %d ticks, at most %d apart; the most important waited %d ticks; %d bytes", r.sent, r.ticks, r.gap, r.wait[0], r.bytes)
				require.GreaterOrEqual(t, r.sent, r.ticks*95/100)
				require.LessOrEqual(t, r.gap, 2)
				require.LessOrEqual(t, r.wait[0], 2)
				require.LessOrEqual(t, r.bytes, uint64(budget*10+1200))
				require.GreaterOrEqual(t, r.bytes, uint64(budget*10*9/10), "and no bandwidth is left")
			})
		}
	}
}

// A record that is larger than the share of a tick keeps nobody waiting: it borrows. The entity that counts most is sent in every
// third tick at the latest. The large records have half of the budget, if their weight asks for that much.
func TestLargeRecordDelaysNoOthers(t *testing.T) {
	for _, budget := range []int{3000, 6000} {
		t.Run(fmt.Sprintf("%d bytes a second", budget), func(t *testing.T) {
			t.Parallel()
			g := newRivals(6, kind{1, 255, small, 1}, kind{20, 4, small, 1}, kind{20, 1, huge, 1})
			n := shortOf(t, g, budget, 0, rivalProtocol())
			r := g.watch(t, n, sized(900, 1500))
			t.Logf("state left in %d of %d ticks, at most %d apart; waited at most %v ticks; updates %v; %d bytes", r.sent, r.ticks, r.gap, r.wait, r.updates, r.bytes)
			require.LessOrEqual(t, r.gap, 3)
			require.LessOrEqual(t, r.wait[0], 3)
			require.GreaterOrEqual(t, r.updates[2]*20*240, .5*float64(r.bytes), "what the large ones have")
			require.GreaterOrEqual(t, r.updates[1], 4*r.updates[2], "by weight, and what the large ones cannot have")
			require.LessOrEqual(t, r.bytes, uint64(budget*r.ticks/30+1200))
			require.GreaterOrEqual(t, r.bytes, uint64(budget*r.ticks/30*9/10), "and no bandwidth is left")
		})
	}
}

// An entity of twice the weight is sent twice as often, whatever the weights, the records, the budget and the network are.
func TestWeightsHoldOverTime(t *testing.T) {
	mixes := map[string][]kind{
		"8 to 1":                {{10, 8, small, 1}, {100, 1, small, 1}},
		"one of 8":              {{1, 8, middle, 1}, {60, 1, middle, 1}},
		"8, 4, 2, 1":            {{10, 8, small, 1}, {10, 4, small, 1}, {20, 2, small, 1}, {200, 1, small, 1}},
		"large ones weigh more": {{10, 4, large, 1}, {60, 1, small, 1}},
		"large ones weigh less": {{20, 4, small, 1}, {60, 1, large, 1}},
		"below 1 and odd":       {{20, 3, middle, 1}, {40, .5, small, 1}, {20, 1.7, middle, 1}},
		"quiet ones among them": {{20, 8, small, 1}, {200, 1, middle, 1}, {60, 1, small, 90}},
		"many of them":          {{sized(20, 50), 8, small, 1}, {sized(380, 950), 1, small, 1}},
	}
	nets := 0
	for _, name := range slices.Sorted(maps.Keys(mixes)) {
		kinds := mixes[name]
		for _, budget := range []int{3000, 6000, 12000} {
			for _, loss := range []float64{0, .1} {
				if nets++; !*heavy && nets%9 != 0 {
					continue
				}
				t.Run(fmt.Sprintf("%s, %d bytes a second, loss %v", name, budget, loss), func(t *testing.T) {
					t.Parallel()
					g := newRivals(2, kinds...)
					n := shortOf(t, g, budget, loss, rivalProtocol())
					r := g.watch(t, n, sized(1500, 3000))
					g.requireShares(t, r, loss)
				})
			}
		}
	}
}

// requireShares compares what reached a client over a link with what weights alone would give.
func (g *rivals) requireShares(t *testing.T, r tally, loss float64) {
	total := 0.0
	for k, of := range g.kinds {
		total += r.updates[k] * float64(of.count)
	}
	ideal := g.ideal(total, float64(r.ticks)*(1-loss))
	for k, of := range g.kinds {
		t.Logf("weight %v: %.1f updates, ideally %.1f (%+.1f %%), the least %d, waited at most %d; state in %d of %d ticks", of.weight, r.updates[k], ideal[k],
			100*(r.updates[k]/ideal[k]-1), r.least[k], r.wait[k], r.sent, r.ticks)
		if of.every > 1 {
			require.GreaterOrEqual(t, r.least[k], r.ticks/of.every*8/10, "what seldom changes does not wait")
			continue
		}
		require.InEpsilon(t, ideal[k], r.updates[k], .05, "weight %v", of.weight)
		longest := 2*float64(r.ticks)/ideal[k] + 3
		if loss > 0 {
			longest *= 6 // Some of so many are lost five times in a row.
		}
		require.LessOrEqual(t, float64(r.wait[k]), longest, "ticks that one of weight %v waited", of.weight)
	}
	require.GreaterOrEqual(t, r.sent, r.ticks*95/100, "ticks in which state left")
}

// sway and paint are what the entities of a painted game have: one counts four times as much as the other.
type (
	sway  struct{ N uint32 }
	paint struct{ N uint32 }
)

// An entity waits with the importance of the components that have changed.
func TestImportanceOfComponents(t *testing.T) {
	const count = 60
	p := netcode.NewProtocol()
	netcode.Replicate[sway](p, netcode.Importance(4))
	netcode.Replicate[paint](p)
	random := rand.New(rand.NewPCG(3, 3))
	var entities []ecs.Entity
	play := func(w *ecs.World, _ int) {
		bodies := generic.NewMap3[components.Replicated, sway, paint](w)
		for len(entities) < 2*count {
			entities = append(entities, bodies.NewWith(&components.Replicated{}, &sway{}, &paint{}))
		}
		for i, e := range entities {
			if _, s, p := bodies.Get(e); i%2 == 0 {
				s.N = random.Uint32()
			} else {
				p.N = random.Uint32()
			}
		}
	}
	n := nettest.New(t, nettest.Config{Protocol: p, Clients: 1, Seed: 4, Rate: 30, Game: play, Server: netcode.Config{SendBudget: 3000}})
	c := n.Clients[0]
	require.True(t, n.RunUntil(time.Minute, func() bool { return c.Replica() != nil && c.Replica().Len() == 2*count }))
	n.Run(10 * time.Second)
	updates, newest := [2]int{}, map[wire.NetworkID]tick.Tick{}
	for range 1500 {
		n.Step()
		for e := range c.Replica().All {
			if e.Tick > newest[e.ID] {
				newest[e.ID] = e.Tick
				updates[e.ID.Index%2]++
			}
		}
	}
	ratio := float64(max(updates[0], updates[1])) / float64(min(updates[0], updates[1]))
	t.Logf("%d and %d updates: %.2f to 1", updates[0], updates[1], ratio)
	require.InEpsilon(t, 4, ratio, .05)
}

// quip is a message of a few bytes, and saga one of several packets.
type (
	quip struct{ N uint32 }
	saga struct{ N [400]uint32 }
)

// Messages and state share a short budget, however many messages wait and however large they are: each has a third of it at
// least, or nearly that, and state leaves in every fourth tick at the latest.
func TestMessagesAndStateShareAShortBudget(t *testing.T) {
	for _, c := range []struct {
		name string
		send func(s *netcode.Server, to netcode.Recipient) error
	}{
		{"unreliable ones", func(s *netcode.Server, to netcode.Recipient) error { return netcode.Send(s, to, &quip{}) }},
		{"reliable ones", func(s *netcode.Server, to netcode.Recipient) error {
			return netcode.Send(s, to, &quip{}, netcode.Over(netcode.ReliableOrdered))
		}},
		{"a third of a packet each", func(s *netcode.Server, to netcode.Recipient) error { return netcode.Send(s, to, &lump{}) }},
		{"larger than a packet", func(s *netcode.Server, to netcode.Recipient) error {
			return netcode.Send(s, to, &saga{}, netcode.Over(netcode.ReliableOrdered))
		}},
	} {
		for _, budget := range sized([]int{3000}, []int{3000, 6000, 12000}) {
			t.Run(fmt.Sprintf("%s, %d bytes a second", c.name, budget), func(t *testing.T) {
				t.Parallel()
				for _, row := range sized([]int{large}, []int{small, large}) {
					shareWithMessages(t, budget, row, c.send)
				}
			})
		}
	}
}

func shareWithMessages(t *testing.T, budget, row int, send func(*netcode.Server, netcode.Recipient) error) {
	p := rivalProtocol()
	came := 0
	netcode.Handle(p, func(_ *netcode.Context, m *quip) { came += 8 })
	netcode.Handle(p, func(_ *netcode.Context, m *lump) { came += 352 })
	netcode.Handle(p, func(_ *netcode.Context, m *saga) { came += 1604 })
	g := newRivals(5, kind{1, 255, small, 1}, kind{300, 1, row, 1})
	n := shortOf(t, g, budget, 0, p)
	alone := g.watch(t, n, sized(300, 900))
	talk := func() {
		for range 40 {
			if send(n.Server.Server, netcode.To(n.Clients[0].ID())) != nil {
				return
			}
		}
	}
	g.each = talk
	n.Run(10 * time.Second)
	start := came
	beside := g.watch(t, n, sized(300, 900))
	share := float64(came-start) / float64(beside.bytes)
	t.Logf("state in %d of %d ticks, at most %d apart; the most important waited %d ticks; %.2f of the updates; messages have %.2f of the bytes",
		beside.sent, beside.ticks, beside.gap, beside.wait[0], beside.updates[1]/alone.updates[1], share)
	require.LessOrEqual(t, beside.gap, 4)
	require.LessOrEqual(t, beside.wait[0], 5)
	require.GreaterOrEqual(t, beside.updates[1], .3*alone.updates[1], "state")
	require.GreaterOrEqual(t, share, .3, "messages")
	require.LessOrEqual(t, beside.bytes, uint64(budget*sized(10, 30)+1200))
	stats, _ := n.Server.ClientStats(n.Clients[0].ID())
	require.Positive(t, stats.Waiting, "messages waited all the while")
}

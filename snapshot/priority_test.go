package snapshot

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arche-netcode/netcode/internal/alloctest"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

func TestSelectTopAgainstSorting(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var all []candidate
		for i, score := range rapid.SliceOfN(rapid.Int64Range(0, 9), 1, 60).Draw(t, "scores") {
			all = append(all, candidate{score: score, index: uint32(i)})
		}
		sorted := slices.Clone(all)
		slices.SortFunc(sorted, func(a, b candidate) int {
			if a.before(b) {
				return -1
			}
			return 1
		})
		n := rapid.IntRange(1, len(all)).Draw(t, "n")
		selectTop(all, n)
		require.ElementsMatch(t, sorted[:n], all[:n])
	})
}

// How much waits for a client, and in which order, is the game's and the network's doing: the time that it takes to choose what goes
// first must not depend on the order. A world that a client has just joined, with one entity of it sent a moment ago, once took a
// tick of half a second for 10 000 entities and of a minute for 100 000.
func TestSelectTopInAnyOrder(t *testing.T) {
	const n = 20000
	orders := map[string]func(i int) int64{
		"all alike":       func(int) int64 { return 100 },
		"one just sent":   func(i int) int64 { return min(int64(i)*100, 100) },
		"some just sent":  func(i int) int64 { return min(int64(i/300)*100, 100) },
		"the last one":    func(i int) int64 { return max(1, int64(i)-n+3) },
		"rising":          func(i int) int64 { return int64(i) },
		"falling":         func(i int) int64 { return int64(n - i) },
		"up and down":     func(i int) int64 { return int64(min(i, n-i)) },
		"down and up":     func(i int) int64 { return int64(max(i, n-i)) },
		"every other one": func(i int) int64 { return int64(i % 2) },
		"teeth":           func(i int) int64 { return int64(i % 127) },
		"one quarter":     func(i int) int64 { return int64(i % (n/4 + 1) * (i % 2)) },
	}
	for name, score := range orders {
		for _, top := range []int{1, 20, n / 2, n - 1} {
			all := make([]candidate, n)
			for i := range all {
				all[i] = candidate{score: score(i), index: uint32(i)}
			}
			sorted := slices.Clone(all)
			slices.SortFunc(sorted, candidate.compare)
			looked := selectTop(all, top)
			require.LessOrEqual(t, looked, 6*n, "%s, the first %d", name, top)
			slices.SortFunc(all[:top], candidate.compare)
			require.Equal(t, sorted[:top], all[:top], "%s, the first %d", name, top)
		}
	}
}

// An order made against the choice of pivots, each of the smallest left to choose from, costs no more than sorting does.
func TestSelectTopSortsWhereItsPivotsAreUnlucky(t *testing.T) {
	const n = 4000
	all := make([]candidate, n)
	place := make([]int, n) // the candidate that lies at a place
	for i := range all {
		all[i].index, place[i] = uint32(i), i
	}
	for from, score := 0, int64(n); n-from > 8; from++ { // the worst three are looked at, and one of them is all that goes
		for _, at := range []int{from + (n-from)/4, (from + n) / 2, n - 1 - (n-from)/4} {
			if all[place[at]].score == 0 {
				all[place[at]].score = score
				score--
			}
		}
		at := from + (n-from)/4
		place[from], place[at] = place[at], place[from]
	}
	sorted := slices.Clone(all)
	slices.SortFunc(sorted, candidate.compare)
	looked := selectTop(all, n-1)
	require.LessOrEqual(t, looked, 9*n)
	slices.SortFunc(all[:n-1], candidate.compare)
	require.Equal(t, sorted[:n-1], all[:n-1])
	require.Greater(t, looked, 6*n, "it was unlucky")
}

// starved is a store of many entities that all move in every tick, and a budget
// for a few of them.
func starved(t *testing.T, n, ticks int, prepare func(*busy), each func(index uint32)) *busy {
	b := newBusy(t, n)
	for !b.view.Synced() {
		b.step(n + 1)
	}
	prepare(b)
	for range ticks {
		b.store.Begin(b.store.Tick() + 1)
		for _, id := range b.ids {
			b.store.Set(id, rowHealth, []uint32{uint32(b.store.Tick()) % 100})
		}
		b.store.Commit()
		b.view.Observe()
		b.view.Plan(100)
		b.seq++
		size := b.view.Write(b.buf[:100], b.seq)
		require.NotZero(t, size)
		require.NoError(t, b.replica.Read(b.buf[:size]))
		b.view.Acked(b.seq)
		for _, index := range b.replica.Changed() {
			each(index)
		}
		b.replica.ClearChanged()
	}
	return b
}

func TestHeavierEntitiesAreSentMoreOften(t *testing.T) {
	count := map[uint32]int{}
	starved(t, 300, 600, func(b *busy) {
		for i, id := range b.ids {
			switch i % 4 {
			case 1:
				require.True(t, b.store.SetPriority(id, 2*NormalWeight))
			case 2:
				b.view.SetWeight(id, 4*NormalWeight)
			case 3:
				b.store.SetPriority(id, NormalWeight/4)
			}
		}
	}, func(index uint32) { count[index]++ })
	var sum [4]float64
	for index, n := range count {
		sum[index%4] += float64(n)
	}
	require.InDelta(t, 2, sum[1]/sum[0], 0.3)
	require.InDelta(t, 4, sum[2]/sum[0], 0.8, "their turn comes each few ticks, and ticks are whole")
	require.InDelta(t, 0.25, sum[3]/sum[0], 0.08)
}

// Case 31: nothing starves. Each of n entities of equal weight is refreshed
// within the time that sending all of them once takes, and a packet.
func TestCase31NothingStarves(t *testing.T) {
	const n = 500
	last, worst, now := map[uint32]int{}, 0, 0
	perTick := 0
	starved(t, n, 800, func(*busy) {}, func(index uint32) {
		if index == 0 || len(last) < n {
			last[index] = now
		}
		now++
		worst = max(worst, now-last[index])
		last[index] = now
	})
	perTick = now / 800
	require.NotZero(t, perTick)
	require.LessOrEqual(t, worst, 2*n, "in records between two of one entity")
	require.Len(t, last, n)
}

func TestPlanIsNotInTheWayOfABudgetThatSuffices(t *testing.T) {
	d := newDuo(t)
	var id wire.NetworkID
	d.game(1, func() { id = d.spawn(3) })
	d.view.Plan(10_000)
	require.False(t, d.view.plan.active)
	d.view.Plan(-1)
	require.False(t, d.view.plan.active)
	d.ack(d.write())
	require.Equal(t, 3, d.x(id))
}

func TestPlanningAllocatesNothingOnceWarm(t *testing.T) {
	b := newBusy(t, 400)
	turn := func() {
		b.store.Begin(b.store.Tick() + 1)
		for _, id := range b.ids {
			b.store.Set(id, rowHealth, []uint32{uint32(b.store.Tick())})
		}
		b.store.Commit()
		b.view.Observe()
		b.view.Plan(300)
		for sent := 0; sent < 300; {
			b.seq++
			n := b.view.Write(b.buf[:200], b.seq)
			if n == 0 {
				break
			}
			sent += n
			b.view.Acked(b.seq)
		}
	}
	for range 200 {
		turn()
	}
	alloctest.Zero(t, 50, turn)
}

// An entity that did not change for long is sent soon when it changes. However many such entities there are, a heavier
// entity waits no longer.
func TestQuietEntitiesDoNotPassHeavierOnes(t *testing.T) {
	const n, quiet = 400, 300
	b := newBusy(t, n)
	for !b.view.Synced() {
		b.step(n + 1)
	}
	b.store.SetPriority(b.ids[n-1], 40*NormalWeight)
	last, worst := b.store.Tick(), tick.Tick(0)
	for i := range 900 {
		b.store.Begin(b.store.Tick() + 1)
		for k, id := range b.ids {
			if k >= quiet || i >= 600 {
				b.store.Set(id, rowHealth, []uint32{uint32(i+k) % 100})
			}
		}
		b.store.Commit()
		b.view.Observe()
		b.view.Plan(100)
		b.seq++
		size := b.view.Write(b.buf[:100], b.seq)
		require.NoError(t, b.replica.Read(b.buf[:size]))
		b.view.Acked(b.seq)
		for _, index := range b.replica.Changed() {
			if index == uint32(n-1) {
				worst, last = max(worst, b.store.Tick()-last), b.store.Tick()
			}
		}
		b.replica.ClearChanged()
	}
	require.LessOrEqual(t, worst, tick.Tick(3), "ticks that it waited")
}

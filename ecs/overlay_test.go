package netecs

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/quantize"
)

// overlaid is a column of rows in a world and in the shadow, and lanes for them among those of other components.
func overlaid(t *testing.T, random *rand.Rand, v any, rows, stride int) (*column, []uint32) {
	plan, err := quantize.Compile(reflect.TypeOf(v), reflect.TypeOf(v).Name())
	require.NoError(t, err)
	c := &column{plan: plan, size: int(plan.Size()), plain: plan.Plain()}
	require.True(t, c.plain)
	c.reserve(rows)
	lanes := make([]uint32, rows*stride)
	for i := range lanes {
		lanes[i] = 0x3F80_0000 + uint32(random.IntN(1000))
	}
	world := &column{size: c.size}
	world.reserve(rows)
	c.base = world.kept(0)
	return c, lanes
}

// TestOverlayIsPut holds what writes many rows together against writing one by one: the world, the shadow, and who had the value. Rows are
// of all lengths and numbers, from any slot on; some have the value already, or their first lanes or their last, and of some the world has something else than the shadow.
func TestOverlayIsPut(t *testing.T) {
	random := rand.New(rand.NewPCG(11, 3))
	for turn := range 4000 {
		v := []any{stretchOne{}, stretchHeat{}, stretchPlace{}, stretchTurn{}, stretchWide{}}[turn%5]
		n, before := 1+random.IntN([]int{4, 40, mostDue}[turn%3]), random.IntN(3)
		seed, stride, rows := random.Uint64(), 6+random.IntN(5), before+n+1
		fast, lanes := overlaid(t, rand.New(rand.NewPCG(seed, 0)), v, rows, stride)
		slow, _ := overlaid(t, rand.New(rand.NewPCG(seed, 0)), v, rows, stride)
		words := fast.plan.Lanes()
		often, strays := 1+random.IntN(60), []int(nil)
		for k := range n {
			row := make([]uint32, words)
			for i := range row {
				row[i] = 0x3F80_0000 + uint32(random.IntN(1000))
			}
			switch what := random.IntN(4 * often); what {
			case 0, 1:
				copy(row, lanes[k*stride:])
			case 2:
				copy(row[:words-1], lanes[k*stride:])
			case 3:
				copy(row[1:], lanes[k*stride+1:])
			}
			stray := random.IntN(often) == 0 && turn%2 == 0
			if stray {
				strays = append(strays, k)
			}
			for _, c := range []*column{fast, slow} {
				c.write(before+k, row)
				c.keepRow(before+k, before+k)
				if stray {
					c.bytes(before+k, before+k+1)[(seed+uint64(k))%uint64(c.size)] ^= 1
				}
			}
		}
		var few []int32
		for k := range n {
			if !slow.put(before+k, lanes[k*stride:][:words]) {
				few = append(few, int32(k))
			}
		}
		a := &Apply{watch: &watch{sparing: true, places: places{byIndex: make([]place, n)}}, twins: make([]twin, n)}
		for k := range a.twins {
			a.watch.byIndex[k].generation = 1
		}
		done := fast.overlayOthers(before, n, lanes, stride, words)
		same := a.overlay(fast, &due{slot: int32(before), n: int32(n)}, done, lanes, stride, words)
		var seen []int
		for k := range a.twins {
			if a.twins[k].restored {
				seen = append(seen, k)
			}
		}
		require.Equal(t, strays, seen, "turn %d: %d words, %d rows", turn, words, n)
		require.Equal(t, len(strays), int(a.stats.Restored))
		require.True(t, slices.Equal(few, a.writing.few[:same]), "turn %d: %d words, %d rows: %v, %v", turn, words, n, few, a.writing.few[:same])
		require.Equal(t, slow.bytes(0, rows), fast.bytes(0, rows), "turn %d: %d words, %d rows", turn, words, n)
		require.Equal(t, slow.shadow, fast.shadow, "turn %d: %d words, %d rows", turn, words, n)
	}
}

// Two kinds of entities have the same components in a client's world, because its game took one away from those of the first kind: their rows lie in
// one table, but not in the same place among what comes of an entity.
func TestLanesOfOneTableLieInTwoWays(t *testing.T) {
	const kind = 40
	s := newStretchServerOf(t, 1, 2*kind)
	fast, slow := newStretchClient(s, false, false), newStretchClient(s, true, false)
	for turn := range 12 {
		s.store.Begin(s.store.Tick() + 1)
		for len(s.ids) < 2*kind {
			s.ids = append(s.ids, s.store.Spawn())
		}
		for k, id := range s.ids {
			for row := k / kind; row < 3; row++ {
				s.set(id, row, 1000)
			}
		}
		s.store.Commit()
		s.view.Observe()
		for s.view.Pending() {
			buf := make([]byte, 900)
			s.seq++
			n := s.view.Write(buf, s.seq)
			require.NoError(t, fast.replica.Read(buf[:n]))
			require.NoError(t, slow.replica.Read(buf[:n]))
		}
		for _, c := range []*stretchClient{fast, slow} {
			if turn == 3 {
				for _, id := range s.ids[:kind] {
					c.mischief(id, 10)
				}
			}
			c.run()
		}
		require.ElementsMatch(t, slow.changes, fast.changes, "turn %d", turn)
		require.Equal(t, Digest(&slow.world, s.schema), Digest(&fast.world, s.schema), "turn %d", turn)
	}
	require.NotZero(t, fast.long)
}

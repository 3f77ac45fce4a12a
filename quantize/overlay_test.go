package quantize

import (
	"encoding/binary"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/internal/alloctest"
)

// overlaid is what Overlay comes to at most: row by row, up to one that differs between the copies or has its new value already.
func overlaid(live, kept []byte, lanes []uint32, stride, words int, order []int32, n int) (done int) {
	for k := range n {
		at := k
		if order != nil {
			at = int(order[k])
		}
		row := make([]byte, 0, 4*words)
		for _, v := range lanes[at*stride:][:words] {
			row = binary.NativeEndian.AppendUint32(row, v)
		}
		to, from := live[4*words*k:][:4*words], kept[4*words*k:][:4*words]
		if !slices.Equal(to, from) || slices.Equal(from, row) {
			return k
		}
		copy(to, row)
		copy(from, row)
	}
	return n
}

// overlayCase is two copies of rows and lanes, with room around each that nobody may touch.
type overlayCase struct {
	words, stride, n int
	live, kept       []byte
	lanes            []uint32
	order            []int32
}

const overlayRoom = 64

func (c *overlayCase) copies() (live, kept []byte) {
	return slices.Clone(c.live), slices.Clone(c.kept)
}

// inner is what lies between the room on both sides.
func inner(b []byte) []byte { return b[overlayRoom : len(b)-overlayRoom : len(b)-overlayRoom] }

func newOverlayCase(random *rand.Rand, words, n int, mixed bool) *overlayCase {
	c := &overlayCase{words: words, stride: words + random.IntN(4), n: n}
	few := 1 + random.Uint32N(3) // of the words of lanes, so that much is the same here and there
	c.lanes = make([]uint32, max(n-1, 0)*c.stride+words)
	for i := range c.lanes {
		c.lanes[i] = random.Uint32N(few)
	}
	c.kept = make([]byte, 4*words*n+2*overlayRoom)
	for i := range c.kept {
		c.kept[i] = byte(1 + random.IntN(255))
	}
	c.live = slices.Clone(c.kept)
	if mixed {
		for _, k := range random.Perm(n) {
			c.order = append(c.order, int32(k))
		}
	}
	return c
}

// hold holds Overlay against what it comes to: a multiple of eight rows, and no more of them left than have one to stop at.
func (c *overlayCase) hold(t *testing.T, p *Plan) {
	t.Helper()
	live, kept := c.copies()
	most := overlaid(inner(live), inner(kept), c.lanes, c.stride, c.words, c.order, c.n)
	n := p.Overlay(inner(c.live), inner(c.kept), c.lanes, c.stride, c.order)
	if p.wide && (c.words == 3 || c.words == 4) {
		require.Equal(t, most&^(overlayRows-1), n, "%d words, %d rows", c.words, c.n)
	} else {
		require.Zero(t, n)
	}
	n += overlaid(inner(c.live)[4*c.words*n:], inner(c.kept)[4*c.words*n:], c.rest(n), c.stride, c.words, c.orders(n), c.n-n)
	require.Equal(t, most, n)
	require.Equal(t, live, c.live, "%d words, %d rows", c.words, c.n)
	require.Equal(t, kept, c.kept, "%d words, %d rows", c.words, c.n)
}

// rest are the lanes of those that are left, orders is the order of them.
func (c *overlayCase) rest(n int) []uint32 {
	if c.order != nil || n == c.n {
		return c.lanes
	}
	return c.lanes[n*c.stride:]
}

func (c *overlayCase) orders(n int) []int32 {
	if c.order == nil {
		return nil
	}
	return c.order[n:]
}

func overlayPlan(t *testing.T, words int) *Plan {
	p, err := Compile(reflect.ArrayOf(words, reflect.TypeFor[float32]()), "row")
	if err != nil {
		p, err = Compile(reflect.StructOf([]reflect.StructField{{Name: "V", Type: reflect.ArrayOf(words, reflect.TypeFor[float32]())}}), "row")
	}
	require.NoError(t, err)
	require.True(t, p.Plain())
	return p
}

// TestOverlayIsRowByRow holds rows that are written several at a time against the same written one by one: of every number of words and of rows, one
// behind the other and in an order, where one differs between the copies or has its value already in each place.
func TestOverlayIsRowByRow(t *testing.T) {
	random := rand.New(rand.NewPCG(21, 1))
	for words := 2; words <= 5; words++ {
		p := overlayPlan(t, words)
		for n := range 34 {
			for _, mixed := range []bool{false, true} {
				newOverlayCase(random, words, n, mixed).hold(t, p)
				for k := range n {
					for w := range words {
						c := newOverlayCase(random, words, n, mixed)
						inner(c.live)[4*(k*words+w)+random.IntN(4)] ^= 1 << random.IntN(8)
						c.hold(t, p)
					}
					for same := range 1 << words { // which words of the row are what they were
						c := newOverlayCase(random, words, n, mixed)
						at := k
						if mixed {
							at = int(c.order[k])
						}
						for w := range words {
							if same>>w&1 != 0 {
								binary.NativeEndian.PutUint32(inner(c.live)[4*(k*words+w):], c.lanes[at*c.stride+w])
								binary.NativeEndian.PutUint32(inner(c.kept)[4*(k*words+w):], c.lanes[at*c.stride+w])
							}
						}
						c.hold(t, p)
					}
				}
			}
		}
	}
}

// TestOverlayStaysWithinTheLanes is about an order that names a row that there is not: nothing from there on is written.
func TestOverlayStaysWithinTheLanes(t *testing.T) {
	random := rand.New(rand.NewPCG(22, 1))
	for _, words := range []int{3, 4} {
		p := overlayPlan(t, words)
		for _, bad := range []int32{32, 33, -1, 1 << 30} {
			for k := range 32 {
				c := newOverlayCase(random, words, 32, true)
				c.order[k] = bad
				n := p.Overlay(inner(c.live), inner(c.kept), c.lanes, c.stride, c.order)
				require.LessOrEqual(t, n, k)
			}
		}
	}
}

// Where there are fewer numbers of an order than rows, only so many rows are gone over, whole eights; where there are fewer lanes, none.
func TestOverlayNeedsItsOrderAndItsLanes(t *testing.T) {
	random := rand.New(rand.NewPCG(22, 3))
	for _, words := range []int{3, 4} {
		p := overlayPlan(t, words)
		for _, length := range []int{0, 7, 8, 20, 31} {
			c := newOverlayCase(random, words, 32, true)
			require.LessOrEqual(t, p.Overlay(inner(c.live), inner(c.kept), c.lanes, c.stride, c.order[:length:length]), length&^(overlayRows-1))
		}
		c := newOverlayCase(random, words, 32, false)
		need := 31*c.stride + words
		for _, length := range []int{0, words, need - 1} {
			kept := slices.Clone(c.live)
			if p.wide {
				require.Panics(t, func() { p.Overlay(inner(c.live), inner(c.kept), c.lanes[:length:length], c.stride, nil) })
			}
			require.Equal(t, kept, c.live)
		}
		require.NotPanics(t, func() { p.Overlay(inner(c.live), inner(c.kept), c.lanes[:need:need], c.stride, nil) })
	}
}

// TestOverlayAllocatesNothing is about both ways.
func TestOverlayAllocatesNothing(t *testing.T) {
	p := overlayPlan(t, 3)
	c := newOverlayCase(rand.New(rand.NewPCG(23, 1)), 3, 32, true)
	alloctest.Zero(t, 10, func() {
		p.Overlay(inner(c.live), inner(c.kept), c.lanes, c.stride, nil)
		p.Overlay(inner(c.live), inner(c.kept), c.lanes, c.stride, c.order)
	})
}

package delta

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arche-netcode/netcode/internal/kernel"
	"github.com/arche-netcode/netcode/internal/plain"
	"github.com/arche-netcode/netcode/quantize"
)

// wideDeltas returns rows that the assembly supports: two to four lanes of every width, and rotations of every width.
func wideDeltas(t *testing.T) (list []*Delta) {
	type (
		largest struct {
			A, B float64 `net:"min=0,max=2147483647,step=1"`
		}
		small struct {
			A, B, C uint8  `net:"extrapolate=linear"`
			D       uint16 `net:"extrapolate=linear"`
		}
		mixed struct {
			A float64 `net:"min=0,max=2147483647,step=1"`
			B float32 `net:"min=0,max=3,step=1"`
			C float64 `net:"min=-1,max=1e6,step=1"`
		}
		four struct {
			A [4]float64 `net:"min=0,max=1073741822,step=1"`
		}
		five struct {
			Q [4]float32 `net:"quat,bits=5"`
		}
		eight struct {
			Q [4]float32 `net:"quat,bits=8"`
		}
		more struct {
			Q [4]float32 `net:"quat,bits=12"`
		}
		most struct {
			Q [4]float32 `net:"quat,bits=15"`
		}
	)
	if !kernel.Wide() {
		t.Skip("not on this processor")
	}
	for _, p := range []*quantize.Plan{
		deltaPlan[largest](t), deltaPlan[small](t), deltaPlan[mixed](t), deltaPlan[four](t), deltaPlan[benchPlace](t), deltaPlan[coarseTurn](t),
		deltaPlan[five](t), deltaPlan[eight](t), deltaPlan[benchTurn](t), deltaPlan[more](t), deltaPlan[most](t), deltaPlan[fineTurn](t),
	} {
		d, err := NewDelta(p, Shipped())
		require.NoError(t, err)
		d.Prepare()
		require.NotZero(t, d.tops, p.Name())
		list = append(list, d)
	}
	return list
}

// drawWide draws a column: lanes are arbitrary, extreme, near the previous version, or equal to it.
func drawWide(t *rapid.T, d *Delta, n int) (c BatchColumn) {
	r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
	far, same := rapid.IntRange(0, 4).Draw(t, "far"), rapid.IntRange(0, 4).Draw(t, "same")
	for i := range c.Now { // unused lanes and rows are undefined
		c.Now[i], c.Base[i], c.Before[i] = r.Uint32(), r.Uint32(), r.Uint32()
		c.Differ[i/groupLanes] = uint8(r.Uint32())
	}
	d.BeginColumn(&c)
	for k := range n {
		var v [3][groupLanes]uint32
		for l := range d.lanes {
			top := d.top(l)
			for i := range v {
				switch how := r.IntN(10); {
				case i > 0 && how < same*2:
					v[i][l] = v[i-1][l]
				case i > 0 && r.IntN(4) >= far:
					v[i][l] = uint32(min(max(int64(v[i-1][l])+int64(r.IntN(80)-40), 0), top))
				case how < 2:
					v[i][l] = uint32([]int64{0, 1, top / 2, top - 1, top}[r.IntN(5)])
				default:
					v[i][l] = uint32(r.Int64N(top + 1))
				}
			}
		}
		if d.class == classTurn && r.IntN(8) > 0 {
			v[1][0], v[2][0] = v[0][0], v[0][0]
		}
		c.Put(k, v[2][:len(d.lanes)], v[1][:len(d.lanes)], v[0][:len(d.lanes)])
	}
	return c
}

// The assembly finds the same tokens as the plain loops: the same distances, contexts and long tokens, and the same
// rows are left for encoding one by one.
func TestWideTokensAreThePlainOnes(t *testing.T) {
	deltas := wideDeltas(t)
	ages := rapid.OneOf(rapid.Just(int64(1)), rapid.Int64Range(1, 70), rapid.SampledFrom([]int64{2, 4095, 4096, widest - 1, widest, widest + 1, 3<<40 - 3, 1<<41 - 1}))
	short, far, odd := 0, 0, 0
	hold := func(t *rapid.T) {
		d, n := rapid.SampledFrom(deltas).Draw(t, "rows"), rapid.IntRange(1, MaxStreams).Draw(t, "bodies")
		c, v := drawWide(t, d, n), quantize.Baselines{Age: ages.Draw(t, "age"), Span: ages.Draw(t, "span")}
		if rapid.IntRange(0, 4).Draw(t, "T' is leaned on") > 0 {
			v.Before = []uint32{0}
		} else {
			c.Before = c.Base
		}
		var got, want Batch
		got.N, want.N = n, n
		for k := range n {
			got.Miss[k] = uint64(rapid.IntRange(0, 2).Draw(t, "miss")) * kernel.ShortTokens
			want.Miss[k] = got.Miss[k]
		}
		d.tokensAt(&got, &c, &v)
		plain := &Delta{plan: d.plan, groups: d.groups, lanes: d.lanes, ready: true, class: d.class, m: d.m, length: d.length}
		plain.tokensAt(&want, &c, &v)
		require.Equal(t, want.Usual[:n], got.Usual[:n])
		require.Equal(t, want.Odd[:n], got.Odd[:n])
		require.Equal(t, want.Miss[:n], got.Miss[:n])
		nothing := uint32(len(d.lanes[1].short) - 2)
		for at := range n * groupLanes {
			k, i := at/groupLanes, at%groupLanes
			if i >= len(d.lanes) || c.Any>>i&1 == 0 || i == 0 && d.class == classTurn {
				continue
			}
			require.Equal(t, want.Token[at], got.Token[at], "of body %d, lane %d", k, i)
			switch token := got.Token[at]; {
			case token > nothing:
				require.Equal(t, want.Far[at], got.Far[at], "of body %d, lane %d", k, i)
				far++
			case token < nothing:
				short++
			}
		}
		for k := range n {
			odd += int(bitOf(got.Odd[k] != 0))
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		for range 20 {
			hold(t)
		}
	})
	if !testing.Short() {
		require.Greater(t, min(short, far), 500)
		require.Greater(t, odd, 20)
	}
}

// Lanes of 32 bits, whose distances have 33 bits, are encoded row by row.
func TestWiderLanesGoRowByRow(t *testing.T) {
	if plain.On {
		t.Skip("a test of row classes, which netcode_plain leaves out")
	}
	type whole struct {
		A, B uint32 `net:"extrapolate=linear"`
	}
	d, err := NewDelta(deltaPlan[whole](t), Shipped())
	require.NoError(t, err)
	d.Prepare()
	require.Equal(t, classLines, d.class)
	require.Zero(t, d.tops)
}

// Retrace rounds as divide does, for every 32-bit movement, clamped to the bounds.
func TestGoOnWideIsDivide(t *testing.T) {
	if !kernel.Wide() {
		t.Skip("not on this processor")
	}
	var to, base, before kernel.Rows
	r, edges := rand.New(rand.NewPCG(5, 1)), []int64{0, 1, 2, 3, 1<<31 - 2, 1<<31 - 1}
	spans := []int64{1, 2, 3, 4, 5, 7, 10, 64, 100, 4095, 4096, widest - 1, widest}
	for _, age := range spans {
		for _, span := range spans {
			for i := range base {
				if base[i], before[i] = uint32(r.Int64N(1<<31)), uint32(r.Int64N(1<<31)); i < len(edges)*len(edges) {
					base[i], before[i] = uint32(edges[i%len(edges)]), uint32(edges[i/len(edges)])
				} else if i < 100 { // quotients in halves, and next to them
					before[i] = uint32(min(max(int64(base[i])+span*(r.Int64N(9)-4)/2+r.Int64N(3)-1, 0), 1<<31-1))
				}
			}
			kernel.Retrace(&to, &base, &before, MaxStreams, float64(age), float64(span/2)+0.5, 1/float64(span))
			for i := range base {
				want := min(max(divide((int64(base[i])-int64(before[i]))*age, span), -math.MaxInt32), math.MaxInt32)
				require.Equal(t, int32(want), int32(base[i]-to[i]), "from %d to %d, %d / %d", before[i], base[i], age, span)
			}
		}
	}
}

// partsAre compares kernel.QuatParts with integer arithmetic for these components and squares.
func partsAre(t *testing.T, s *Batch, c *BatchColumn, m int64) {
	length := root(uint64(2*m*m) << 16)
	kernel.QuatParts(&s.batch, &c.column, &kernel.Quats{M: m, Length: float64(length)})
	for k := range s.N {
		of := root(uint64(s.Aim[3][k]) << 16)
		for i := range 3 {
			to := int64(s.Aim[i][k])
			sign := to >> 63
			q := int64((uint64(to^sign-sign)*length + of/2) / of)
			at := k*groupLanes + i + 1
			if want, got := min(max((q^sign-sign+m+1)>>1, 0), m), int64(2*c.Base[at]-s.Origin[at]); got != want {
				t.Fatalf("%d of a square of %v is %d and not %d, m is %d", to, s.Aim[3][k], got, want, m)
			}
		}
	}
}

// Roots just below an integer are not rounded up to it. The squares are less than 9 below a square, for the largest
// lanes of rotations, with the first component for which an error would show.
func TestRootsOfPartsAreRoundedDown(t *testing.T) {
	if !kernel.Wide() {
		t.Skip("not on this processor")
	}
	const m = 1<<16 - 1
	length := root(2 * m * m << 16)
	s, c, k := Batch{batch: batch{N: MaxStreams}}, BatchColumn{}, 0
	lane := func(a, of uint64) uint64 { return ((a*length+of/2)/of + m + 1) >> 1 }
	for low := range uint64(1 << 16) {
		if t := (low * low) & (1<<16 - 1); t == 0 || t > 8 {
			continue
		}
		for high := uint64(1 << 9); high < 1<<11+1<<10; high += 61 {
			r := high<<16 + low
			square := (r*r - 1) >> 16
			of := root(square << 16)
			if float64(square) > 105*m*m || of == r || math.Floor(math.Sqrt(float64(square))*256) != float64(r) {
				continue
			}
			for a := uint64(0); a*a <= square; a++ {
				if n := lane(a, of); n <= m && n != lane(a, r) {
					s.Aim[0][k], s.Aim[1][k], s.Aim[2][k], s.Aim[3][k] = float64(a), -float64(a), float64(a+1), float64(square)
					k++
					break
				}
			}
			if k == MaxStreams {
				partsAre(t, &s, &c, m)
				return
			}
		}
	}
	t.Fatalf("there are %d such squares", k)
}

// Division by multiplication gives the exact quotient at integers and just below: for all components with the coarsest
// rotations' lengths, and random ones for others.
func TestDivisionsOfPartsAreExact(t *testing.T) {
	if !kernel.Wide() {
		t.Skip("not on this processor")
	}
	r, s, c := rand.New(rand.NewPCG(2, 2)), Batch{batch: batch{N: MaxStreams}}, BatchColumn{}
	for i := range c.Base {
		c.Base[i] = r.Uint32N(16)
	}
	k := 0
	put := func(a, b, e, square, m int64) {
		s.Aim[0][k], s.Aim[1][k], s.Aim[2][k], s.Aim[3][k] = float64(a), float64(b), float64(e), float64(square)
		if k++; k == MaxStreams {
			partsAre(t, &s, &c, m)
			k = 0
		}
	}
	for square := int64(1); square < 105*15*15; square++ {
		for a := int64(0); a*a <= square; a += 2 {
			put(a, -a, a+1, square, 15)
		}
	}
	k = 0
	for bits := 4; bits <= 16; bits++ {
		m := int64(1)<<bits - 1
		for range 4 * MaxStreams * 50 {
			square := 1 + r.Int64N(105*m*m)
			most := int64(math.Sqrt(float64(square)))
			put(r.Int64N(most+1), -r.Int64N(most+1), r.Int64N(2*most+1)-most, square, m)
		}
	}
}

// drawBatch draws streams with some bits each; some are full words, or one bit short.
func drawBatch(t *rapid.T, r *rand.Rand) *Batch {
	s := &Batch{batch: batch{N: rapid.OneOf(rapid.IntRange(1, MaxStreams), rapid.Just(MaxStreams)).Draw(t, "bodies")}}
	for k := range MaxStreams {
		s.Have[k] = []uint64{0, 1, 31, 32, 62, 63, r.Uint64N(64), r.Uint64N(64)}[r.IntN(8)]
		s.Acc[k], s.At[k], s.Usual[k] = r.Uint64()&(1<<s.Have[k]-1), k*kernel.StreamBytes+8*r.IntN(8), uint8(r.IntN(16))
	}
	for i := range s.Bytes {
		s.Bytes[i] = uint8(r.Uint32())
	}
	return s
}

// Begin refuses too many streams, and a table with too few contexts.
func TestBatchBeginsWithinItsTable(t *testing.T) {
	which, err := Shipped().Find("rows.1", 2, WhichContexts(1))
	require.NoError(t, err)
	columns := make([]BatchColumn, 1)
	var s Batch
	v := quantize.Baselines{Age: 20, Span: 1}
	require.NotPanics(t, func() { s.Begin(MaxStreams, which, columns, &v) })
	require.Panics(t, func() { s.Begin(MaxStreams+1, which, columns, &v) })
	short, err := NewTable("short", [][]uint8{{1, 1}})
	require.NoError(t, err)
	require.Panics(t, func() { s.Begin(8, short, columns, &v) })
}

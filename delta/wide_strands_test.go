package delta

import (
	"github.com/arche-netcode/netcode/quantize"

	"math/rand/v2"
	"testing"

	"github.com/arche-netcode/netcode/internal/kernel"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// drawStrands are strands with some bits each, among them as many as fill a word, or all but one.
func drawStrands(t *rapid.T, r *rand.Rand) *Strands {
	s := &Strands{batch: batch{N: rapid.OneOf(rapid.IntRange(1, MaxStrands), rapid.Just(MaxStrands)).Draw(t, "bodies")}}
	for k := range MaxStrands {
		s.Have[k] = []uint64{0, 1, 31, 32, 62, 63, r.Uint64N(64), r.Uint64N(64)}[r.IntN(8)]
		s.Acc[k], s.At[k], s.Usual[k] = r.Uint64()&(1<<s.Have[k]-1), k*kernel.StreamBytes+8*r.IntN(8), uint8(r.IntN(16))
	}
	for i := range s.Bytes {
		s.Bytes[i] = uint8(r.Uint32())
	}
	return s
}

// drawTokens is a column of which lanes differ and where their tokens are: any short one, or one that is none, or of a code that nobody asked for.
func drawTokens(t *rapid.T, r *rand.Rand, d *Delta, s *Strands, c *Column) {
	lanes, long, forget := len(d.lanes), rapid.IntRange(0, 20).Draw(t, "far"), rapid.IntRange(0, 20).Draw(t, "not asked for")
	near := rapid.SampledFrom([]int{1, 3, 40, kernel.ShortTokens}).Draw(t, "near")
	for at := range s.Token { // of lanes that differ in no row
		s.Token[at] = r.Uint32()
	}
	d.BeginColumn(c)
	for k := range s.N {
		usual := uint8(r.IntN(1 << lanes))
		if d.row == rowTurn {
			usual &^= 1
		}
		c.Differ[k] = usual | uint8(r.IntN(1<<lanes))<<groupLanes
		if c.Any |= usual; r.IntN(8) == 0 {
			usual = 0 // it goes its own way
		}
		s.Usual[k] = usual
	}
	for k := range s.N {
		for i := range lanes {
			l := &d.lanes[i]
			if l.short == nil || c.Any>>i&1 == 0 {
				continue
			}
			at, nothing := k*groupLanes+i, len(l.short)-2
			token, context := nothing, uint64(r.IntN(nothing/kernel.ShortTokens))
			if s.Usual[k]>>i&1 != 0 {
				if token = int(context)*kernel.ShortTokens + r.IntN(near); r.IntN(60) < long {
					token, s.Far[at] = nothing+1, kernel.LongToken{Distance: kernel.ShortTokens + r.Uint64N(1<<20), Context: context}
				}
			}
			if s.Token[at] = uint32(token); token < nothing {
				if l.long(uint64(token%kernel.ShortTokens), int(context)); r.IntN(60) < forget {
					l.short[token].Store(0)
				}
			}
		}
	}
}

// What is written several rows at a time is what is written row by row, whatever their tokens; what is left out is what is not known yet, is none of the short
// ones, or is too long, and nothing of that row is written.
func TestRowsTogetherAreWrittenAsOneByOne(t *testing.T) {
	if !kernel.Wide() {
		t.Skip("this processor writes one by one")
	}
	deltas, written, unknown, long, full := strandDeltas(t, true), 0, 0, 0, 0
	rapid.Check(t, func(t *rapid.T) {
		d := rapid.SampledFrom(deltas).Filter(func(d *Delta) bool { return d.wide && d.ready && d.row != rowOther }).Draw(t, "rows")
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		s, c := drawStrands(t, r), new(Column)
		drawTokens(t, r, d, s, c)
		v := quantize.Versions{Age: rapid.Int64Range(1, 20).Draw(t, "age"), Span: 1}
		lanes, class := len(d.lanes), AgeClass(v.Age)
		context, known := class*(1<<lanes+1)+1<<lanes, 0
		if rapid.Bool().Draw(t, "T' is leaned on") {
			v.Before, context, known = []uint32{}, context-1<<lanes, 1<<lanes-1
		}
		if rapid.Bool().Draw(t, "which was asked for") {
			for k := range s.N {
				d.groups[0].table.unfold(context+int(c.Moved(k))&known, 0)
			}
		}
		some, got, want := *s, *s, *s
		left := d.writeWide(&some, c, context, known)
		d.tokensOf(&got, c, &v)
		d.tokensOfRows(&want, c, 0, s.N, context, known)
		require.Equal(t, want.Acc, got.Acc)
		require.Equal(t, want.Have, got.Have)
		require.Equal(t, want.At, got.At)
		require.Equal(t, want.Bytes, got.Bytes)
		for k := range MaxStrands {
			size := (want.At[k]-s.At[k])*8 + int(want.Have[k]) - int(s.Have[k])
			switch {
			case left>>k&1 != 0:
				require.NotZero(t, want.Usual[k])
				require.Equal(t, []uint64{s.Acc[k], s.Have[k], uint64(s.At[k])}, []uint64{some.Acc[k], some.Have[k], uint64(some.At[k])}, "body %d", k)
				if unknown++; size > 64 {
					long++
				}
			case k < s.N && s.Usual[k] != 0:
				require.Equal(t, []uint64{want.Acc[k], want.Have[k], uint64(want.At[k])}, []uint64{some.Acc[k], some.Have[k], uint64(some.At[k])}, "body %d", k)
				if written++; want.At[k] > s.At[k] {
					full++
				}
			}
		}
	})
	if !testing.Short() {
		require.Greater(t, min(written/10, unknown/10, long, full/10), 5, "%d rows written, %d left, %d too long, %d words full", written, unknown, long, full)
	}
}

// More bodies than go side by side, or a table that has not all contexts, are no way to begin: nothing beyond either is touched.
func TestStrandsBeginWithinTheirTable(t *testing.T) {
	which, err := Shipped().Find("rows.1", 2, WhichContexts(1))
	require.NoError(t, err)
	for _, wide := range []bool{false, kernel.Wide()} {
		columns := make([]Column, 1)
		columns[0].Wide = wide
		var s Strands
		v := quantize.Versions{Age: 20, Span: 1}
		require.NotPanics(t, func() { s.Begin(MaxStrands, which, columns, &v) })
		require.Panics(t, func() { s.Begin(MaxStrands+1, which, columns, &v) })
		short, err := NewTable("short", [][]uint8{{1, 1}})
		require.NoError(t, err)
		require.Panics(t, func() { s.Begin(8, short, columns, &v) })
	}
}

// The symbols that strands begin with are the same eight at a time as one by one.
func TestStrandsBeginTogetherAsOneByOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, rows := rapid.IntRange(1, MaxStrands).Draw(t, "bodies"), rapid.IntRange(1, MaxStrandRows).Draw(t, "rows")
		which, err := Shipped().Find([]string{"rows.1", "rows.2", "rows.3", "rows.4"}[rows-1], 1<<rows, WhichContexts(rows))
		require.NoError(t, err)
		v := quantize.Versions{Age: rapid.Int64Range(1, 20).Draw(t, "age"), Span: 1}
		if rapid.Bool().Draw(t, "T' is leaned on") {
			v.Before = []uint32{}
		}
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		plain, several := make([]Column, rows), make([]Column, rows)
		one := rapid.Bool().Draw(t, "all alike") // so that of some contexts nothing is asked
		for i := range plain {
			for k := range MaxStrands {
				if plain[i].Differ[k] = uint8(r.Uint32()); one {
					plain[i].Differ[k] &= uint8(i) * 0x33
				}
			}
			several[i] = plain[i]
			several[i].Wide = kernel.Wide()
		}
		s, want := drawStrands(t, r), drawStrands(t, r)
		s.N, want.N = n, n
		if rapid.Bool().Draw(t, "asked for") {
			want.Begin(n, which, plain, &v)
		}
		s.Begin(n, which, several, &v)
		want.Begin(n, which, plain, &v)
		require.Equal(t, want.N, s.N)
		require.Equal(t, want.Acc[:n], s.Acc[:n])
		require.Equal(t, want.Have[:n], s.Have[:n])
		require.Equal(t, want.At[:n], s.At[:n])
		require.Equal(t, want.Miss[:n], s.Miss[:n])
		require.Equal(t, want.Differ[:n], s.Differ[:n])
	})
}

package wire

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// drawStrands are strands with some bits each, among them as many as fill a word, or all but one.
func drawStrands(t *rapid.T, r *rand.Rand) *Strands {
	s := &Strands{n: rapid.OneOf(rapid.IntRange(1, MaxStrands), rapid.Just(MaxStrands)).Draw(t, "bodies")}
	for k := range MaxStrands {
		s.have[k] = []uint64{0, 1, 31, 32, 62, 63, r.Uint64N(64), r.Uint64N(64)}[r.IntN(8)]
		s.acc[k], s.at[k], s.usual[k] = r.Uint64()&(1<<s.have[k]-1), k*strandBytes+8*r.IntN(8), uint8(r.IntN(16))
	}
	for i := range s.bits {
		s.bits[i] = uint8(r.Uint32())
	}
	return s
}

// drawTokens is a column of which lanes differ and where their tokens are: any short one, or one that is none, or of a code that nobody asked for.
func drawTokens(t *rapid.T, r *rand.Rand, d *Delta, s *Strands, c *Column) {
	lanes, long, forget := len(d.lanes), rapid.IntRange(0, 20).Draw(t, "far"), rapid.IntRange(0, 20).Draw(t, "not asked for")
	near := rapid.SampledFrom([]int{1, 3, 40, shortTokens}).Draw(t, "near")
	for at := range s.token { // of lanes that differ in no row
		s.token[at] = r.Uint32()
	}
	c.Begin(d)
	for k := range s.n {
		usual := uint8(r.IntN(1 << lanes))
		if d.row == rowTurn {
			usual &^= 1
		}
		c.differ[k] = usual | uint8(r.IntN(1<<lanes))<<groupLanes
		if c.any |= usual; r.IntN(8) == 0 {
			usual = 0 // it goes its own way
		}
		s.usual[k] = usual
	}
	for k := range s.n {
		for i := range lanes {
			l := &d.lanes[i]
			if l.short == nil || c.any>>i&1 == 0 {
				continue
			}
			at, nothing := k*groupLanes+i, len(l.short)-2
			token, context := nothing, uint64(r.IntN(nothing/shortTokens))
			if s.usual[k]>>i&1 != 0 {
				if token = int(context)*shortTokens + r.IntN(near); r.IntN(60) < long {
					token, s.far[at] = nothing+1, farToken{shortTokens + r.Uint64N(1<<20), context}
				}
			}
			if s.token[at] = uint32(token); token < nothing {
				if l.long(uint64(token%shortTokens), int(context)); r.IntN(60) < forget {
					l.short[token].Store(0)
				}
			}
		}
	}
}

// What is written several rows at a time is what is written row by row, whatever their tokens; what is left out is what is not known yet, is none of the short
// ones, or is too long, and nothing of that row is written.
func TestRowsTogetherAreWrittenAsOneByOne(t *testing.T) {
	if !wide() {
		t.Skip("this processor writes one by one")
	}
	deltas, written, unknown, long, full := strandDeltas(t, true), 0, 0, 0, 0
	rapid.Check(t, func(t *rapid.T) {
		d := rapid.SampledFrom(deltas).Filter(func(d *Delta) bool { return d.wide && d.ready && d.row != rowOther }).Draw(t, "rows")
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		s, c := drawStrands(t, r), new(Column)
		drawTokens(t, r, d, s, c)
		v := Versions{Age: rapid.Int64Range(1, 20).Draw(t, "age"), Span: 1}
		lanes, class := len(d.lanes), AgeClass(v.Age)
		context, known := class*(1<<lanes+1)+1<<lanes, 0
		if rapid.Bool().Draw(t, "T' is leaned on") {
			v.Before, context, known = []uint32{}, context-1<<lanes, 1<<lanes-1
		}
		if rapid.Bool().Draw(t, "which was asked for") {
			for k := range s.n {
				d.groups[0].table.unfold(context+int(c.moved(k))&known, 0)
			}
		}
		some, got, want := *s, *s, *s
		left := d.writeWide(&some, c, context, known)
		d.tokensOf(&got, c, &v)
		d.tokensOfRows(&want, c, 0, s.n, context, known)
		require.Equal(t, want.acc, got.acc)
		require.Equal(t, want.have, got.have)
		require.Equal(t, want.at, got.at)
		require.Equal(t, want.bits, got.bits)
		for k := range MaxStrands {
			size := (want.at[k]-s.at[k])*8 + int(want.have[k]) - int(s.have[k])
			switch {
			case left>>k&1 != 0:
				require.NotZero(t, want.usual[k])
				require.Equal(t, []uint64{s.acc[k], s.have[k], uint64(s.at[k])}, []uint64{some.acc[k], some.have[k], uint64(some.at[k])}, "body %d", k)
				if unknown++; size > 64 {
					long++
				}
			case k < s.n && s.usual[k] != 0:
				require.Equal(t, []uint64{want.acc[k], want.have[k], uint64(want.at[k])}, []uint64{some.acc[k], some.have[k], uint64(some.at[k])}, "body %d", k)
				if written++; want.at[k] > s.at[k] {
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
	for _, wide := range []bool{false, wide()} {
		columns := make([]Column, 1)
		columns[0].wide = wide
		var s Strands
		v := Versions{Age: 20, Span: 1}
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
		v := Versions{Age: rapid.Int64Range(1, 20).Draw(t, "age"), Span: 1}
		if rapid.Bool().Draw(t, "T' is leaned on") {
			v.Before = []uint32{}
		}
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		plain, several := make([]Column, rows), make([]Column, rows)
		one := rapid.Bool().Draw(t, "all alike") // so that of some contexts nothing is asked
		for i := range plain {
			for k := range MaxStrands {
				if plain[i].differ[k] = uint8(r.Uint32()); one {
					plain[i].differ[k] &= uint8(i) * 0x33
				}
			}
			several[i] = plain[i]
			several[i].wide = wide()
		}
		s, want := drawStrands(t, r), drawStrands(t, r)
		s.n, want.n = n, n
		if rapid.Bool().Draw(t, "asked for") {
			want.Begin(n, which, plain, &v)
		}
		s.Begin(n, which, several, &v)
		want.Begin(n, which, plain, &v)
		require.Equal(t, want.n, s.n)
		require.Equal(t, want.acc[:n], s.acc[:n])
		require.Equal(t, want.have[:n], s.have[:n])
		require.Equal(t, want.at[:n], s.at[:n])
		require.Equal(t, want.miss[:n], s.miss[:n])
		require.Equal(t, want.differ[:n], s.differ[:n])
	})
}

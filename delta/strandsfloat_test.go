package delta

import (
	"github.com/arche-netcode/netcode/quantize"

	"github.com/arche-netcode/netcode/wire"

	"math"
	"math/rand/v2"
	"testing"

	"github.com/arche-netcode/netcode/internal/kernel"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

type (
	float1 struct{ X float32 }
	float2 struct{ X, Y float32 }
	float3 struct{ X, Y, Z float32 }
	float4 struct{ Q [4]float32 }
)

// floatDeltas is rows of nothing but floats of one lane to four.
func floatDeltas(t testing.TB) (list []*Delta) {
	for _, p := range []*quantize.Plan{deltaPlan[float1](t), deltaPlan[float2](t), deltaPlan[float3](t), deltaPlan[float4](t)} {
		d, err := NewDelta(p, Shipped())
		require.NoError(t, err)
		d.Prepare()
		require.True(t, d.floats && d.ready, p.Name())
		list = append(list, d)
	}
	return list
}

// edgeFloats is the bits of floats at some edge: the zeros, the smallest and largest of both kinds, infinities and NaNs.
func edgeFloats() []uint32 {
	edges := []uint32{0, 1, 2, 0x7FFFFF, 0x800000, 0x7F7FFFFF, 0x7F800000, 0x7F800001, 0x7FC00000, 0x7FFFFFFF, math.Float32bits(1)}
	for _, v := range edges {
		edges = append(edges, v|1<<31)
	}
	return edges
}

// drawFloat is the bits of a float: at an edge, near another, the same, or any.
func drawFloat(r *rand.Rand, near uint32) uint32 {
	switch edges := edgeFloats(); r.IntN(8) {
	case 0:
		return edges[r.IntN(len(edges))]
	case 1:
		return near
	case 2:
		return r.Uint32()
	case 3:
		return near ^ 1<<31
	case 4:
		return near + uint32(r.IntN(9)) - 4
	}
	return math.Float32bits(math.Float32frombits(near) + float32(r.NormFloat64()))
}

// Columns of floats are coded, bit by bit, as they are row by row: plainly, and several lanes at a time where the processor can.
func TestFloatColumnsAreWhatRowByRowComesTo(t *testing.T) {
	deltas := floatDeltas(t)
	rapid.Check(t, func(t *rapid.T) {
		d, n := rapid.SampledFrom(deltas).Draw(t, "rows"), rapid.IntRange(1, MaxStrands).Draw(t, "bodies")
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		v := quantize.Versions{Age: int64(1 + r.IntN(20)), Span: int64(1 + r.IntN(20))}
		if r.IntN(4) == 0 {
			v.Age, v.Span = 1, 1
		}
		known, lanes := r.IntN(4) > 0, len(d.lanes)
		which, err := Shipped().Find("rows.1", 2, WhichContexts(1))
		require.NoError(t, err)
		columns, rows := make([]Column, 1), make([][3][]uint32, n)
		d.BeginColumn(&columns[0])
		for k := range rows {
			rows[k] = [3][]uint32{make([]uint32, lanes), make([]uint32, lanes), make([]uint32, lanes)}
			for i := range lanes {
				last := math.Float32bits(float32(1000 * r.NormFloat64()))
				for _, version := range rows[k] {
					last = drawFloat(r, last)
					version[i] = last
				}
			}
			before := rows[k][0]
			if !known {
				before = rows[k][1]
			}
			columns[0].Put(k, rows[k][2], rows[k][1], before)
		}
		if known {
			v.Before = rows[0][0]
		}
		for _, wide := range []bool{false, d.wide} {
			code, s := *d.clone(), new(Strands)
			code.wide = wide
			s.Begin(n, which, columns, &v)
			code.CodeColumn(s, &columns[0], &v)
			for k := range rows {
				var got, want Words
				apart(&want, []*Delta{d}, which, [][3][]uint32{rows[k]}, v, known)
				require.Equal(t, want.Bits(), s.Bits(k), "of body %d, several at a time: %v", k, wide)
				want.Finish()
				got.Strand(s, k)
				require.Equal(t, want.All(), got.All(), "of body %d, several at a time: %v", k, wide)
			}
		}
	})
}

// clone is a code of the same rows, with the same tables.
func (d *Delta) clone() *Delta {
	return &Delta{plan: d.plan, groups: d.groups, lanes: d.lanes, floats: d.floats, ready: d.ready, wide: d.wide, row: d.row}
}

// Whatever finite floats were sent are read again, bit by bit: the negative zero and denormal numbers too.
func TestFloatsAreReadToTheBit(t *testing.T) {
	deltas := floatDeltas(t)
	rapid.Check(t, func(t *rapid.T) {
		d := rapid.SampledFrom(deltas).Draw(t, "rows")
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		var rows [3][]uint32
		last := math.Float32bits(float32(1000 * r.NormFloat64()))
		for i := range rows {
			rows[i] = make([]uint32, len(d.lanes))
			for k := range rows[i] {
				for last = drawFloat(r, last); !finiteLane(last); {
					last = drawFloat(r, 0)
				}
				rows[i][k] = last
			}
		}
		v := quantize.Versions{Base: rows[1], Before: rows[0], Age: int64(1 + r.IntN(20)), Span: int64(1 + r.IntN(20))}
		if r.IntN(4) == 0 {
			v.Before = nil
		}
		of := v
		changed, moved := d.Compare(rows[2], &of)
		if changed == 0 {
			return
		}
		var w Words
		d.Code(&w, rows[2], &of, changed, moved)
		size := w.Bits()
		w.Finish()
		buf := make([]byte, 200)
		b := wire.NewBitWriter(buf)
		b.Words(w.All(), size)
		buf = buf[:b.Finish()]
		in, got := wire.NewBitReader(buf), make([]uint32, len(d.lanes))
		of = v
		require.True(t, d.Read(&in, got, &of))
		require.True(t, in.Done())
		require.Equal(t, rows[2], got)
	})
}

// BenchmarkFloats is coding a column of 32 rows of four floats that turn.
func BenchmarkFloats(b *testing.B) {
	d := floatDeltas(b)[3]
	c := new(Column)
	d.BeginColumn(c)
	r := rand.New(rand.NewPCG(1, 1))
	for k := range MaxStrands {
		var rows [3][groupLanes]uint32
		for i := range groupLanes {
			at, turn := r.Float64()*6, 0.01+0.02*r.Float64()
			for n := range rows {
				rows[n][i] = math.Float32bits(float32(math.Sin(at + float64(n)*turn)))
			}
		}
		c.Put(k, rows[2][:], rows[1][:], rows[0][:])
	}
	for _, wide := range []bool{false, d.wide} {
		name := map[bool]string{false: "plain", true: "wide"}[wide]
		b.Run(name, func(b *testing.B) {
			d.wide = wide
			s, v := new(Strands), quantize.Versions{Before: make([]uint32, 4), Age: 1, Span: 1}
			s.N = MaxStrands
			for range b.N {
				for k := range MaxStrands {
					s.Acc[k], s.Have[k], s.At[k], s.Miss[k] = 0, 0, k*kernel.StreamBytes, 0
				}
				d.CodeColumn(s, c, &v)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*MaxStrands*groupLanes), "ns/float")
		})
	}
}

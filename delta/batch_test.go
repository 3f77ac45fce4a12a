package delta

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arche-netcode/netcode/internal/alloctest"
	"github.com/arche-netcode/netcode/internal/plain"
	"github.com/arche-netcode/netcode/internal/rowtest"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/wire"
)

// drawThree draws three versions of a row: each arbitrary, near the previous one, or equal to it.
func drawThree(t *rapid.T, d *Delta) (rows [3][]uint32) {
	if d.class == classTurn {
		return drawTurns(t, d.m)
	}
	for i := range rows {
		rows[i] = make([]uint32, len(d.lanes))
		for k := range d.lanes {
			top := uint32(d.top(k))
			switch how := rapid.IntRange(0, 3).Draw(t, "how"); {
			case i == 0 || how == 0:
				rows[i][k] = rapid.Uint32Range(0, top).Draw(t, "lane")
			case how == 1:
				rows[i][k] = uint32(min(max(int64(rows[i-1][k])+rapid.Int64Range(-200, 200).Draw(t, "step"), 0), int64(top)))
			default:
				rows[i][k] = rows[i-1][k]
			}
		}
	}
	return rows
}

// batchDeltas returns rows of every class that a batch supports; the assembly handles some of them.
func batchDeltas(t testing.TB, wide bool) (list []*Delta) {
	for _, p := range append(codedPlans(t), deltaPlan[coarseTurn](t), deltaPlan[fineTurn](t)) {
		if p.Lanes() <= MaxStreamLanes {
			d, err := NewDelta(p, Shipped())
			require.NoError(t, err)
			d.Prepare()
			d.wide = d.wide && wide
			list = append(list, d)
		}
	}
	require.GreaterOrEqual(t, len(list), 6)
	return list
}

// A batch gives, bit for bit, the deltas that are encoded row by row.
func TestBatchEqualsRowByRow(t *testing.T) {
	ahead, cases := 0, 0
	rapid.Check(t, batches(t, &ahead, &cases))
	if !testing.Short() { // short runs have too few cases
		require.Greater(t, ahead, 2*cases, "rows that did not go their own way")
	}
}

// FuzzBatch is TestBatchEqualsRowByRow for a fuzzer.
func FuzzBatch(f *testing.F) { rowtest.Fuzz(f, rapid.MakeFuzz(batches(f, new(int), new(int)))) }

func batches(t testing.TB, ahead, cases *int) func(*rapid.T) {
	plain, several, s := batchDeltas(t, false), batchDeltas(t, true), new(Batch)
	return func(t *rapid.T) {
		*cases++
		n := rapid.IntRange(1, MaxStreams).Draw(t, "bodies")
		deltas := rapid.SampledFrom([][]*Delta{plain, several}).Draw(t, "how")
		of := rapid.SliceOfN(rapid.SampledFrom(deltas), 1, MaxStreamRows).Draw(t, "rows")
		which, err := Shipped().Find([]string{"rows.1", "rows.2", "rows.3", "rows.4"}[len(of)-1], 1<<len(of), WhichContexts(len(of)))
		require.NoError(t, err)
		v := quantize.Baselines{Age: rapid.Int64Range(1, 70).Draw(t, "age"), Span: rapid.Int64Range(1, 70).Draw(t, "span")}
		if rapid.Bool().Draw(t, "a tick each") {
			v.Age, v.Span = 1, 1
		}
		known := rapid.IntRange(0, 3).Draw(t, "T' is leaned on") > 0
		columns, rows := make([]BatchColumn, len(of)), make([][][3][]uint32, n)
		for i, d := range of {
			d.BeginColumn(&columns[i])
		}
		for k := range rows {
			for i, d := range of {
				r := drawThree(t, d)
				rows[k] = append(rows[k], r)
				before := r[0]
				if !known {
					before = r[1]
				}
				columns[i].Put(k, r[2], r[1], before)
			}
		}
		if known {
			v.Before = rows[0][0][0]
		}
		s.Begin(n, which, columns, &v)
		for i, d := range of {
			d.CodeColumn(s, &columns[i], &v)
			for k := range n {
				if columns[i].Changed(k) != 0 && s.Odd[k] == 0 {
					*ahead++
				}
			}
		}
		var got BitBuffer
		for k := range rows {
			var want BitBuffer
			apart(&want, of, which, rows[k], v, known)
			require.Equal(t, want.Bits(), s.Bits(k), "of body %d", k)
			want.Finish()
			from := len(got.All())
			first, all := s.Word(k)
			require.Equal(t, want.All()[0], first)
			require.Equal(t, s.Bits(k) < 64, all)
			got.AppendStream(s, k)
			require.Equal(t, want.All(), got.All()[from:], "of body %d", k)
		}
	}
}

// apart encodes a delta row by row.
func apart(w *BitBuffer, of []*Delta, which *Table, rows [][3][]uint32, v quantize.Baselines, known bool) {
	differ, moves := uint(0), uint(0)
	lean := func(i int) {
		if v.Base, v.Before = rows[i][1], nil; known {
			v.Before = rows[i][0]
		}
	}
	for i := range of {
		differ |= uint(bitOf(!slices.Equal(rows[i][2], rows[i][1]))) << i
		moves |= uint(bitOf(known && !slices.Equal(rows[i][1], rows[i][0]))) << i
	}
	w.Symbol(which, WhichContext(len(of), moves, known, v.Age, v.Span), int(differ))
	for i, d := range of {
		if lean(i); differ>>i&1 != 0 {
			d.Code(w, rows[i][2], &v)
		}
	}
}

type (
	float1 struct{ X float32 }
	float2 struct{ X, Y float32 }
	float3 struct{ X, Y, Z float32 }
	float4 struct{ Q [4]float32 }
)

// floatDeltas returns float rows of one to four lanes.
func floatDeltas(t testing.TB) (list []*Delta) {
	for _, p := range []*quantize.Plan{deltaPlan[float1](t), deltaPlan[float2](t), deltaPlan[float3](t), deltaPlan[float4](t), deltaPlan[readerSpin](t)} {
		d, err := NewDelta(p, Shipped())
		require.NoError(t, err)
		d.Prepare()
		require.True(t, d.floats && d.ready, p.Name())
		list = append(list, d)
	}
	return list
}

// edgeFloats returns special floats: zeros, smallest and largest normal and subnormal numbers, infinities and NaNs.
func edgeFloats() []uint32 {
	edges := []uint32{0, 1, 2, 0x7FFFFF, 0x800000, 0x7F7FFFFF, 0x7F800000, 0x7F800001, 0x7FC00000, 0x7FFFFFFF, math.Float32bits(1)}
	for _, v := range edges {
		edges = append(edges, v|1<<31)
	}
	return edges
}

// drawFloat draws a float: special, near another, equal, or any.
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

// Columns of floats give, bit for bit, the encoding row by row: in plain Go and in assembly.
func TestFloatColumnsEqualRowByRow(t *testing.T) { rapid.Check(t, floatColumns(t)) }

// FuzzFloatColumns is TestFloatColumnsEqualRowByRow for a fuzzer.
func FuzzFloatColumns(f *testing.F) { rowtest.Fuzz(f, rapid.MakeFuzz(floatColumns(f))) }

func floatColumns(t testing.TB) func(*rapid.T) {
	if plain.On {
		t.Skip("a test of row classes, which netcode_plain leaves out")
	}
	deltas := floatDeltas(t)
	return func(t *rapid.T) {
		of, n := rapid.SliceOfN(rapid.SampledFrom(deltas), 1, MaxStreamRows).Draw(t, "rows"), rapid.IntRange(1, MaxStreams).Draw(t, "bodies")
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		v := quantize.Baselines{Age: int64(1 + r.IntN(20)), Span: int64(1 + r.IntN(20))}
		if r.IntN(4) == 0 {
			v.Age, v.Span = 1, 1
		}
		known := r.IntN(4) > 0
		which, err := Shipped().Find("rows."+strconv.Itoa(len(of)), 1<<len(of), WhichContexts(len(of)))
		require.NoError(t, err)
		columns, rows := make([]BatchColumn, len(of)), make([][][3][]uint32, n)
		for i, d := range of {
			d.BeginColumn(&columns[i])
			for k := range rows {
				rows[k] = append(rows[k], drawFloats(r, len(d.lanes)))
				before := rows[k][i][0]
				if !known {
					before = rows[k][i][1]
				}
				columns[i].Put(k, rows[k][i][2], rows[k][i][1], before)
			}
		}
		if known {
			v.Before = rows[0][0][0]
		}
		for _, wide := range []bool{false, of[0].wide} {
			var bodies BitBuffer
			s, codes := new(Batch), make([]*Delta, len(of))
			s.Begin(n, which, columns, &v)
			for i, d := range of {
				codes[i], columns[i].Wide = d.clone(), wide
				codes[i].wide = wide
				codes[i].CodeColumn(s, &columns[i], &v)
			}
			s.BeginFloats(n, which, codes, columns, &v)
			for k := range rows {
				var got, want, body BitBuffer
				apart(&want, of, which, rows[k], v, known)
				require.Equal(t, want.Bits(), s.Bits(k), "of body %d, several at a time: %v", k, wide)
				from := bodies.Bits()
				differ := bodies.AppendFloats(s, k, columns)
				require.Equal(t, []int{want.Bits(), s.Rows(k)}, []int{bodies.Bits() - from, differ}, "of body %d, several at a time: %v", k, wide)
				want.Finish()
				got.AppendStream(s, k)
				require.Equal(t, want.All(), got.All(), "of body %d, several at a time: %v", k, wide)
				body.AppendFloats(s, k, columns)
				body.Finish()
				require.Equal(t, want.All(), body.All(), "of body %d, several at a time: %v", k, wide)
			}
			all := bodies
			all.Finish()
			r := wire.NewBitReader(bytesOf(all.All()))
			for k := range rows {
				var want BitBuffer
				apart(&want, of, which, rows[k], v, known)
				size := want.Bits()
				want.Finish()
				for _, word := range want.All() {
					require.Equal(t, word, r.Read(uint(min(size, 64))), "of body %d behind the others, several at a time: %v", k, wide)
					size -= 64
				}
			}
		}
	}
}

// drawFloats draws three versions of a row of floats.
func drawFloats(r *rand.Rand, lanes int) (row [3][]uint32) {
	for range lanes {
		last := math.Float32bits(float32(1000 * r.NormFloat64()))
		for k := range row {
			last = drawFloat(r, last)
			row[k] = append(row[k], last)
		}
	}
	return row
}

// bytesOf returns words as bytes in wire order.
func bytesOf(words []uint64) (b []byte) {
	for _, w := range words {
		b = binary.LittleEndian.AppendUint64(b, w)
	}
	return b
}

// clone returns a Delta of the same rows and tables.
func (d *Delta) clone() *Delta {
	return &Delta{plan: d.plan, groups: d.groups, lanes: d.lanes, floats: d.floats, spins: d.spins, ready: d.ready, wide: d.wide, class: d.class}
}

// All finite floats are decoded bit by bit: the negative zero and subnormal numbers too.
func TestFloatsAreReadToTheBit(t *testing.T) {
	if plain.On {
		t.Skip("a test of row classes, which netcode_plain leaves out")
	}
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
		v := quantize.Baselines{Base: rows[1], Before: rows[0], Age: int64(1 + r.IntN(20)), Span: int64(1 + r.IntN(20))}
		if r.IntN(4) == 0 {
			v.Before = nil
		}
		of := v
		if slices.Equal(rows[2], rows[1]) {
			return
		}
		var w BitBuffer
		d.Code(&w, rows[2], &of)
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

// A batch allocates nothing, even with rows that are encoded one by one.
func TestBatchAllocatesNothing(t *testing.T) {
	var s Batch
	var c BatchColumn
	which, err := Shipped().Find("rows.1", 2, WhichContexts(1))
	require.NoError(t, err)
	for _, d := range append(batchDeltas(t, false), batchDeltas(t, true)...) {
		v := quantize.Baselines{Before: make([]uint32, len(d.lanes)), Age: 1, Span: 1}
		now := make([]uint32, len(d.lanes))
		turn := func(by uint32) {
			d.BeginColumn(&c)
			for k := range uint32(MaxStreams) {
				for i := range now {
					now[i] = (k + by) & uint32(d.top(i))
				}
				c.Put(int(k), now, v.Before, v.Before)
			}
			s.Begin(MaxStreams, which, []BatchColumn{c}, &v)
			d.CodeColumn(&s, &c, &v)
		}
		for by := range uint32(40) { // the first use of a code builds it
			turn(by)
		}
		if d.plan.Extrapolates() {
			continue // its extrapolation comes from a pool
		}
		alloctest.Zero(t, 5, func() { turn(3) }, d.plan.Name())
	}
}

package delta

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arche-netcode/netcode/internal/alloctest"
	"github.com/arche-netcode/netcode/internal/rowtest"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/wire"
)

// requireCoded checks that Code writes exactly the bits of Append's symbols, at any bit offset, also for later rows.
func requireCoded(t require.TestingT, d *Delta, now []uint32, v *quantize.Baselines, list []DeltaSymbol) {
	wantBytes := make([]byte, 8*len(list)+16)
	want := wire.NewBitWriter(wantBytes)
	WriteSymbols(&want, list)
	size := want.Bits()
	want.Finish()
	after, again := *v, *v
	d.Append(nil, now, &after)
	d.Prepare()
	for _, begin := range []int{0, 1, 63} {
		var w BitBuffer
		w.put(1<<begin>>1, uint(begin))
		again = *v
		d.Code(&w, now, &again)
		require.Equal(t, begin+size, w.Bits())
		require.Equal(t, after, again, "what the next row goes on with")
		w.Finish()
		gotBytes := make([]byte, 8*len(w.All()))
		got := wire.NewBitWriter(gotBytes)
		for _, word := range w.All() {
			got.Write(word, 64)
		}
		got.Finish()
		r, plain := wire.NewBitReader(gotBytes), wire.NewBitReader(wantBytes)
		r.Read(uint(begin))
		for at := 0; at < size; at += 32 {
			n := uint(min(32, size-at))
			require.Equal(t, plain.Read(n), r.Read(n), "from bit %d on", at)
		}
		require.Zero(t, r.Read(uint(-w.Bits()&63)), "nothing behind")
	}
}

// codedPlans returns plans with every kind of field, several groups of lanes, and every extrapolation.
func codedPlans(t testing.TB) []*quantize.Plan {
	type quats struct {
		Flag bool
		A    [4]float32 `net:"quat,bits=4"`
		B    [4]float32 `net:"quat,bits=16"`
		C    [4]float32 `net:"quat,bits=11,extrapolate=previous"`
	}
	type tagged struct {
		A float32 `net:"min=-8,max=8,step=0.01,extrapolate=previous"`
		B float32 `net:"min=-8,max=8,step=0.01,extrapolate=none"`
		C uint16  `net:"extrapolate=linear"`
		D float32 `net:"extrapolate=previous"`
		E float32 `net:"angle,bits=12,extrapolate=previous"`
		F uint32  `net:"extrapolate=linear"`
	}
	type wide struct{ A [70]uint16 }
	type mine struct {
		A float32 `net:"min=-8,max=8,step=0.01"`
		B float32
		C float32 `net:"angle,bits=12"`
	}
	own := deltaPlan[mine](t)
	own.ExtrapolateBy("stays", func(extrapolated []uint32, v *quantize.Baselines) { extrapolated[0] += uint32(v.Age) })
	return []*quantize.Plan{
		deltaPlan[rowtest.AnyField](t), deltaPlan[rowtest.Lone](t), deltaPlan[loneNumber](t), deltaPlan[quats](t), deltaPlan[tagged](t),
		deltaPlan[wide](t), own, deltaPlan[benchPlace](t), deltaPlan[benchTurn](t), deltaPlan[benchSpeed](t),
	}
}

// Code equals the plain encoder for any rows, with shipped and other tables.
func TestCodeIsTheListsBits(t *testing.T) {
	for name, source := range map[string]TableSource{"shipped": Shipped(), "flat": flatSource{}} {
		for _, p := range codedPlans(t) {
			t.Run(fmt.Sprint(name, " ", p.Name()), func(t *testing.T) {
				d, err := NewDelta(p, source)
				require.NoError(t, err)
				rapid.Check(t, func(t *rapid.T) { codes(t, d) })
			})
		}
	}
}

// FuzzCode is TestCodeIsTheListsBits for a fuzzer, with the tables that ship.
func FuzzCode(f *testing.F) {
	var deltas []*Delta
	for _, p := range codedPlans(f) {
		d, err := NewDelta(p, Shipped())
		require.NoError(f, err)
		deltas = append(deltas, d)
	}
	rowtest.Fuzz(f, rapid.MakeFuzz(func(t *rapid.T) { codes(t, rapid.SampledFrom(deltas).Draw(t, "rows")) }))
}

func codes(t *rapid.T, d *Delta) {
	v, now := drawVersions(t, d.plan)
	if rapid.Bool().Draw(t, "a tick each") {
		v.Age, v.Span = 1, 1
	}
	if reflect.DeepEqual(now, v.Base) {
		return
	}
	plain := v
	requireCoded(t, d, now, &v, d.Append(nil, now, &plain))
}

// Lanes at the ends of their ranges, in every pair of versions.
func TestCodeAtTheEnds(t *testing.T) {
	for _, p := range codedPlans(t) {
		d, err := NewDelta(p, Shipped())
		require.NoError(t, err)
		low, high, mid := make([]uint32, p.Lanes()), make([]uint32, p.Lanes()), make([]uint32, p.Lanes())
		for i := range high {
			high[i] = uint32(uint64(1)<<p.Lane(i).Bits - 1)
			mid[i] = high[i] / 2
		}
		rows := [][]uint32{low, high, mid}
		for _, row := range rows {
			fixLanes(p, row)
		}
		for _, now := range rows {
			for _, base := range rows {
				for _, before := range append(rows, nil) {
					for _, age := range []int64{1, 2, 4, 5, 12, 13, 4096} {
						for _, span := range []int64{0, 1, 3, 4096} {
							if span == 0 && before != nil {
								continue // meaningless without Before
							}
							v := quantize.Baselines{Base: base, Before: before, Age: age, Span: span, Miss: int(age) % misses}
							plain := v
							if !reflect.DeepEqual(now, base) {
								requireCoded(t, d, now, &v, d.Append(nil, now, &plain))
							}
						}
					}
				}
			}
		}
	}
}

// plainRotation extrapolates a rotation by the text of PROTOCOL.md, step by step.
func plainRotation(base, before []uint32, m, age, span int64) (at, expected [4]int64) {
	four := func(lanes []uint32) (c [4]int64) {
		rest, from := 2*m*m, 1
		for i := range c {
			if i != int(lanes[0]&3) {
				c[i] = 2*int64(lanes[from]) - m
				rest -= c[i] * c[i]
				from++
			}
		}
		c[lanes[0]&3] = int64(root(uint64(max(rest, 0))))
		return c
	}
	at = four(base)
	expected = at
	if before == nil {
		return at, expected
	}
	was, dot, moved := four(before), int64(0), false
	for i := range was {
		dot += was[i] * at[i]
	}
	for i := range was {
		if dot < 0 {
			was[i] = -was[i]
		}
		step := min(max(divide((at[i]-was[i])*age, span), -4*m), 4*m)
		expected[i] += step
		moved = moved || step != 0
	}
	square := int64(0)
	for _, c := range expected {
		square += c * c
	}
	length := int64(root(uint64(square) << 16))
	if !moved || length == 0 {
		if length == 0 {
			expected = at
		}
		return at, expected
	}
	for i, c := range expected {
		expected[i] = divide(c*int64(root(uint64(2*m*m)<<16)), length)
	}
	return at, expected
}

// The extrapolation of rotations equals the plain one, for lanes of any width.
func TestRotationIsThePlainOne(t *testing.T) { rapid.Check(t, rotations) }

// FuzzRotation is TestRotationIsThePlainOne for a fuzzer.
func FuzzRotation(f *testing.F) { rowtest.Fuzz(f, rapid.MakeFuzz(rotations)) }

func rotations(t *rapid.T) {
	var q rotation
	m := int64(1)<<rapid.IntRange(4, 16).Draw(t, "bits") - 1
	draw := func(label string) []uint32 {
		lanes := []uint32{rapid.Uint32Range(0, 3).Draw(t, label)}
		for range 3 {
			lanes = append(lanes, rapid.Uint32Range(0, uint32(m)).Draw(t, label))
		}
		return lanes
	}
	v := quantize.Baselines{Base: draw("base"), Age: rapid.Int64Range(1, 4096).Draw(t, "age"), Span: rapid.Int64Range(1, 4096).Draw(t, "span")}
	switch rapid.IntRange(0, 4).Draw(t, "before") {
	case 0:
	case 1:
		v.Before = v.Base
	default:
		v.Before = draw("before")
	}
	if rapid.Bool().Draw(t, "a tick each") {
		v.Age, v.Span = 1, 1
	}
	at, expected := plainRotation(v.Base, v.Before, m, v.Age, v.Span)
	q.lane = -1
	q.aim(0, m, &v, false)
	require.Equal(t, at, q.at)
	require.Equal(t, expected, q.expected)
	k := 0
	for i, c := range expected {
		if abs(c) > abs(expected[k]) {
			k = i
		}
	}
	require.Equal(t, k, q.largest())
}

func TestCodeAllocatesNothing(t *testing.T) {
	deltas, rows := circling(t, 4)
	var w BitBuffer
	code := func() {
		w.Reset()
		for k, d := range deltas {
			for _, of := range rows[k] {
				v := quantize.Baselines{Base: of[2], Before: of[1], Age: 1, Span: 1}
				if !slices.Equal(of[3], v.Base) {
					d.Code(&w, of[3], &v)
				}
			}
		}
	}
	code()
	alloctest.Zero(t, 20, code)
}

// Rows of a moving circle, as in the benchmark scenario.
type (
	benchPlace struct {
		X, Y, Z float32 `net:"min=-256,max=255,step=0.002"`
	}
	benchTurn struct {
		Q [4]float32 `net:"quat,bits=9"`
	}
	benchSpeed struct {
		X, Y, Z float32 `net:"min=-64,max=64,step=0.02"`
	}
)

const benchBodies = 1000

// circling returns the rows of many objects on circles, by tick.
func circling(tb testing.TB, ticks int) (deltas []*Delta, rows [][][][]uint32) {
	random := rand.New(rand.NewPCG(7, 1))
	plans := []*quantize.Plan{deltaPlan[benchPlace](tb), deltaPlan[benchTurn](tb), deltaPlan[benchSpeed](tb)}
	rows = make([][][][]uint32, len(plans)) // by plan, object and tick
	for _, p := range plans {
		d, err := NewDelta(p, Shipped())
		require.NoError(tb, err)
		d.Prepare()
		deltas = append(deltas, d)
	}
	for range benchBodies {
		x, y, z := random.Float64()*400-200, random.Float64()*400-200, random.Float64()*20
		radius, phase, turn := 1+random.Float64()*9, random.Float64()*2*math.Pi, 0.02+random.Float64()*0.05
		of := make([][][]uint32, len(plans))
		for k := range ticks {
			sin, cos := math.Sincos(phase + turn*float64(k))
			half, rest := math.Sincos(math.Mod(phase+turn*float64(k), 2*math.Pi) / 2)
			speed := radius * turn * 60
			place := benchPlace{float32(x + radius*cos), float32(y + radius*sin), float32(z)}
			rotation := benchTurn{[4]float32{0, 0, float32(half), float32(rest)}}
			velocity := benchSpeed{float32(-speed * sin), float32(speed * cos), 0}
			for i, at := range []unsafe.Pointer{unsafe.Pointer(&place), unsafe.Pointer(&rotation), unsafe.Pointer(&velocity)} {
				lanes := make([]uint32, plans[i].Lanes())
				plans[i].Quantise(at, lanes)
				of[i] = append(of[i], lanes)
			}
		}
		for i := range plans {
			rows[i] = append(rows[i], of[i])
		}
	}
	return deltas, rows
}

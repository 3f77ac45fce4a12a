package delta

import (
	"bytes"
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arche-netcode/netcode/internal/alloctest"
	"github.com/arche-netcode/netcode/internal/rowtest"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/wire"
)

type loneNumber struct{ HP uint32 }

func deltaPlan[T any](t testing.TB) *quantize.Plan {
	t.Helper()
	p, err := quantize.Compile(reflect.TypeFor[T](), reflect.TypeFor[T]().Name())
	require.NoError(t, err)
	return p
}

func flatDelta(t testing.TB, p *quantize.Plan) *Delta {
	t.Helper()
	d, err := NewDelta(p, flatSource{})
	require.NoError(t, err)
	return d
}

// drawLanes draws a legal row: any bits that ReadRow accepts.
func drawLanes(t *rapid.T, p *quantize.Plan, label string) []uint32 {
	lanes := make([]uint32, p.Lanes())
	for i := range lanes {
		lanes[i] = rapid.Uint32().Draw(t, label) & uint32(uint64(1)<<p.Lane(i).Bits-1)
	}
	fixLanes(p, lanes)
	return lanes
}

// fixLanes makes a row legal, field by field.
func fixLanes(p *quantize.Plan, lanes []uint32) {
	legal := make([]uint32, len(lanes))
	for from := 0; from < len(lanes); {
		to := from + 1
		for to < len(lanes) && p.Lane(to).Field == p.Lane(from).Field {
			to++
		}
		if to-from == 4 { // a rotation: zeros are not legal
			copy(legal[from:], []uint32{3, 255, 255, 255})
		}
		from = to
	}
	for from := 0; from < len(lanes); {
		to := from + 1
		for to < len(lanes) && p.Lane(to).Field == p.Lane(from).Field {
			to++
		}
		before := slices.Clone(legal)
		copy(legal[from:to], lanes[from:to])
		for i := from; i < to; i++ {
			if l := p.Lane(i); l.Free {
				legal[i] = uint32(min(uint64(lanes[i]), l.Largest))
			}
		}
		if !p.LegalRow(legal) && to-from < 4 {
			legal[to-1] = 0
		}
		if !p.LegalRow(legal) {
			copy(legal, before)
		}
		from = to
	}
	copy(lanes, legal)
}

// nudged returns a row near another one.
func nudged(t *rapid.T, p *quantize.Plan, from []uint32, label string) []uint32 {
	lanes := append([]uint32{}, from...)
	for i := range lanes {
		if rapid.IntRange(0, 2).Draw(t, label) == 0 {
			lanes[i] += uint32(rapid.IntRange(-40, 40).Draw(t, label))
			lanes[i] &= uint32(uint64(1)<<p.Lane(i).Bits - 1)
		}
	}
	fixLanes(p, lanes)
	return lanes
}

func drawVersions(t *rapid.T, p *quantize.Plan) (v quantize.Baselines, now []uint32) {
	v = quantize.Baselines{Base: drawLanes(t, p, "base"), Age: int64(rapid.IntRange(1, 4096).Draw(t, "age")), Span: 1, Miss: rapid.IntRange(0, misses-1).Draw(t, "miss")}
	if rapid.Bool().Draw(t, "has before") {
		v.Span = int64(rapid.IntRange(1, 4096).Draw(t, "span"))
		v.Before = nudged(t, p, v.Base, "before")
		if rapid.Bool().Draw(t, "far before") {
			v.Before = drawLanes(t, p, "far")
		}
	}
	now = nudged(t, p, v.Base, "now")
	if rapid.Bool().Draw(t, "far now") {
		now = drawLanes(t, p, "far")
	}
	return v, now
}

func testDelta(t *testing.T, p *quantize.Plan) { testDeltaWith(t, p, flatSource{}) }

func testDeltaWith(t *testing.T, p *quantize.Plan, source TableSource) {
	d, err := NewDelta(p, source)
	require.NoError(t, err)
	rapid.Check(t, func(t *rapid.T) {
		v, now := drawVersions(t, p)
		if reflect.DeepEqual(now, v.Base) {
			return
		}
		coding, reading := v, v
		list := d.Append(nil, now, &coding)
		buf := make([]byte, 400)
		w := wire.NewBitWriter(buf)
		WriteSymbols(&w, list)
		w.Write(0x2A, 6)
		b := buf[:w.Finish()]
		requireCoded(t, d, now, &v, list)
		r := wire.NewBitReader(b)
		got := make([]uint32, p.Lanes())
		require.True(t, d.Read(&r, got, &reading))
		require.Equal(t, now, got)
		require.EqualValues(t, 0x2A, r.Read(6))
		require.Equal(t, coding, reading, "both ends go on with the same")
		for cut := 0; cut < len(b); cut++ { // no panic, and no read beyond the end
			r, again := wire.NewBitReader(b[:cut]), v
			_ = d.Read(&r, got, &again)
		}
	})
}

func TestDeltaRoundTrips(t *testing.T) {
	t.Run("anyField", func(t *testing.T) { testDelta(t, deltaPlan[rowtest.AnyField](t)) })
	t.Run("lone", func(t *testing.T) { testDelta(t, deltaPlan[rowtest.Lone](t)) })
	t.Run("single", func(t *testing.T) { testDelta(t, deltaPlan[loneNumber](t)) })
}

// A row that continues its movement costs almost nothing, with tables trained on such rows.
func TestDeltaExtrapolates(t *testing.T) {
	p := deltaPlan[rowtest.AnyField](t)
	d := flatDelta(t, p)
	row := func(n uint32) []uint32 {
		lanes := make([]uint32, p.Lanes())
		copy(lanes[3:], []uint32{3, 255, 255, 255})
		lanes[0], lanes[1], lanes[2] = 100+10*n, 900-5*n, (120+3*n)&127
		return lanes
	}
	v := quantize.Baselines{Base: row(6), Before: row(2), Age: 3, Span: 4}
	for _, s := range d.Append(nil, row(9), &v) {
		if s.Table.Symbols() == deltaSymbols {
			require.Zero(t, s.Symbol, "exactly as extrapolated")
		}
	}
}

func FuzzDeltaRead(f *testing.F) {
	p := deltaPlan[rowtest.AnyField](f)
	d := flatDelta(f, p)
	base, before := make([]uint32, p.Lanes()), make([]uint32, p.Lanes())
	copy(base[3:], []uint32{3, 255, 255, 255})
	copy(before[3:], []uint32{3, 250, 255, 200})
	before[0], before[9] = 77, math.Float32bits(2.5)
	for seed := range byte(8) {
		f.Add(bytes.Repeat([]byte{seed * 37, 255 - seed, 3 * seed}, 20), int64(seed+1), int64(2*seed+1))
	}
	f.Fuzz(func(t *testing.T, data []byte, age, span int64) {
		v := quantize.Baselines{Base: base, Before: before, Age: 1 + age&4095, Span: 1 + span&4095}
		got := make([]uint32, p.Lanes())
		r, reading := wire.NewBitReader(data), v
		if !d.Read(&r, got, &reading) {
			return
		}
		require.True(t, p.LegalRow(got))
		used := 8*len(data) - r.Remaining()
		buf := make([]byte, len(data)+8)
		w := wire.NewBitWriter(buf)
		WriteSymbols(&w, d.Append(nil, got, &v))
		require.Equal(t, used, w.Bits(), "one legal encoding")
		again := wire.NewBitReader(buf[:w.Finish()])
		first := wire.NewBitReader(data)
		for ; used > 0; used -= min(used, 32) {
			n := uint(min(used, 32))
			require.Equal(t, first.Read(n), again.Read(n))
		}
	})
}

// chosen has fields with extrapolations other than the default.
type chosen struct {
	A float32    `net:"min=-8,max=8,step=0.01,extrapolate=previous"`
	B float32    `net:"min=-8,max=8,step=0.01,extrapolate=none"`
	C float32    `net:"angle,bits=7,extrapolate=previous"`
	D [4]float32 `net:"quat,bits=9,extrapolate=previous"`
	E uint16     `net:"extrapolate=linear"`
	F float32    `net:"extrapolate=previous"`
	G float32    `net:"extrapolate=none"`
	H int64      `net:"extrapolate=none"`
	I [2]int8    `net:"min=-9,max=80,extrapolate=linear"`
	J float32    `net:"axis,extrapolate=linear"` // the default: not in the description
	K [4]float32 `net:"quat,bits=9,extrapolate=none"`
}

func TestTagChoosesTheExtrapolation(t *testing.T) {
	p := deltaPlan[chosen](t)
	require.Equal(t, "chosen{A:f32[-8,8,0.01]~previous;B:f32[-8,8,0.01]~none;C:f32angle7~previous;D:quat9~previous;E:u16~linear;"+
		"F:f32~previous;G:f32~none;H:i64~none;I[0]:i8[-9,80]~linear;I[1]:i8[-9,80]~linear;J:f32axis;K:quat9~none}", string(p.Describe(nil)))
	models := make([]quantize.LaneModel, 0, p.Lanes())
	for i := range p.Lanes() {
		models = append(models, p.Lane(i).Model)
	}
	require.Equal(t, []quantize.LaneModel{
		quantize.ModelSame, quantize.ModelRaw, quantize.ModelSame, quantize.ModelLargest, quantize.ModelPart, quantize.ModelPart, quantize.ModelPart, quantize.ModelLinear, quantize.ModelFloat, quantize.ModelRaw,
		quantize.ModelRaw, quantize.ModelRaw, quantize.ModelLinear, quantize.ModelLinear, quantize.ModelLinear, quantize.ModelRaw, quantize.ModelRaw, quantize.ModelRaw, quantize.ModelRaw,
	}, models)
	testDeltaWith(t, p, Shipped())
}

func TestTagOfExtrapolationIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		of  any
		say string
	}{
		"a word": {struct {
			A float32 `net:"extrapolate=soon"`
		}{}, "it is none, previous or linear"},
		"twice": {struct {
			A float32 `net:"extrapolate=none,extrapolate=none"`
		}{}, "twice or without a value"},
		"a boolean": {struct {
			A bool `net:"extrapolate=none"`
		}{}, "a boolean or an entity is not extrapolated"},
		"a half": {struct {
			A float32 `net:"half,extrapolate=linear"`
		}{}, "a half does not go on"},
		"64 bits": {struct {
			A uint64 `net:"extrapolate=linear"`
		}{}, "more than 32 bits"},
		"a double": {struct {
			A float64 `net:"extrapolate=linear"`
		}{}, "more than 32 bits"},
		"a struct": {struct {
			A struct{ B float32 } `net:"extrapolate=none"`
		}{}, "does not go with"},
		"an entity": {struct {
			A wire.NetworkID `net:"entity,extrapolate=none"`
		}{}, "not extrapolated"},
	} {
		_, err := quantize.Compile(reflect.TypeOf(c.of), "x")
		require.ErrorContains(t, err, c.say, name)
	}
}

// falls extrapolates X by gravity, in lanes, and Q by its last turn.
func falls(extrapolated []uint32, v *quantize.Baselines) {
	if v.Before != nil {
		extrapolated[0] = v.Base[0] + uint32(int64(v.Base[0]-v.Before[0])*v.Age/v.Span) - uint32(v.Age*v.Age)
	}
}

func TestOwnExtrapolationTakesThePlaceOfTheUsual(t *testing.T) {
	p := deltaPlan[rowtest.AnyField](t)
	p.ExtrapolateBy("falls", falls)
	require.Equal(t, "falls", p.ExtrapolatedBy())
	require.Contains(t, string(p.Describe(nil)), "AnyField{~falls;X:")
	testDeltaWith(t, p, Shipped())

	d, err := NewDelta(p, flatSource{})
	require.NoError(t, err)
	base, before := make([]uint32, p.Lanes()), make([]uint32, p.Lanes())
	copy(base[3:], []uint32{3, 255, 255, 255})
	copy(before[3:], []uint32{3, 255, 255, 255})
	base[0], before[0] = 600, 560
	now := append([]uint32{}, base...)
	v := quantize.Baselines{Base: base, Before: before, Age: 4, Span: 4}
	now[0] = 600 + 40 - 16
	for _, s := range d.Append(nil, now, &v) {
		if s.Table.Symbols() == deltaSymbols {
			require.Zero(t, s.Symbol, "exactly as extrapolated")
		}
	}
}

// Rows are encoded whatever the function returns, even values out of range.
func TestWildExtrapolationsStillTravel(t *testing.T) {
	p := deltaPlan[rowtest.AnyField](t)
	word := uint32(1)
	p.ExtrapolateBy("wild", func(extrapolated []uint32, v *quantize.Baselines) {
		for i := range extrapolated {
			word = (v.Base[i]+uint32(i))*0x9E3779B1 ^ uint32(v.Age)
			extrapolated[i] = word
		}
	})
	testDeltaWith(t, p, Shipped())
}

func TestOwnExtrapolationsAllocateNothing(t *testing.T) {
	p := deltaPlan[rowtest.AnyField](t)
	p.ExtrapolateBy("falls", falls)
	d, err := NewDelta(p, Shipped())
	require.NoError(t, err)
	base := make([]uint32, p.Lanes())
	now := append([]uint32{}, base...)
	now[0] = 9
	v := &quantize.Baselines{Base: base, Before: base, Age: 2, Span: 2}
	list := make([]DeltaSymbol, 0, 40)
	alloctest.Zero(t, 200, func() { list = d.Append(list[:0], now, v) })
}

func TestExtrapolateByRefusesNames(t *testing.T) {
	p := deltaPlan[rowtest.Lone](t)
	for _, name := range []string{"", "a b", "a;b", "~"} {
		require.Panics(t, func() { p.ExtrapolateBy(name, falls) })
	}
}

// A row of exact floats is encoded whole in the same way, whatever the extrapolation of its fields.
func TestFloatsAreExactWithAnyExtrapolation(t *testing.T) {
	type exact struct {
		X float32 `net:"extrapolate=none"`
		Y float32 `net:"extrapolate=previous"`
		Z float32
	}
	p, err := quantize.Compile(reflect.TypeFor[exact](), "exact")
	require.NoError(t, err)
	require.True(t, p.Floats())
	p.ExtrapolateBy("still", func([]uint32, *quantize.Baselines) {})
	require.True(t, p.Floats())
}

// Without a previous baseline, negative floats cost the same as positive ones.
func TestFloatsBelowZeroAreNear(t *testing.T) {
	type one struct{ X, Y float32 }
	p := deltaPlan[one](t)
	d := flatDelta(t, p)
	rapid.Check(t, func(t *rapid.T) {
		f := rapid.Float32Range(-1000, -0.001).Draw(t, "f")
		v := quantize.Baselines{Base: []uint32{math.Float32bits(f), 0}, Age: 1}
		list := d.Append(nil, []uint32{math.Float32bits(f) + 3, 0}, &v)
		require.Equal(t, uint(0), list[1].RawBits)
	})
}

// A parsed plan has no extrapolation function: NewDelta fails if it needs one.
func TestDeltaOfAParsedPlanWantsItsFunction(t *testing.T) {
	q, err := quantize.ParsePlan("lone{On:bool}")
	require.NoError(t, err)
	_, err = NewDelta(q, flatSource{})
	require.NoError(t, err)
	q, err = quantize.ParsePlan("lone{~falls;On:bool;Off:bool}")
	require.NoError(t, err)
	_, err = NewDelta(q, flatSource{})
	require.ErrorIs(t, err, ErrExtrapolation)
}

// FuzzDeltaOfAParsedPlan: every plan that is parsed, and has no function of its own, has a delta.
func FuzzDeltaOfAParsedPlan(f *testing.F) {
	for _, p := range []*quantize.Plan{deltaPlan[rowtest.AnyField](f), deltaPlan[chosen](f), deltaPlan[rowtest.Lone](f)} {
		f.Add(string(p.Describe(nil)))
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := quantize.ParsePlan(text)
		if err != nil || p.ExtrapolatedBy() != "" {
			return
		}
		_, err = NewDelta(p, flatSource{})
		require.NoError(t, err)
	})
}

package quantize

import (
	"math"
	"reflect"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/internal/rowtest"
	"github.com/arche-netcode/netcode/wire"
)

func TestHalfAndAxisTagsThatAreRefused(t *testing.T) {
	type (
		bits struct {
			F float32 `net:"half,bits=9"`
		}
		bounds struct {
			F float32 `net:"axis,min=0,max=1"`
		}
		both struct {
			F float32 `net:"half,axis"`
		}
		twice struct {
			F float32 `net:"axis,axis"`
		}
		integer struct {
			F int8 `net:"axis"`
		}
		truth struct {
			F bool `net:"half"`
		}
		position struct {
			F vec `net:"half"`
		}
	)
	for want, typ := range map[string]reflect.Type{
		"bits go with angle or quat": reflect.TypeFor[bits](), "contradicts": reflect.TypeFor[bounds](), "contradicts itself": reflect.TypeFor[both](),
		"repeated": reflect.TypeFor[twice](), "go with int8": reflect.TypeFor[integer](), "go with bool": reflect.TypeFor[truth](), "go with quantize.vec": reflect.TypeFor[position](),
	} {
		_, err := Compile(typ, "Name")
		require.ErrorContains(t, err, ".F: ")
		require.ErrorContains(t, err, want)
	}
}

// sticks has halves and axes, of both widths.
type sticks struct {
	H  float32    `net:"half"`
	H6 float64    `net:"half"`
	A  [2]float32 `net:"axis"`
	A6 float64    `net:"axis"`
}

func TestHalfAndAxisInRows(t *testing.T) {
	p := mustCompile[sticks](t, "Sticks")
	require.Equal(t, "Sticks{H:f32half;H6:f64half;A[0]:f32axis;A[1]:f32axis;A6:f64axis}", string(p.Describe(nil)))
	require.Equal(t, 16+16+8+8+8, p.Bits())
	lanes, again := make([]uint32, p.Lanes()), make([]uint32, p.Lanes())
	for n := range uint32(halfMax + 1) { // the law, for every lane
		row := []uint32{n, halfMax - n, n % 255, 254 - n%255, n % 255}
		var v sticks
		p.Dequantise(row, unsafe.Pointer(&v))
		if fault := p.Quantise(unsafe.Pointer(&v), again); fault != (Fault{}) {
			t.Fatal(fault)
		}
		if [5]uint32(again) != [5]uint32(row) {
			t.Fatal(row, again)
		}
	}
	for _, c := range []struct {
		v      sticks
		field  string
		reason wire.FaultReason
	}{
		{sticks{H: float32(math.NaN())}, "H", wire.NotFinite},
		{sticks{H6: math.Inf(-1)}, "H6", wire.NotFinite},
		{sticks{H: 70000}, "H", wire.OutOfRange},
		{sticks{A: [2]float32{1, -1.01}}, "A[1]", wire.OutOfRange},
		{sticks{A6: math.NaN()}, "A6", wire.NotFinite},
		{sticks{A6: 1e300}, "A6", wire.OutOfRange},
	} {
		copy(lanes, []uint32{1, 2, 3, 4, 5})
		fault := p.Quantise(unsafe.Pointer(&c.v), lanes)
		require.Equal(t, c.reason, fault.Reason)
		require.Equal(t, c.field, fault.Field())
		var back sticks
		p.Dequantise(lanes, unsafe.Pointer(&back))
		require.Zero(t, back.H-back.H)
	}
	bad := sticks{H: float32(math.Inf(1)), H6: math.NaN(), A: [2]float32{float32(math.NaN()), 2}, A6: math.Inf(1)}
	copy(lanes, []uint32{1, 2, 3, 4, 5})
	p.Quantise(unsafe.Pointer(&bad), lanes)
	require.Equal(t, []uint32{1, 2, 3, 254, 5}, lanes, "what is not finite keeps the last good value")

	refused := 0
	for _, row := range [][]uint32{{halfMax + 1, 0, 0, 0, 0}, {0, 65535, 0, 0, 0}, {0, 0, 255, 0, 0}, {0, 0, 0, 0, 255}} {
		buf := make([]byte, 7)
		w := wire.NewBitWriter(buf)
		p.WriteRow(&w, row)
		r := wire.NewBitReader(buf[:w.Finish()])
		require.False(t, p.ReadRow(&r, lanes))
		refused++
	}
	require.Equal(t, 4, refused)
}

// Lanes of halves are in the order of their values, and each lane is a half.
func TestHalfLanes(t *testing.T) {
	finite := 0
	for n := 0; n <= math.MaxUint16; n++ {
		if h := wire.Float16(n); h.Finite() {
			finite++
			require.Equal(t, h, halfOfLane(halfLane(h)))
			require.LessOrEqual(t, halfLane(h), uint32(halfMax))
		}
	}
	require.Equal(t, halfMax+1, finite)
	for n := uint32(1); n <= halfMax; n++ {
		require.LessOrEqual(t, halfOfLane(n-1).Float32(), halfOfLane(n).Float32())
	}
}

type described struct {
	rowtest.AnyField
	Where wire.NetworkID `net:"entity"`
	Many  [3]float64     `net:"angle,bits=20"`
	Wide  float64        `net:"min=-1e6,max=1e6,step=0.001"`
	Half  float64        `net:"half"`
	Big   int64          `net:"min=-9223372036854775808,max=9223372036854775807"`
}

// A plan from its description encodes the same rows with the same bits.
func TestParsePlanIsTheInverseOfDescribe(t *testing.T) {
	for _, typ := range []reflect.Type{
		reflect.TypeFor[rowtest.AnyField](), reflect.TypeFor[chosen](), reflect.TypeFor[rowtest.Lone](), reflect.TypeFor[rowtest.Inputs](), reflect.TypeFor[struct{}](),
		reflect.TypeFor[described](), reflect.TypeFor[struct{ A, B [2]struct{ C float32 } }](),
	} {
		for _, change := range []func(p *Plan){func(*Plan) {}, (*Plan).Debug, func(p *Plan) { p.ExtrapolateBy("falls", func([]uint32, *Baselines) {}) }} {
			p, err := Compile(typ, "some.Name")
			require.NoError(t, err)
			change(p)
			text := string(p.Describe(nil))
			q, err := ParsePlan(text)
			require.NoError(t, err)
			require.Equal(t, text, string(q.Describe(nil)))
			require.Equal(t, p.lanes, q.lanes)
			require.Equal(t, p.bits, q.bits)
			require.Equal(t, p.refs, q.refs)
			require.Equal(t, p.ExtrapolatedBy(), q.ExtrapolatedBy())
			for i := range p.ops {
				a, b := p.ops[i], q.ops[i]
				a.offset, b.offset = 0, 0 // memory layout: a parsed plan has none
				require.Equal(t, a, b)
			}
		}
	}
}

func TestParsedPlanHasNoMemory(t *testing.T) {
	q, err := ParsePlan("lone{On:bool}")
	require.NoError(t, err)
	var on bool
	require.Panics(t, func() { q.Quantise(unsafe.Pointer(&on), make([]uint32, 1)) })
	require.Panics(t, func() { q.Dequantise(make([]uint32, 1), unsafe.Pointer(&on)) })
}

func TestParsePlanRefuses(t *testing.T) {
	for _, text := range []string{
		"", "a", "a{", "a}", "{}", "a{b}", "a{:u8}", "a{b:}", "a{b:u9}", "a{b:u8;}", "a{;b:u8}", "a{b:u8}}", "a{b:u8}x", "a{b:u08}", "a{b:u8[1,0]}",
		"a{b:u8[0,1,1]}", "a{b:f32[0,1]}", "a{b:f32[0,1,0.30]}", "a{b:quat1}", "a{b:quat}", "a{b:f32angle}", "a{b:f32angle010}", "a{b:bool~none}",
		"a{b:f32~linear}", "a{b:f32~}", "a{b:f32~soon}", "a{b:boolhalf}", "a{~x y;b:u8}", "a{~x;~y;b:u8}", "a{b:u8;~x}", "a{b:u8;unpacked}", "a{unpacked;unpacked}",
		"a{b:f32half~linear}", "a{b:u8[0,1}", "a{b:u80,1]}",
	} {
		_, err := ParsePlan(text)
		require.Error(t, err, text)
	}
}

func TestLegalRows(t *testing.T) {
	p := deltaPlan[rowtest.Inputs](t)
	require.True(t, p.Legal([]uint32{255, 1, 2, 0, 0, 200, 1023}))
	require.False(t, p.Legal([]uint32{255, 1, 2, 0, 0, 200}))
	require.False(t, p.Legal([]uint32{256, 1, 2, 0, 0, 200, 1023}))
	require.False(t, p.Legal([]uint32{255, 1, 3, 0, 0, 200, 1023}))
	require.False(t, p.Legal([]uint32{255, 1, 2, 0, 0, 201, 1023}))
}

func FuzzParsePlan(f *testing.F) {
	for _, p := range []*Plan{deltaPlan[rowtest.AnyField](f), deltaPlan[chosen](f), deltaPlan[described](f), deltaPlan[rowtest.Lone](f)} {
		f.Add(string(p.Describe(nil)))
	}
	f.Add("a{unpacked;~x;b:u8}")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := ParsePlan(text)
		if err != nil {
			return
		}
		require.Equal(t, text, string(p.Describe(nil)))
	})
}

package quantize

import (
	"github.com/arche-netcode/netcode/wire"

	"math"
	"slices"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// faulty has a field for each kind of fault.
type faulty struct {
	F32 float32
	F64 float64
	In  struct {
		Fixed  float32 `net:"min=-2,max=2,step=0.5"`
		Fixed6 float64 `net:"min=-2,max=2,step=0.5"`
	}
	Angle float32 `net:"angle,bits=8"`
	Angl6 float64 `net:"angle,bits=8"`
	I8    int8    `net:"min=-3,max=3"`
	U64   uint64  `net:"min=5,max=9"`
	I64   int64   `net:"min=-1,max=9000000000000000000"`
}

func TestQuantiseFaults(t *testing.T) {
	p := mustCompile[faulty](t, "Faulty")
	nan, inf := math.NaN(), math.Inf(1)
	good := faulty{F32: 1.5, F64: 2.5, Angle: 1, Angl6: 1, I8: 1, U64: 6, I64: 7}
	good.In.Fixed, good.In.Fixed6 = 1, 1
	for _, c := range []struct {
		name   string
		spoil  func(v *faulty)
		field  string
		reason wire.FaultReason
		repair func(v *faulty) // changes v to the expected value
	}{
		{"nothing", func(*faulty) {}, "", wire.NoFault, nil},
		{"f32 NaN", func(v *faulty) { v.F32 = float32(nan) }, "F32", wire.NotFinite, nil},
		{"f32 Inf", func(v *faulty) { v.F32 = float32(-inf) }, "F32", wire.NotFinite, nil},
		{"f64 NaN", func(v *faulty) { v.F64 = nan }, "F64", wire.NotFinite, nil},
		{"f64 Inf", func(v *faulty) { v.F64 = inf }, "F64", wire.NotFinite, nil},
		{"fixed NaN", func(v *faulty) { v.In.Fixed = float32(nan) }, "In.Fixed", wire.NotFinite, nil},
		{"fixed Inf", func(v *faulty) { v.In.Fixed = float32(inf) }, "In.Fixed", wire.NotFinite, nil},
		{"fixed above", func(v *faulty) { v.In.Fixed = 2.001 }, "In.Fixed", wire.OutOfRange, func(v *faulty) { v.In.Fixed = 2 }},
		{"fixed below", func(v *faulty) { v.In.Fixed = -9e30 }, "In.Fixed", wire.OutOfRange, func(v *faulty) { v.In.Fixed = -2 }},
		{"fixed at its bound", func(v *faulty) { v.In.Fixed = 2 }, "", wire.NoFault, func(v *faulty) { v.In.Fixed = 2 }},
		{"fixed64 NaN", func(v *faulty) { v.In.Fixed6 = nan }, "In.Fixed6", wire.NotFinite, nil},
		{"fixed64 above", func(v *faulty) { v.In.Fixed6 = 9e300 }, "In.Fixed6", wire.OutOfRange, func(v *faulty) { v.In.Fixed6 = 2 }},
		{"fixed64 below", func(v *faulty) { v.In.Fixed6 = -2.0000001 }, "In.Fixed6", wire.OutOfRange, func(v *faulty) { v.In.Fixed6 = -2 }},
		{"angle NaN", func(v *faulty) { v.Angle = float32(nan) }, "Angle", wire.NotFinite, nil},
		{"angle64 Inf", func(v *faulty) { v.Angl6 = inf }, "Angl6", wire.NotFinite, nil},
		{"int below", func(v *faulty) { v.I8 = -128 }, "I8", wire.OutOfRange, func(v *faulty) { v.I8 = -3 }},
		{"int above", func(v *faulty) { v.I8 = 4 }, "I8", wire.OutOfRange, func(v *faulty) { v.I8 = 3 }},
		{"uint below", func(v *faulty) { v.U64 = 0 }, "U64", wire.OutOfRange, func(v *faulty) { v.U64 = 5 }},
		{"uint above", func(v *faulty) { v.U64 = math.MaxUint64 }, "U64", wire.OutOfRange, func(v *faulty) { v.U64 = 9 }},
		{"int64 below", func(v *faulty) { v.I64 = math.MinInt64 }, "I64", wire.OutOfRange, func(v *faulty) { v.I64 = -1 }},
		{"int64 above", func(v *faulty) { v.I64 = math.MaxInt64 }, "I64", wire.OutOfRange, func(v *faulty) { v.I64 = 9e18 }},
		{"two: the first is named", func(v *faulty) { v.I8, v.F64 = 9, nan }, "F64", wire.NotFinite, func(v *faulty) { v.I8 = 3 }},
	} {
		lanes := make([]uint32, p.Lanes())
		require.Equal(t, Fault{}, p.Quantise(unsafe.Pointer(&good), lanes))
		bad := good
		c.spoil(&bad)
		fault := p.Quantise(unsafe.Pointer(&bad), lanes)
		require.Equal(t, c.reason, fault.Reason, c.name)
		require.Equal(t, c.field, fault.Field(), c.name)

		want, got := good, faulty{}
		if c.repair != nil {
			c.repair(&want)
		}
		p.Dequantise(lanes, unsafe.Pointer(&got))
		want.Angle, want.Angl6 = got.Angle, got.Angl6
		require.Equal(t, want, got, c.name)
		require.InDelta(t, 1, got.Angl6, math.Pi/256, c.name)
	}
}

func TestAngleOfManyTurns(t *testing.T) {
	o := op{size: 8}
	require.NoError(t, o.compileAngle(tag{bits: 16}))
	for _, turns := range []float64{0, 1, -1, 1000, 16383, 16384, 16385, -16384, -16385, -70000, 1e9, -1e9} {
		lanes := []uint32{0}
		require.Equal(t, wire.NoFault, o.quantiseAngle(1+turns*2*math.Pi, lanes))
		require.InDelta(t, 1, o.angle(lanes[0]), 1e-4, "%v", turns)
	}
	for _, f := range []float64{1e300, -1e300, math.MaxFloat64} {
		lanes := []uint32{math.MaxUint32}
		require.Equal(t, wire.NoFault, o.quantiseAngle(f, lanes))
		require.LessOrEqual(t, lanes[0], uint32(65535))
	}
}

// padded has padding, blank and unsent fields, which must never be touched.
type padded struct {
	A     bool
	B     uint64
	C     uint8
	Local uint32 `net:"-"`
	D     uint16
	_     [2]uint8
	E     uint8
}

func TestDequantiseWritesSentFieldsOnly(t *testing.T) {
	p := mustCompile[padded](t, "Padded")
	raw := make([]uint64, (unsafe.Sizeof(padded{})+7)/8)
	for i := range raw {
		raw[i] = 0xC7C7_C7C7_C7C7_C7C7
	}
	dst := (*padded)(unsafe.Pointer(&raw[0]))
	before := append([]byte(nil), memory(unsafe.Pointer(dst), 0, p.Size())...)
	src := padded{A: true, B: 1, C: 2, Local: 3, D: 4, E: 5}
	lanes := make([]uint32, p.Lanes())
	p.Quantise(unsafe.Pointer(&src), lanes)
	p.Dequantise(lanes, unsafe.Pointer(dst))
	after := memory(unsafe.Pointer(dst), 0, p.Size())
	travels := make([]bool, p.Size())
	for i := range p.ops {
		for at := range p.ops[i].bytes() {
			travels[p.ops[i].offset+at] = true
		}
	}
	for i, b := range before {
		if !travels[i] {
			require.Equal(t, b, after[i], "byte %d", i)
		}
	}
	require.Equal(t, uint32(0xC7C7_C7C7), dst.Local)
	field, equal := p.Compare(unsafe.Pointer(dst), unsafe.Pointer(&src))
	require.True(t, equal, field)
}

// QuantiseRows gives the same rows as Quantise for any values, and reports the same faults.
func TestQuantiseRowsIsQuantise(t *testing.T) {
	type every struct {
		Pos   [3]float32 `net:"min=-5,max=5,step=0.002"`
		On    bool
		Q     [4]float32 `net:"quat,bits=9"`
		Vel   float32
		Wide  float64
		Small int8
		Half  float32 `net:"half"`
		Turn  float64 `net:"angle,bits=9"`
		Level int32   `net:"min=-3,max=900"`
		Deep  float64 `net:"min=0,max=1,step=0.25"`
		Long  uint64
	}
	p := mustCompile[every](t, "Every")
	rapid.Check(t, func(t *rapid.T) {
		column := make([]every, rapid.IntRange(1, 40).Draw(t, "rows"))
		odd := rapid.SampledFrom([]float64{0, 1, -7, math.NaN(), math.Inf(1), math.Inf(-1), 0.5, math.MaxFloat64})
		some := rapid.Float64Range(-6, 6)
		number := func() float64 {
			if rapid.IntRange(0, 9).Draw(t, "odd") == 0 {
				return odd.Draw(t, "value")
			}
			return some.Draw(t, "value")
		}
		for i := range column {
			c := &column[i]
			for k := range c.Pos {
				c.Pos[k] = float32(number())
			}
			for k := range c.Q {
				c.Q[k] = float32(number())
			}
			c.Vel, c.Wide, c.Half, c.Turn, c.Deep = float32(number()), number(), float32(number()), number(), number()
			c.On, c.Small, c.Level, c.Long = number() > 0, int8(i), int32(some.Draw(t, "level")*200), uint64(i)<<33
		}
		rows := rapid.SliceOfN(rapid.Int32Range(0, int32(len(column)-1)), 0, 50).Draw(t, "which")
		n := p.Lanes()
		got, want := make([]uint32, len(rows)*n), make([]uint32, len(rows)*n)
		var faults []int32
		for k, row := range rows {
			if p.Quantise(unsafe.Pointer(&column[row]), want[k*n:(k+1)*n]).Reason != wire.NoFault {
				faults = append(faults, int32(k))
			}
		}
		bad := p.QuantiseRows((*byte)(unsafe.Pointer(&column[0])), int(p.Size()), rows, got, nil)
		slices.Sort(bad)
		require.Equal(t, want, got)
		require.Equal(t, faults, slices.Compact(bad))
		other := make([]uint32, len(got)) // without a fault, no lane keeps its old value
		for i := range other {
			other[i] = 0xDEADBEEF
		}
		p.QuantiseRows((*byte)(unsafe.Pointer(&column[0])), int(p.Size()), rows, other, nil)
		for k := range rows {
			if !slices.Contains(faults, int32(k)) {
				require.Equal(t, want[k*n:(k+1)*n], other[k*n:(k+1)*n])
			}
		}
		for _, k := range faults {
			before := slices.Clone(got[int(k)*n : int(k+1)*n])
			require.NotEqual(t, wire.NoFault, p.Quantise(unsafe.Pointer(&column[rows[k]]), got[int(k)*n:int(k+1)*n]).Reason)
			require.Equal(t, before, got[int(k)*n:int(k+1)*n], "the second time says what the first did")
		}
	})
}

// QuantiseRows gives the same rotations as Quantise: with zero or tiny components, equal or nearly equal ones, and
// lengths at the limit of 1 ± slack.
func TestQuatRowsIsQuantiseQuat(t *testing.T) {
	type turn struct {
		Q [4]float32 `net:"quat,bits=9"`
	}
	for _, p := range []*Plan{mustCompile[turn](t, "Turn"), mustCompile[coarseTurn](t, "Coarse"), mustCompile[fineTurn](t, "Fine")} {
		o := &p.fields()[0]
		quick, all := 0, 0
		rapid.Check(t, func(t *rapid.T) {
			column := make([]turn, rapid.IntRange(1, 20).Draw(t, "rows"))
			rows, want, got := make([]int32, len(column)), make([]uint32, 4*len(column)), make([]uint32, 4*len(column))
			tiny := rapid.SampledFrom([]float64{0, math.Copysign(0, -1), 1e-40, -1e-44, 1e-30, -math.SmallestNonzeroFloat32})
			for i := range column {
				var c [4]float64
				square := 0.0
				for k := range c {
					switch rapid.IntRange(0, 3).Draw(t, "how") {
					case 0:
						c[k] = tiny.Draw(t, "tiny")
					case 1:
						c[k] = []float64{1, -1}[rapid.IntRange(0, 1).Draw(t, "sign")] * (1 + o.step*rapid.Float64Range(-9, 9).Draw(t, "near"))
					default:
						c[k] = rapid.Float64Range(-1, 1).Draw(t, "component")
					}
					square += c[k] * c[k]
				}
				length := math.Sqrt(square)
				if rapid.IntRange(0, 3).Draw(t, "length") == 0 {
					length /= math.Sqrt(1 + o.slack*rapid.Float64Range(-1.1, 1.1).Draw(t, "off"))
				}
				for k := range c {
					column[i].Q[k] = float32(c[k] / length)
				}
				if rapid.IntRange(0, 30).Draw(t, "odd") == 0 {
					column[i].Q[i&3] = rapid.SampledFrom([]float32{float32(math.NaN()), float32(math.Inf(-1)), math.MaxFloat32}).Draw(t, "no number")
				}
				rows[i] = int32(i)
				_ = p.Quantise(unsafe.Pointer(&column[i]), want[4*i:4*i+4])
			}
			for k := 0; k < len(rows); k++ {
				done := o.quatRows((*byte)(unsafe.Pointer(&column[0])), int(p.Size()), rows[k:], got[4*k:], 4)
				if quick += done; k+done < len(rows) {
					_ = o.quantiseQuat(&column[k+done].Q, (*[4]uint32)(got[4*(k+done):]))
				}
				k += done
			}
			all += len(rows)
			require.Equal(t, want, got)
			whole := make([]uint32, 4*len(column))
			p.QuantiseRows((*byte)(unsafe.Pointer(&column[0])), int(p.Size()), rows, whole, nil)
			require.Equal(t, want, whole)
		})
		if !testing.Short() { // a single random case may have none
			require.Greater(t, quick, all/8)
		}
	}
}

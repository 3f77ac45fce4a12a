package quantize

import (
	"math"
	"reflect"
	"testing"

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

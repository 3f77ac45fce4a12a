package quantize

import (
	"github.com/arche-netcode/netcode/wire"

	"reflect"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

type described struct {
	anyField
	Where wire.NetworkID `net:"entity"`
	Many  [3]float64     `net:"angle,bits=20"`
	Wide  float64        `net:"min=-1e6,max=1e6,step=0.001"`
	Half  float64        `net:"half"`
	Big   int64          `net:"min=-9223372036854775808,max=9223372036854775807"`
}

// A plan from its description codes the same rows in the same bits.
func TestParsePlanIsTheInverseOfDescribe(t *testing.T) {
	for _, typ := range []reflect.Type{
		reflect.TypeFor[anyField](), reflect.TypeFor[chosen](), reflect.TypeFor[lone](), reflect.TypeFor[goldenInputs](), reflect.TypeFor[struct{}](),
		reflect.TypeFor[described](), reflect.TypeFor[struct{ A, B [2]struct{ C float32 } }](),
	} {
		for _, change := range []func(p *Plan){func(*Plan) {}, (*Plan).Debug, func(p *Plan) { p.ExtrapolateBy("falls", func([]uint32, *Versions) {}) }} {
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
				a.offset, b.offset = 0, 0 // and what is about memory beside: a parsed plan has none
				a.run, a.quat = b.run, b.quat
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
	p := deltaPlan[goldenInputs](t)
	require.True(t, p.Legal([]uint32{255, 1, 2, 0, 0, 200, 1023}))
	require.False(t, p.Legal([]uint32{255, 1, 2, 0, 0, 200}))
	require.False(t, p.Legal([]uint32{256, 1, 2, 0, 0, 200, 1023}))
	require.False(t, p.Legal([]uint32{255, 1, 3, 0, 0, 200, 1023}))
	require.False(t, p.Legal([]uint32{255, 1, 2, 0, 0, 201, 1023}))
}

func FuzzParsePlan(f *testing.F) {
	for _, p := range []*Plan{deltaPlan[anyField](f), deltaPlan[chosen](f), deltaPlan[described](f), deltaPlan[lone](f)} {
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

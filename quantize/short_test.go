package quantize_test

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/wire"
)

// shorts has numbers that are mostly small, among others.
type shorts struct {
	Client  uint32 `net:"short"`
	Tick    uint16
	Ordinal uint8  `net:"short"`
	More    uint16 `net:"short"`
}

// A small number takes few bits where a row is whole, and every number comes back.
func TestShortNumbersTakeFewBits(t *testing.T) {
	plan, err := quantize.Compile(reflect.TypeFor[shorts](), "s")
	require.NoError(t, err)
	require.Equal(t, "s{Client:u32short;Tick:u16;Ordinal:u8short;More:u16short}", string(plan.Describe(nil)))
	again, err := quantize.ParsePlan(string(plan.Describe(nil)))
	require.NoError(t, err)
	require.Equal(t, plan.Bits(), again.Bits())
	require.True(t, plan.Varies())
	write := func(lanes []uint32) *wire.BitReader {
		of := make([]byte, 64)
		w := wire.NewBitWriter(of)
		plan.WriteRow(&w, lanes)
		sum := 0
		plan.EachField(lanes, func(_, bits int) { sum += bits })
		require.Equal(t, w.Bits(), sum)
		r := wire.NewBitReader(of[:w.Finish()])
		return &r
	}
	bits := 0
	plan.EachField([]uint32{3, 60000, 1, 0}, func(_, n int) { bits += n })
	require.Equal(t, 3+16+3+3, bits)
	rapid.Check(t, func(rt *rapid.T) {
		lanes := []uint32{rapid.Uint32().Draw(rt, "client"), uint32(rapid.Uint16().Draw(rt, "tick")), uint32(rapid.Uint8().Draw(rt, "ordinal")), uint32(rapid.Uint16().Draw(rt, "more"))}
		back := make([]uint32, 4)
		r := write(lanes)
		require.True(rt, plan.ReadRow(r, back))
		require.Equal(rt, lanes, back)
		require.True(rt, r.Done())
	})
	of := make([]byte, 16)
	w := wire.NewBitWriter(of)
	w.Var(1 << 32)
	w.Write(0, 16)
	w.Var(1)
	w.Var(1)
	r := wire.NewBitReader(of[:w.Finish()])
	require.False(t, plan.ReadRow(&r, make([]uint32, 4)), "a number that the field does not hold")
	_, err = quantize.Compile(reflect.TypeFor[struct {
		X int32 `net:"short"`
	}](), "s")
	require.ErrorContains(t, err, "goes with uint8, uint16 and uint32")
}

// A row of short numbers that is read is written as the same numbers.
func FuzzShortNumbers(f *testing.F) {
	plan, err := quantize.Compile(reflect.TypeFor[shorts](), "s")
	require.NoError(f, err)
	f.Add([]byte{0x0f, 0xff, 0x12})
	f.Fuzz(func(t *testing.T, b []byte) {
		lanes, again := make([]uint32, plan.Lanes()), make([]uint32, plan.Lanes())
		if r := wire.NewBitReader(b); !plan.ReadRow(&r, lanes) {
			return
		}
		of := make([]byte, 64)
		w := wire.NewBitWriter(of)
		plan.WriteRow(&w, lanes)
		r := wire.NewBitReader(of[:w.Finish()])
		require.True(t, plan.ReadRow(&r, again))
		require.Equal(t, lanes, again)
	})
}

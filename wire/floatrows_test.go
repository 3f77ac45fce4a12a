package wire

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestFloatRowsAreRead holds that rows in one piece are what reading their heads and lanes one by one gives, that the reader
// stands behind the last of them, and that what begins otherwise is left alone.
func TestFloatRowsAreRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before := rapid.UintRange(0, 130).Draw(t, "before")
		bits := rapid.UintRange(1, HeadBits).Draw(t, "bits")
		head := rapid.Uint64().Draw(t, "head") & (1<<bits - 1)
		width := rapid.IntRange(1, 12).Draw(t, "width")
		values := rapid.SliceOfN(rapid.Float32(), 0, 12*20).Draw(t, "values")
		count := len(values) / width
		wrong := head ^ 1<<rapid.UintRange(0, bits-1).Draw(t, "wrong")
		w := NewBitWriter(make([]byte, 8192))
		for i := uint(0); i < before; i++ {
			w.Write(1, 1)
		}
		bad := false
		for i := range count {
			w.Write(head, bits)
			for _, v := range values[i*width : (i+1)*width] {
				w.Write(uint64(math.Float32bits(v)), 32)
			}
		}
		w.Write(wrong, bits)
		for range rapid.IntRange(0, 40).Draw(t, "behind") {
			w.Write(0x5A5A_5A5A, 32)
		}
		buf := w.buf[:w.Finish()]
		room := rapid.IntRange(0, count+2).Draw(t, "room")
		lanes := make([]uint32, room*width)
		r := NewBitReader(buf)
		for i := uint(0); i < before; i++ {
			r.Read(1)
		}
		plain := r
		rows := ReadFloatRows(&r, lanes, width, head, bits)
		require.LessOrEqual(t, rows, min(count, room))
		require.Equal(t, min(count, room), rows, "all of them, wherever the end is")
		for i := range rows {
			require.Equal(t, head, plain.Read(bits))
			for k := range width {
				v := uint32(plain.Read(32))
				bad = bad || !finite32(v)
				require.Equal(t, v, lanes[i*width+k])
			}
		}
		require.Equal(t, bad, r.Failed())
		if !bad {
			require.Equal(t, plain.Remaining(), r.Remaining())
			for plain.Remaining() >= 7 {
				require.Equal(t, plain.Read(7), r.Read(7), "what is behind them")
			}
		}
	})
}

func TestFloatRowsAreFinite(t *testing.T) {
	for lane := range 3 {
		for _, v := range []float64{math.Inf(1), math.Inf(-1), math.NaN()} {
			w := NewBitWriter(make([]byte, 200))
			for row := range 4 {
				w.Write(5, 3)
				for k := range 3 {
					x := float32(1)
					if row == 1 && k == lane {
						x = float32(v)
					}
					w.Write(uint64(math.Float32bits(x)), 32)
				}
			}
			r := NewBitReader(w.buf)
			ReadFloatRows(&r, make([]uint32, 12), 3, 5, 3)
			require.True(t, r.Failed(), "%v in lane %d", v, lane)
		}
	}
}

func TestFloatRowsOfNoLegalHead(t *testing.T) {
	r := NewBitReader(make([]byte, 200))
	require.Zero(t, ReadFloatRows(&r, make([]uint32, 40), 4, 0, 0))
	require.Zero(t, ReadFloatRows(&r, make([]uint32, 40), 4, 0, HeadBits+1))
	require.Zero(t, ReadFloatRows(&r, make([]uint32, 40), 0, 0, 3))
	require.Equal(t, 1600, r.Remaining())
}

func TestFloatRowsAllocateNothing(t *testing.T) {
	w := NewBitWriter(make([]byte, 1200))
	for range 28 {
		w.Write(0x155, 10)
		for range 10 {
			w.Write(uint64(math.Float32bits(1.5)), 32)
		}
	}
	buf, lanes := w.buf[:w.Finish()], make([]uint32, 300)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		r := NewBitReader(buf)
		if ReadFloatRows(&r, lanes, 10, 0x155, 10) != 28 {
			t.Fatal("rows are missing")
		}
	}))
}

// FuzzFloatRows holds that no bits make it panic or read more than there are.
func FuzzFloatRows(f *testing.F) {
	f.Add(make([]byte, 200), uint8(4), uint64(0), uint8(3), uint8(0))
	f.Add([]byte("a head and some lanes behind it, and then another head and its lanes"), uint8(3), uint64('a'), uint8(8), uint8(0))
	f.Fuzz(func(t *testing.T, payload []byte, width uint8, head uint64, bits, skip uint8) {
		r := NewBitReader(payload)
		r.Read(uint(skip) % 65)
		before := r.Remaining()
		lanes := make([]uint32, 64)
		rows := ReadFloatRows(&r, lanes, int(width%20), head, uint(bits)%70)
		if !r.Failed() {
			require.Equal(t, before-rows*(int(uint(bits)%70)+32*int(width%20)), r.Remaining())
		}
	})
}

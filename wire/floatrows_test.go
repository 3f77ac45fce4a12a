package wire

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// floatRowsOf is rows as ReadFloatRows has them, with what comes behind the last.
func floatRowsOf(values []float32, width int, behind []byte) (buf []byte) {
	w := NewBitWriter(make([]byte, 8192))
	for i := 0; i+width <= len(values); i += width {
		if i > 0 {
			w.Bool(true)
			w.Align()
		}
		for _, v := range values[i : i+width] {
			w.Write(uint64(math.Float32bits(v)), 32)
		}
	}
	return append(w.buf[:w.Finish():w.Finish()], behind...)
}

// TestFloatRowsAreRead holds that rows in one piece are what was written, wherever they end, and which of them are refused.
func TestFloatRowsAreRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		width := rapid.IntRange(1, 20).Draw(t, "width")
		values := rapid.SliceOfN(rapid.Float32(), width, 20*20).Draw(t, "values")
		count := len(values) / width
		bad := false
		for _, v := range values[:count*width] {
			bad = bad || !finite32(math.Float32bits(v))
		}
		behind := rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(t, "behind")
		if len(behind) > 0 {
			behind[0] &^= RowGoesOn
		}
		buf := floatRowsOf(values, width, behind)
		room := rapid.IntRange(0, count+2).Draw(t, "room")
		lanes := make([]uint32, room*width)
		rows, ok := ReadFloatRows(buf, lanes, width)
		require.Equal(t, room >= count && !bad, ok)
		require.Equal(t, min(count, room), rows)
		for i := range rows * width {
			require.Equal(t, math.Float32bits(values[i]), lanes[i])
		}
		if ok {
			r := NewBitReader(buf)
			r.Skip(count*(4*width+1) - 1)
			require.Equal(t, 8*len(behind), r.Remaining())
			for _, b := range behind {
				require.Equal(t, uint64(b), r.Read(8))
			}
		}
	})
}

// TestFloatRowsRefused holds that nothing but whole rows with a byte of one between them is taken.
func TestFloatRowsRefused(t *testing.T) {
	lanes := make([]uint32, 100)
	rows := floatRowsOf(make([]float32, 12), 3, []byte{0})
	for n := range len(rows) {
		got, ok := ReadFloatRows(rows[:n], lanes, 3)
		require.Equal(t, n%13 == 12, ok, "%d bytes", n) // then the bit behind the last is missing, which the next read finds
		require.LessOrEqual(t, got, 4)
	}
	for bit := 1; bit < 8; bit++ {
		illegal := floatRowsOf(make([]float32, 12), 3, nil)
		illegal[12] |= 1 << bit
		_, ok := ReadFloatRows(illegal, lanes, 3)
		require.False(t, ok, "bit %d", bit)
	}
	for lane := range 12 {
		for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
			values := make([]float32, 12)
			values[lane] = float32(v)
			_, ok := ReadFloatRows(floatRowsOf(values, 3, nil), lanes, 3)
			require.False(t, ok, "lane %d", lane)
		}
	}
	_, ok := ReadFloatRows(rows, lanes, 0)
	require.False(t, ok)
	_, ok = ReadFloatRows(rows, lanes[:11], 3)
	require.False(t, ok, "no room")
}

// TestAlign holds that padding is zeros up to the byte, and that skipping bytes is reading them.
func TestAlign(t *testing.T) {
	for before := uint(0); before < 200; before++ {
		w := NewBitWriter(make([]byte, 64))
		for i := uint(0); i < before; i++ {
			w.Bool(i%3 == 0)
		}
		w.Align()
		require.Zero(t, w.Bits()%8)
		require.Less(t, w.Bits()-int(before), 8)
		aligned := w.Bits()
		for i := range 20 {
			w.Write(uint64(i), 8)
		}
		buf := w.buf[:w.Finish()]
		for skip := range 21 {
			r := NewBitReader(buf)
			for i := uint(0); i < before; i++ {
				require.Equal(t, i%3 == 0, r.Bool())
			}
			require.True(t, r.Align())
			r.Skip(skip)
			require.Equal(t, 8*(20-skip), r.Remaining())
			for i := skip; i < 20; i++ {
				require.Equal(t, uint64(i), r.Read(8))
			}
			r.Skip(1)
			require.True(t, r.Failed())
		}
		if before%8 != 0 {
			buf[aligned/8-1] |= 0x80
			r := NewBitReader(buf)
			for i := uint(0); i < before; i++ {
				r.Bool()
			}
			require.False(t, r.Align())
			require.True(t, r.Failed())
		}
	}
}

func BenchmarkFloatRows(b *testing.B) {
	values := make([]float32, 28*10)
	for i := range values {
		values[i] = float32(i)
	}
	buf, lanes := floatRowsOf(values, 10, []byte{0}), make([]uint32, 280)
	for b.Loop() {
		if rows, ok := ReadFloatRows(buf, lanes, 10); rows != 28 || !ok {
			b.Fatal(rows)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/28, "ns/row")
}

// FuzzFloatRows holds that whatever is taken would have been written.
func FuzzFloatRows(f *testing.F) {
	f.Add(floatRowsOf(make([]float32, 12), 3, []byte{0}), byte(3))
	f.Fuzz(func(t *testing.T, payload []byte, width byte) {
		w := int(width % 20)
		lanes := make([]uint32, 64)
		rows, ok := ReadFloatRows(payload, lanes, w)
		if !ok {
			return
		}
		size := rows*(4*w+1) - 1
		values := make([]float32, rows*w)
		for i := range values {
			values[i] = math.Float32frombits(lanes[i])
		}
		require.Equal(t, payload[:size], floatRowsOf(values, w, nil))
	})
}

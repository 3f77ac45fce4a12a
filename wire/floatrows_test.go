package wire

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestFloatsAreCopied holds that what is copied is what reading lane by lane gives, and that what is not finite or cut off is
// refused.
func TestFloatsAreCopied(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Float32(), 0, 50).Draw(t, "values")
		if at := rapid.IntRange(0, 200).Draw(t, "at"); at < len(values) {
			values[at] = rapid.SampledFrom([]float32{
				float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1)), math.Float32frombits(0xFF80_0001),
			}).Draw(t, "bad")
		}
		var buf []byte
		bad := false
		for _, v := range values {
			buf = binary.LittleEndian.AppendUint32(buf, math.Float32bits(v))
			bad = bad || !finite32(math.Float32bits(v))
		}
		short := rapid.IntRange(0, len(buf)).Draw(t, "short")
		buf = append(buf, rapid.SliceOfN(rapid.Byte(), 0, 20).Draw(t, "behind")...)
		lanes := make([]uint32, len(values))
		require.Equal(t, !bad, CopyFloats(lanes, buf))
		for i, v := range values {
			require.Equal(t, math.Float32bits(v), lanes[i])
		}
		if short < 4*len(values) {
			require.False(t, CopyFloats(lanes, buf[:short]))
		}
	})
}

// One number that is not finite is refused wherever it stands, however many there are beside it.
func TestOneFloatThatIsNotFiniteIsRefused(t *testing.T) {
	for n := 1; n <= 20; n++ {
		for at := range n {
			for _, bad := range []uint32{0x7F80_0000, 0xFF80_0000, 0x7FC0_0001, 0xFF80_0001} {
				buf, lanes := []byte(nil), make([]uint32, n)
				for i := range n {
					v := math.Float32bits(float32(i) - 1.5)
					if i == at {
						v = bad
					}
					buf = binary.LittleEndian.AppendUint32(buf, v)
				}
				require.False(t, CopyFloats(lanes, buf), "%#x at %d of %d", bad, at, n)
			}
		}
	}
}

// TestAlign holds that padding is zeros up to the byte, that skipping bytes is reading them, and that a byte which was written
// can be written anew.
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
			w.Write(uint64(i^0xFF), 8)
		}
		for i := range 20 {
			w.Patch(aligned/8+i, byte(i))
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

func BenchmarkCopyFloats(b *testing.B) {
	buf, lanes := make([]byte, 28*40), make([]uint32, 280)
	for b.Loop() {
		if !CopyFloats(lanes, buf) {
			b.Fatal("refused")
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/28, "ns/row")
}

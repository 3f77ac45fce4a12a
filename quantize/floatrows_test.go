package quantize

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

func BenchmarkCopyFloats(b *testing.B) {
	buf, lanes := make([]byte, 28*40), make([]uint32, 280)
	for b.Loop() {
		if !CopyFloats(lanes, buf) {
			b.Fatal("refused")
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/28, "ns/row")
}

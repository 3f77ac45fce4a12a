package wire

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAxisEveryNumber: every legal byte is a value within [-1, 1] that comes back; -128 is none.
func TestAxisEveryNumber(t *testing.T) {
	for n := -128; n <= 127; n++ {
		r := NewReader([]byte{byte(n)})
		v := r.Axis()
		require.True(t, v >= -1 && v <= 1)
		if n == -128 {
			require.ErrorIs(t, r.Err(), ErrMalformed)
			require.Zero(t, v)
			continue
		}
		require.True(t, r.Done())
		require.Equal(t, float32(float64(n)/127), v)
		buf := make([]byte, 1)
		w := NewWriter(buf)
		require.Equal(t, NoFault, w.Axis(v))
		require.Equal(t, []byte{byte(n)}, w.Written())
		a, reason := AxisOf(float64(v))
		require.Equal(t, Axis(n), a)
		require.Equal(t, NoFault, reason)
	}
	require.Equal(t, float32(-1), Axis(-128).Float32())
	r := NewReader(nil)
	require.Zero(t, r.Axis())
	require.ErrorIs(t, r.Err(), ErrTruncated)
	w := NewWriter(nil)
	w.Axis(1)
	require.ErrorIs(t, w.Err(), ErrOverflow)
}

// TestAxisRounds: to the nearest, never towards zero as a plain conversion would.
func TestAxisRounds(t *testing.T) {
	for n := range 127 {
		low, high := float64(n)/127, float64(n+1)/127
		for part, want := range map[float64]int{0.01: n, 0.49: n, 0.51: n + 1, 0.99: n + 1} {
			f := low + (high-low)*part
			a, _ := AxisOf(f)
			b, _ := AxisOf(-f)
			require.Equal(t, Axis(want), a, "%g", f)
			require.Equal(t, -a, b, "left and right are alike")
		}
	}
	a, _ := AxisOf(math.Copysign(0, -1))
	require.Zero(t, a)
	require.Zero(t, math.Float32bits(a.Float32()), "one zero")
}

func TestAxisReports(t *testing.T) {
	for _, c := range []struct {
		f      float32
		want   float32
		reason FaultReason
	}{
		{1.0000001, 1, OutOfRange}, {-1.0000001, -1, OutOfRange}, {3e38, 1, OutOfRange}, {-3e38, -1, OutOfRange},
		{1, 1, NoFault}, {-1, -1, NoFault}, {math.SmallestNonzeroFloat32, 0, NoFault},
		{float32(math.NaN()), 0, NotFinite}, {float32(math.Inf(1)), 0, NotFinite}, {float32(math.Inf(-1)), 0, NotFinite},
	} {
		w := NewWriter(make([]byte, 1))
		require.Equal(t, c.reason, w.Axis(c.f), "%g", c.f)
		if c.reason == NotFinite {
			require.ErrorIs(t, w.Err(), ErrNotFinite)
			require.Empty(t, w.Written())
			continue
		}
		r := NewReader(w.Written())
		require.Equal(t, c.want, r.Axis())
		require.True(t, r.Done())
	}
}

// stick is a type of a user's that travels by both.
type stick struct{ X, Reach float32 }

func (s *stick) Serialize(w *Serializer) {
	w.Axis(&s.X)
	w.Half(&s.Reach)
}

func TestSerializerHalfAndAxis(t *testing.T) {
	var s Serializer
	for _, c := range []struct {
		v, want stick
		err     error
	}{
		{stick{0.5, 1.5}, stick{64.0 / 127, 1.5}, nil},
		{stick{-7, 1e9}, stick{-1, MaxHalf}, nil},
		{stick{float32(math.NaN()), 0}, stick{}, ErrNotFinite},
		{stick{0, float32(math.Inf(1))}, stick{}, ErrNotFinite},
	} {
		buf, back := make([]byte, 3), stick{}
		n, err := s.Measure(&c.v)
		m, wrote := s.Write(buf, &c.v)
		require.ErrorIs(t, err, c.err)
		require.ErrorIs(t, wrote, c.err)
		require.Equal(t, n, m)
		if err == nil {
			require.NoError(t, s.Read(buf, &back))
			require.Equal(t, c.want, back)
		}
	}
	w := NewWritingSerializer(make([]byte, 1))
	x := float32(2)
	require.Equal(t, OutOfRange, w.Axis(&x))
	m := NewMeasuringSerializer()
	require.Equal(t, OutOfRange, m.Axis(&x))
	require.Equal(t, 1, m.Position())
	var back stick
	require.ErrorIs(t, s.Read([]byte{0x80, 0, 0}, &back), ErrMalformed)
	require.ErrorIs(t, s.Read([]byte{0, 0, 0x7C}, &back), ErrMalformed)
}

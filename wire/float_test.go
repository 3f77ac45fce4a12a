package wire

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/internal/alloctest"
)

// halfValue returns the value of a finite half by the standard's definition: the plain form of Float16.Float32.
func halfValue(h uint16) float64 {
	sign, exponent, fraction := 1-2*float64(h>>15), int(h>>10&31), float64(h&1023)
	if exponent == 0 {
		return math.Copysign(math.Ldexp(fraction, -24), sign)
	}
	return sign * math.Ldexp(1024+fraction, exponent-25)
}

// TestHalfEveryNumber: each finite half has the standard's value, and converts back to itself.
func TestHalfEveryNumber(t *testing.T) {
	finite := 0
	for n := 0; n <= math.MaxUint16; n++ {
		h := Float16(n)
		if !h.Finite() {
			require.Zero(t, math.Float32bits(h.Float32()), "%04x", n)
			continue
		}
		finite++
		require.Equal(t, math.Float64bits(halfValue(uint16(n))), math.Float64bits(float64(h.Float32())), "%04x", n)
		got, reason := Float16Of(float64(h.Float32()))
		require.Equal(t, h, got)
		require.Equal(t, NoFault, reason)
	}
	require.Equal(t, 2*halfInfinite, finite)
}

// TestHalfRoundsToNearestEven tests all pairs of neighbours: values between them round to the nearer one, the middle to
// the even one, and a float64 close to the middle is not rounded twice.
func TestHalfRoundsToNearestEven(t *testing.T) {
	check := func(f float64, want uint16) {
		t.Helper()
		for sign, bit := range map[float64]uint16{1: 0, -1: halfSign} {
			if got, reason := Float16Of(sign * f); got != Float16(want|bit) || reason != NoFault {
				t.Fatalf("%g is %04x, %v, want %04x", sign*f, got, reason, want|bit)
			}
		}
	}
	for n := uint16(0); n < halfInfinite-1; n++ {
		low, high := halfValue(n), halfValue(n+1)
		middle, even := low+(high-low)/2, n+n&1
		check(middle, even)
		check(math.Nextafter(middle, 0), n)
		check(math.Nextafter(middle, 1e9), n+1)
		if float64(float32(middle)) == middle {
			check(float64(math.Nextafter32(float32(middle), 0)), n)
			check(float64(math.Nextafter32(float32(middle), 1e9)), n+1)
		}
		check(low+(high-low)*0.25, n)
		check(low+(high-low)*0.75, n+1)
	}
	check(math.SmallestNonzeroFloat64, 0)
	check(math.SmallestNonzeroFloat32, 0)
	check(math.Nextafter(65520, 0), halfInfinite-1)
}

// TestReaderHalfIsAlwaysFinite decodes every pair of bytes.
func TestReaderHalfIsAlwaysFinite(t *testing.T) {
	refused := 0
	for n := 0; n <= math.MaxUint16; n++ {
		b := []byte{byte(n), byte(n >> 8)}
		r := NewReader(b)
		v := r.Half()
		require.Zero(t, v-v)
		if r.Err() != nil {
			require.ErrorIs(t, r.Err(), ErrMalformed)
			require.False(t, Float16(n).Finite())
			refused++
			continue
		}
		again := make([]byte, 2)
		w := NewWriter(again)
		require.Equal(t, NoFault, w.Half(v))
		require.Equal(t, b, w.Written())
	}
	require.Equal(t, 2048, refused)
	for cut := range 2 {
		r := NewReader(make([]byte, cut))
		require.Zero(t, r.Half())
		require.ErrorIs(t, r.Err(), ErrTruncated)
	}
	w := NewWriter(make([]byte, 1))
	w.Half(1)
	require.ErrorIs(t, w.Err(), ErrOverflow)
}

func TestHalfAndAxisAllocateNothing(t *testing.T) {
	buf := make([]byte, 3)
	alloctest.Zero(t, 100, func() {
		w := NewWriter(buf)
		w.Half(1.5)
		w.Axis(2)
		r := NewReader(buf)
		r.Half()
		r.Axis()
	})
}

// FuzzHalf compares with the standard's definition, for any float64.
func FuzzHalf(f *testing.F) {
	for _, n := range []uint16{0, 1, 0x8001, 1023, 1024, 0x3C00, 0xC500, halfInfinite - 1} {
		f.Add(math.Float64bits(halfValue(n)))
		f.Add(math.Float64bits(halfValue(n) * 1.00048828125))
	}
	f.Fuzz(func(t *testing.T, bits uint64) {
		v := math.Float64frombits(bits)
		h, reason := Float16Of(v)
		require.True(t, h.Finite())
		if v-v != 0 {
			require.Equal(t, NotFinite, reason)
			return
		}
		require.Equal(t, math.Abs(v) >= 65520, reason == OutOfRange)
		if reason == OutOfRange {
			return
		}
		require.Equal(t, math.Signbit(v), h&halfSign != 0)
		// No other half is nearer.
		for _, n := range []Float16{h - 1, h + 1} {
			if n.Finite() && (n^h)&halfSign == 0 {
				require.LessOrEqual(t, math.Abs(v-halfValue(uint16(h))), math.Abs(v-halfValue(uint16(n))))
			}
		}
	})
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

// stick is a user's type with both.
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
		{stick{-7, 1e9}, stick{-1, MaxFloat16}, nil},
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

package wire

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arche-netcode/netcode/internal/alloctest"
)

// dumbBits is a model of a bit stream: one bool per bit.
type dumbBits []bool

func (d *dumbBits) write(v uint64, bits uint) {
	for i := range bits {
		*d = append(*d, v>>i&1 == 1)
	}
}

// bytes packs the model, bit 0 of byte 0 first.
func (d dumbBits) bytes() []byte {
	b := make([]byte, (len(d)+7)/8)
	for i, bit := range d {
		if bit {
			b[i/8] |= 1 << (i % 8)
		}
	}
	return b
}

// value is a number and its width.
type value struct {
	v    uint64
	bits uint
}

// low returns the bits low bits of v.
func low(v uint64, bits uint) uint64 {
	if bits == 64 {
		return v
	}
	return v & (1<<bits - 1)
}

func TestBitWriterRewindsAnOverflow(t *testing.T) {
	w := NewBitWriter(make([]byte, 3))
	w.Write(5, 20)
	mark := w
	w.Write(0, 5)
	require.True(t, w.Overflowed())
	require.Zero(t, w.Finish())
	w = mark
	require.False(t, w.Overflowed())
	w.Write(0, 4)
	require.False(t, w.Overflowed(), "an exact fit")
	require.Equal(t, 3, w.Finish())
}

func TestBitWriterAppend(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		src := rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(t, "src")
		count := rapid.IntRange(0, len(src)*8).Draw(t, "count")
		before := uint(rapid.IntRange(0, 64).Draw(t, "before"))
		buf := make([]byte, 100)
		w := NewBitWriter(buf)
		w.Write(math.MaxUint64, before)
		w.Append(src, count)
		w.Bool(true)
		var model dumbBits
		model.write(math.MaxUint64, before)
		for i := range count {
			model.write(uint64(src[i/8]>>(i%8)), 1)
		}
		model.write(1, 1)
		require.Equal(t, model.bytes(), buf[:w.Finish()])
	})
}

// varLength returns the documented length of a Var code.
func varLength(v uint64) int {
	b := 0
	for first := uint64(0); b < 62 && v-first >= 4<<b; b++ {
		first += 4 << b
	}
	return 2*b + 3
}

func TestVar(t *testing.T) {
	edges := []uint64{0, 1, 3, 4, 11, 12, 27, 28, 59, 60, math.MaxUint32, math.MaxUint64, math.MaxUint64 - 3, math.MaxUint64 - 4}
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.OneOf(rapid.SampledFrom(edges), rapid.Uint64(), rapid.Uint64Range(0, 300)).Draw(t, "v")
		before := uint(rapid.IntRange(0, 64).Draw(t, "before"))
		buf := make([]byte, 64)
		w := NewBitWriter(buf)
		w.Write(0, before)
		w.Var(v)
		require.Equal(t, int(before)+varLength(v), w.Bits())
		w.Write(0b101, 3)
		n := w.Finish()
		r := NewBitReader(buf[:n])
		r.Read(before)
		require.Equal(t, v, r.Var())
		require.Equal(t, uint64(0b101), r.Read(3))
		require.True(t, r.Done())
		// A code that is cut anywhere cannot be read.
		for cut := int(before) / 8; cut*8 < int(before)+varLength(v); cut++ {
			r := NewBitReader(buf[:cut])
			r.Read(before)
			require.Zero(t, r.Var())
			require.True(t, r.Failed())
		}
	})
}

func TestVarRefuses(t *testing.T) {
	code := func(zeros uint, payload uint64) []byte {
		buf := make([]byte, 40)
		w := NewBitWriter(buf)
		w.Write(0, zeros/2)
		w.Write(0, zeros-zeros/2)
		w.Write(1, 1)
		w.Write(payload, 64)
		w.Finish()
		return buf
	}
	for before := range uint(64) {
		for name, b := range map[string][]byte{
			"more than 64 bits":   code(62, 4),
			"the same, by far":    code(62, math.MaxUint64),
			"a prefix of 63":      code(63, 0),
			"a prefix of 100":     code(100, 0),
			"zeros without end":   make([]byte, 40),
			"nothing":             nil,
			"zeros to the end":    make([]byte, 3),
			"zeros to a word end": make([]byte, 8),
		} {
			shifted := make([]byte, 60)
			w := NewBitWriter(shifted)
			w.Write(math.MaxUint64, before)
			w.Append(b, len(b)*8)
			r := NewBitReader(shifted[:w.Finish()])
			r.Read(before)
			require.Zero(t, r.Var(), name)
			require.True(t, r.Failed(), name)
			require.Zero(t, r.Remaining(), name)
		}
	}
}

func TestBitReaderDone(t *testing.T) {
	r := NewBitReader(nil)
	require.True(t, r.Done())
	r = NewBitReader([]byte{0b0010_0001})
	require.False(t, r.Done(), "a byte is left")
	r.Read(3)
	require.False(t, r.Done(), "the padding is not zero")
	r.Read(3)
	require.True(t, r.Done())
	r.Read(65)
	require.True(t, r.Failed())
}

func TestBitsAllocateNothing(t *testing.T) {
	buf := make([]byte, 200)
	alloctest.Zero(t, 100, func() {
		w := NewBitWriter(buf)
		for i := range uint64(20) {
			w.Write(i, 17)
			w.Var(i * i * i)
			w.Bool(true)
		}
		r := NewBitReader(buf[:w.Finish()])
		for range 20 {
			r.Read(17)
			r.Var()
			r.Bool()
		}
		if !r.Done() {
			t.Fatal("not done")
		}
	})
}

// FuzzBits reads a stream by a script and writes the values again: the bytes must be equal.
func FuzzBits(f *testing.F) {
	buf := make([]byte, 64)
	w := NewBitWriter(buf)
	for i := range uint64(8) {
		w.Var(i * i * i * i)
		w.Write(i, 13)
		w.Bool(true)
	}
	f.Add(buf[:w.Finish()], []byte{255, 13, 1, 255, 13, 1, 255, 13, 1, 255, 13, 1})
	f.Add(make([]byte, 30), []byte{255, 64, 63, 65})
	f.Fuzz(func(t *testing.T, b, script []byte) {
		r := NewBitReader(b)
		again := make([]byte, len(b)+1)
		w := NewBitWriter(again)
		for _, step := range script {
			mark := w
			if step > 64 {
				w.Var(r.Var())
			} else {
				w.Write(r.Read(uint(step)), uint(step))
			}
			if r.Failed() {
				require.Zero(t, r.Remaining())
				w = mark
				break
			}
			require.Equal(t, len(b)*8, w.Bits()+r.Remaining())
		}
		whole := w.Bits() / 8
		require.LessOrEqual(t, whole, len(b))
		w.Finish()
		require.Equal(t, b[:whole], again[:whole])
	})
}

// Words equals appending bit by bit, with room and without.
func TestBitWriterWords(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.Uint64(), 0, 9).Draw(t, "words")
		count := rapid.IntRange(0, 64*len(words)).Draw(t, "count")
		begin, size := uint(rapid.IntRange(0, 64).Draw(t, "begin")), rapid.IntRange(0, 100).Draw(t, "size")
		writesTheBits(t, size, begin, words, count, func(w *BitWriter) { w.Words(words, count) })
	})
}

// writesTheBits compares appending count bits of words, after begin other bits and into size bytes, with writing each
// bit.
func writesTheBits(t require.TestingT, size int, begin uint, words []uint64, count int, write func(*BitWriter)) {
	whole := make([]byte, size+16)
	got, want := NewBitWriter(whole[:size:size]), NewBitWriter(make([]byte, size))
	got.Write(0x5A5A_5A5A_5A5A_5A5A, begin)
	want.Write(0x5A5A_5A5A_5A5A_5A5A, begin)
	write(&got)
	for i := range count {
		want.Write(words[i/64]>>(i%64), 1)
	}
	require.Equal(t, want.Bits(), got.Bits())
	got.Write(0x2A5, 10)
	want.Write(0x2A5, 10)
	require.Equal(t, want.Finish(), got.Finish())
	if !got.Overflowed() {
		require.Equal(t, want.buf, got.buf)
	}
	require.Equal(t, make([]byte, 16), whole[size:], "past the buffer")
}

// TestAlign: padding is zeros up to the byte boundary; skipping bytes equals reading them; a written byte can be
// replaced.
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

// fill preserves the invariants: zero bits above n, and no bits lost.
func TestFillKeepsTheReader(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(t, "bytes")
		filled, plain := NewBitReader(b), NewBitReader(b)
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			filled.fill()
			require.Equal(t, plain.Remaining(), filled.Remaining())
			require.True(t, filled.n >= 56 || len(filled.buf) == 0)
			require.Zero(t, filled.acc&^low(^uint64(0), filled.n))
			width := uint(rapid.IntRange(0, 64).Draw(t, "width"))
			require.Equal(t, plain.Read(width), filled.Read(width))
			require.Equal(t, plain.Failed(), filled.Failed())
		}
	})
}

package wire

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/internal/alloctest"
)

// script writes a value of every kind; readScript reads them. The tests of Writer and Reader use both, so that each
// kind is cut, fuzzed and compared.
func script(w *Writer, seed uint64, text string) {
	w.Uint8(uint8(seed))
	w.Uint16(uint16(seed >> 3))
	w.Uint32(uint32(seed >> 5))
	w.Uint64(seed)
	w.Int8(int8(seed >> 7))
	w.Int16(int16(seed >> 9))
	w.Int32(int32(seed >> 11))
	w.Int64(int64(seed >> 13))
	w.Float32(math.Float32frombits(uint32(seed >> 17)))
	w.Float64(math.Float64frombits(seed))
	w.Bool(seed&1 == 1)
	w.Varint(seed >> (seed & 63))
	w.Zigzag(int64(seed) >> (seed & 63))
	w.Bytes([]byte(text), 40)
	w.String(text, 40)
}

// readScript reads the values of script and writes them again to w.
func readScript(r *Reader, w *Writer) {
	w.Uint8(r.Uint8())
	w.Uint16(r.Uint16())
	w.Uint32(r.Uint32())
	w.Uint64(r.Uint64())
	w.Int8(r.Int8())
	w.Int16(r.Int16())
	w.Int32(r.Int32())
	w.Int64(r.Int64())
	w.Uint32(math.Float32bits(r.Float32()))
	w.Uint64(math.Float64bits(r.Float64()))
	w.Bool(r.Bool())
	w.Varint(r.Varint())
	w.Zigzag(r.Zigzag())
	w.Bytes(r.Bytes(40), 40)
	w.String(r.String(40), 40)
}

func TestWriterSeekAndReserve(t *testing.T) {
	buf := []byte{9, 9, 9, 9, 9, 9, 9, 9}
	w := NewWriter(buf)
	w.Uint8(1)
	at := w.Reserve(2)
	require.Equal(t, 1, at)
	w.Uint8(4)
	end := w.Position()
	require.Equal(t, []byte{1, 0, 0, 4}, w.Written())
	w.Seek(at)
	w.Uint16(0x0302)
	require.Equal(t, []byte{1, 2, 3, 4}, w.Written(), "going back shortens nothing")
	w.Seek(end)
	w.Uint8(5)
	require.Equal(t, []byte{1, 2, 3, 4, 5}, w.Written())
	require.Panics(t, func() { w.Seek(6) }, "bytes nobody wrote")
	require.Panics(t, func() { w.Seek(-1) })
	w.Reserve(4)
	require.ErrorIs(t, w.Err(), ErrOverflow)
	require.Len(t, w.Written(), 5)
}

func TestWriterRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		write func(w *Writer)
		want  error
	}{
		"bytes above the limit":  {func(w *Writer) { w.Bytes(make([]byte, 4), 3) }, ErrTooLong},
		"string above the limit": {func(w *Writer) { w.String("four", 3) }, ErrTooLong},
		"no UTF-8":               {func(w *Writer) { w.String("\xff", 3) }, ErrMalformed},
	} {
		w := NewWriter(make([]byte, 64))
		c.write(&w)
		w.Uint8(1)
		require.ErrorIs(t, w.Err(), c.want, name)
		require.Empty(t, w.Written(), name)
	}
}

func TestReaderRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		b    []byte
		read func(r *Reader)
		want error
	}{
		"a bool of 2":             {[]byte{2}, func(r *Reader) { r.Bool() }, ErrMalformed},
		"a long varint":           {[]byte{250, 0, 0, 1}, func(r *Reader) { r.Varint() }, ErrMalformed},
		"a length above the cap":  {[]byte{4, 1, 2, 3, 4}, func(r *Reader) { r.Bytes(3) }, ErrTooLong},
		"no bytes wanted":         {[]byte{1, 1}, func(r *Reader) { r.Bytes(-1) }, ErrTooLong},
		"a length above the rest": {[]byte{4, 1, 2, 3}, func(r *Reader) { r.Bytes(9) }, ErrTruncated},
		"a length of 2^64-1":      {AppendVarint(nil, math.MaxUint64), func(r *Reader) { r.Bytes(math.MaxInt) }, nil},
		"a length of 2^63":        {AppendVarint(nil, 1<<63), func(r *Reader) { r.String(math.MaxInt) }, nil},
		"no UTF-8":                {[]byte{1, 0xFF}, func(r *Reader) { _ = r.String(9) }, ErrMalformed},
		"a seek outside":          {[]byte{1}, func(r *Reader) { r.Seek(2) }, ErrTruncated},
		"a seek before":           {[]byte{1}, func(r *Reader) { r.Seek(-1) }, ErrTruncated},
	} {
		r := NewReader(c.b)
		c.read(&r)
		require.Error(t, r.Err(), name)
		if c.want != nil {
			require.ErrorIs(t, r.Err(), c.want, name)
		}
		require.Zero(t, r.Uint8(), name)
		require.False(t, r.Done(), name)
	}
}

func TestReaderSeek(t *testing.T) {
	r := NewReader([]byte{1, 2, 3})
	r.Uint16()
	require.Equal(t, 2, r.Position())
	require.Equal(t, 1, r.Remaining())
	r.Seek(0)
	require.Equal(t, uint8(1), r.Uint8())
	r.Seek(3)
	require.True(t, r.Done())
}

func TestReaderAndWriterAllocateNothing(t *testing.T) {
	buf, payload := make([]byte, 64), []byte("payload")
	alloctest.Zero(t, 100, func() {
		w := NewWriter(buf)
		w.Uint32(1)
		w.Varint(1 << 40)
		w.Bytes(payload, 10)
		w.String("text", 10)
		r := NewReader(w.Written())
		r.Uint32()
		r.Varint()
		r.Bytes(10)
		r.Bytes(10)
		if !r.Done() {
			t.Fatal("not done")
		}
	})
	claim := append(AppendVarint(nil, 1<<30), 1, 2, 3)
	alloctest.Zero(t, 100, func() {
		r := NewReader(claim)
		_ = r.String(1<<31 - 1)
	}, "a length is believed only if the bytes are there")
}

func FuzzReader(f *testing.F) {
	buf := make([]byte, 200)
	for i, text := range []string{"", "text", "forty bytes are quite enough for anybody"} {
		w := NewWriter(buf)
		script(&w, 0x0123_4567_89AB_CDEF<<i, text)
		f.Add(w.Written())
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		r := NewReader(b)
		w := NewWriter(make([]byte, len(b)))
		readScript(&r, &w)
		if r.Err() != nil {
			require.Zero(t, r.Uint64())
			return
		}
		require.NoError(t, w.Err())
		require.Equal(t, b[:r.Position()], w.Written(), "one legal encoding")
	})
}

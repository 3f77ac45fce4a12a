package wire

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arche-netcode/netcode/internal/alloctest"
)

// guarded returns a buffer of n bytes followed by guard bytes, and a function that tells whether those were touched.
func guarded(n int) (buf []byte, intact func() bool) {
	whole := bytes.Repeat([]byte{0xA5}, n+32)
	return whole[:n], func() bool { return bytes.Equal(whole[n:], bytes.Repeat([]byte{0xA5}, 32)) }
}

// All calls, in any order and nesting, give the bytes of the plain encoder, measure their number, fit a buffer of
// exactly that size, and are read back. A cut or a tail fails; a shift never panics.
func TestSerializerAgainstTheDumbModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawScript(t, 3)
		var d dumb
		c.model(&d)
		var s Serializer
		size, err := s.Measure(&c)
		require.NoError(t, err)
		require.Equal(t, len(d.b), size)

		buf, intact := guarded(size)
		n, err := s.Write(buf, &c)
		require.NoError(t, err, "exactly fitting")
		require.Equal(t, d.b, buf[:n])
		require.Zero(t, s.Remaining())
		require.True(t, s.Done())
		require.True(t, intact())

		var got scripted
		require.NoError(t, s.Read(buf, &got))
		again := make([]byte, size)
		n, err = s.Write(again, &got)
		require.NoError(t, err)
		require.Equal(t, buf, again[:n])

		small, intact := guarded(rapid.IntRange(0, size-1).Draw(t, "small"))
		_, err = s.Write(small, &c)
		require.ErrorIs(t, err, ErrOverflow)
		require.True(t, intact(), "nothing past the end")
		for cut := range buf {
			require.ErrorIs(t, s.Read(buf[:cut], &scripted{}), ErrTruncated)
			require.False(t, s.Done())
		}
		require.ErrorIs(t, s.Read(append(d.b, 0), &scripted{}), ErrTrailing)
		shifted(t, buf[1:])
		shifted(t, append([]byte{1}, buf...))
	})
}

// shifted reads bytes that are probably illegal: it fails, or the value encodes to the same bytes.
func shifted(t require.TestingT, b []byte) {
	var s Serializer
	var c scripted
	if s.Read(b, &c) != nil {
		return
	}
	again := make([]byte, len(b))
	n, err := s.Write(again, &c)
	require.NoError(t, err)
	require.Equal(t, b, again[:n], "one legal encoding")
}

func FuzzSerializer(f *testing.F) {
	var all scripted
	for i, kind := range kinds() {
		st := step{kind: kind}
		st.u = st.legal(0x0123_4567_89AB_CDEF >> i)
		switch {
		case isList(kind):
			st.list = []uint64{st.legal(1), st.legal(1 << 40), st.legal(uint64(i) << 13)}
		case kind == "each":
			st.kids = []scripted{{}, {[]step{{kind: "u8", u: 7}}}}
		case kind == "nested" || kind == "optional":
			st.child = &scripted{[]step{{kind: "pint", u: 1 << 30}, {kind: "optional"}}}
		}
		st.text, st.texts = "text", []string{"", "söme"}
		one := scripted{[]step{st}}
		all.steps = append(all.steps, st)
		f.Add(written(one))
	}
	f.Add(written(all))
	f.Fuzz(func(t *testing.T, b []byte) { shifted(t, b) })
}

func written(c scripted) []byte {
	buf := make([]byte, 4096)
	var s Serializer
	n, err := s.Write(buf, &c)
	if err != nil {
		panic(err)
	}
	return buf[:n]
}

// either is a type whose method is a function of the test.
type either func(s *Serializer)

func (f either) Serialize(s *Serializer) { f(s) }

func TestSerializerDirections(t *testing.T) {
	type direction struct{ reading, writing, measuring bool }
	of := func(s *Serializer) direction { return direction{s.IsReading(), s.IsWriting(), s.IsMeasuring()} }
	for name, c := range map[string]struct {
		s    Serializer
		want direction
	}{
		"the zero value measures": {Serializer{}, direction{measuring: true}},
		"measuring":               {NewMeasuringSerializer(), direction{measuring: true}},
		"reading":                 {NewReadingSerializer([]byte{7}), direction{reading: true}},
		"writing":                 {NewWritingSerializer(make([]byte, 1)), direction{writing: true}},
	} {
		require.Equal(t, c.want, of(&c.s), name)
		v := uint8(5)
		require.Zero(t, c.s.Position())
		c.s.Uint8(&v)
		require.Equal(t, 1, c.s.Position(), name)
		require.True(t, c.s.Done(), name)
		require.Equal(t, map[bool]uint8{true: 7, false: 5}[c.want.reading], v, name)
		if !c.want.measuring {
			require.Zero(t, c.s.Remaining())
			c.s.Uint8(&v)
			require.Error(t, c.s.Err())
		}
	}
	s := NewWritingSerializer(make([]byte, 4))
	mark := s // a copy is a mark
	v := uint16(1)
	s.Uint16(&v)
	require.Equal(t, 2, s.Remaining())
	require.Equal(t, []byte{1, 0}, s.Raw())
	mark.Uint16(&v)
	require.Equal(t, 2, mark.Position())
	m := NewMeasuringSerializer()
	require.Nil(t, m.Raw())
	require.Equal(t, math.MaxInt, m.Remaining())
	rest := NewReadingSerializer([]byte{1, 2, 3})
	rest.Uint16(&v)
	require.Equal(t, []byte{3}, rest.Raw())
	rest.Uint16(&v)
	require.Nil(t, rest.Raw())
	full := NewWritingSerializer(nil)
	full.Uint16(&v)
	require.Zero(t, full.Remaining())
}

// The first error stays, nothing moves after it, and every read gives zero, so that loops end.
func TestSerializerErrorIsSticky(t *testing.T) {
	s := NewReadingSerializer([]byte{2, 9, 9, 9, 9, 9, 9, 9, 9, 9})
	on := true
	s.Bool(&on)
	require.ErrorIs(t, s.Err(), ErrMalformed)
	at := s.Position()
	number, word, text, list, strs, blobs := uint64(4), wordEnum(4), "old", []int32{4}, []string{"old"}, [][]byte{{1}}
	runes, raw, count, f, kids, next := []rune{4}, []byte{4}, 4, 4.0, []scripted{{}}, &scripted{}
	s.Uint64(&number)
	SerializeEnum(&s, &word)
	s.String(&text, 9)
	SerializeSlice(&s, &list, 9)
	s.Strings(&strs, 9, 9)
	s.ByteSlices(&blobs, 9, 9)
	s.Runes(&runes, 9)
	s.Bytes(&raw, 9)
	s.Count(&count, 9, 1)
	s.FiniteFloat64(&f)
	SerializeEach(&s, &kids, 9)
	SerializeOptional(&s, &next)
	s.Fail(ErrTooLong)
	require.ErrorIs(t, s.Err(), ErrMalformed)
	require.Equal(t, at, s.Position())
	require.Zero(t, s.Remaining())
	require.False(t, on)
	require.Zero(t, number)
	require.Zero(t, word)
	require.Zero(t, f)
	require.Zero(t, count)
	require.Nil(t, next)
	for _, empty := range []any{text, list, strs, blobs, runes, raw, kids} {
		require.Empty(t, empty)
	}
	require.Panics(t, func() { s.Fail(nil) })
}

// link is a type that contains itself.
type link struct {
	Next *link
}

func (l *link) Serialize(s *Serializer) { SerializeOptional(s, &l.Next) }

// pair contains itself twice, so that a cycle has 2^64 paths.
type pair struct{ a, b *pair }

func (p *pair) Serialize(s *Serializer) {
	SerializeOptional(s, &p.a)
	SerializeOptional(s, &p.b)
}

func TestSerializerDepthIsCapped(t *testing.T) {
	chain := func(n int) *link {
		var l *link
		for range n {
			l = &link{l}
		}
		return l
	}
	var s Serializer
	buf := make([]byte, 200)
	n, err := s.Write(buf, chain(MaxDepth))
	require.NoError(t, err)
	require.Equal(t, MaxDepth, n)
	var got link
	require.NoError(t, s.Read(buf[:n], &got))
	require.Equal(t, chain(MaxDepth), &got)

	_, err = s.Write(buf, chain(MaxDepth+1))
	require.ErrorIs(t, err, ErrTooDeep)
	_, err = s.Measure(chain(MaxDepth + 1))
	require.ErrorIs(t, err, ErrTooDeep)
	require.ErrorIs(t, s.Read(bytes.Repeat([]byte{1}, 1<<20), &got), ErrTooDeep)

	ring := &link{}
	ring.Next = ring
	_, err = s.Measure(ring)
	require.ErrorIs(t, err, ErrTooDeep, "a circle of pointers")
	both := &pair{}
	both.a, both.b = both, both
	_, err = s.Write(make([]byte, 1<<20), both)
	require.ErrorIs(t, err, ErrTooDeep, "after the error nothing is walked")
}

// With packing off, packed integers have their size in memory.
func TestSerializerDebugTurnsPackingOff(t *testing.T) {
	type numbers struct {
		A int16
		B uint16
		C int32
		D int64
	}
	v, list := numbers{-2, 3, -4, 5}, []uint32{6}
	call := either(func(s *Serializer) {
		s.PackedInt16(&v.A)
		s.PackedUint16(&v.B)
		s.PackedInt32(&v.C)
		s.PackedInt64(&v.D)
		SerializePackedSlice(s, &list, 3)
	})
	var s Serializer
	n, err := s.Measure(call)
	require.NoError(t, err)
	require.Equal(t, 6, n)
	require.False(t, s.Debugging())
	s.Debug()
	require.True(t, s.Debugging())
	n, err = s.Measure(call)
	require.NoError(t, err)
	require.Equal(t, 16+1+4, n)
	buf := make([]byte, n)
	_, err = s.Write(buf, call)
	require.NoError(t, err)
	v, list = numbers{}, nil
	require.NoError(t, s.Read(buf, call))
	require.Equal(t, numbers{-2, 3, -4, 5}, v)
	require.Equal(t, []uint32{6}, list)
}

// sample has a field of each kind that is repeated each tick.
type sample struct {
	Number int32
	Small  uint16
	State  byteEnum
	Text   []byte
	List   []float32
	Packed []int32
	Whole  mixed
	Kids   []kid
	value  *Value[mixed]
}

type kid struct{ A, B uint8 }

func (k *kid) Serialize(s *Serializer) {
	s.Uint8(&k.A)
	s.Uint8(&k.B)
}

func (v *sample) Serialize(s *Serializer) {
	s.Int32(&v.Number)
	s.PackedUint16(&v.Small)
	SerializeEnumWithin(s, &v.State, 0, 9)
	s.Bytes(&v.Text, 9)
	SerializeSlice(s, &v.List, 9)
	SerializePackedSlice(s, &v.Packed, 9)
	SerializeValue(s, v.value, &v.Whole)
	SerializeEach(s, &v.Kids, 9)
}

func TestSerializerAllocatesNothing(t *testing.T) {
	value := mixedValue()
	v := &sample{1, 2, 3, []byte("text"), []float32{1, 2}, []int32{1, -2}, mixed{I: 1}, []kid{{1, 2}, {3, 4}}, value}
	got := &sample{value: value}
	buf := make([]byte, 200)
	var s Serializer
	alloctest.Zero(t, 100, func() {
		size, err := s.Measure(v)
		n, err2 := s.Write(buf, v)
		if err != nil || err2 != nil || size != n {
			t.Fatal(err, err2)
		}
		if err := s.Read(buf[:n], got); err != nil {
			t.Fatal(err)
		}
	}, "once the slices are there")
	require.Equal(t, v, got)
}

// A value that a reader would refuse is refused when it is written or measured.
func TestSerializerRefusesToWrite(t *testing.T) {
	long, words, nan := strings.Repeat("x", 9), []uint16{1, 2, 3, 4}, math.NaN()
	odd, surrogate, inf := "\xff", rune(0xD800), float32(math.Inf(1))
	runes, texts, blobs, kids := []rune{surrogate}, []string{"", odd}, [][]byte{{1, 2, 3, 4}}, make([]scripted, 4)
	color, minus := negativeEnum(201), -1
	none := []nothing{{}}
	own := errors.New("own")
	for name, c := range map[string]struct {
		call either
		want error
	}{
		"a long string":            {func(s *Serializer) { s.String(&long, 8) }, ErrTooLong},
		"bytes that are no UTF-8":  {func(s *Serializer) { s.String(&odd, 8) }, ErrMalformed},
		"one of strings no UTF-8":  {func(s *Serializer) { s.Strings(&texts, 8, 8) }, ErrMalformed},
		"many strings":             {func(s *Serializer) { s.Strings(&texts, 1, 8) }, ErrTooLong},
		"long bytes":               {func(s *Serializer) { s.Bytes(&blobs[0], 3) }, ErrTooLong},
		"one of bytes too long":    {func(s *Serializer) { s.ByteSlices(&blobs, 3, 3) }, ErrTooLong},
		"many bytes":               {func(s *Serializer) { s.ByteSlices(&blobs, 0, 9) }, ErrTooLong},
		"many words":               {func(s *Serializer) { SerializeSlice(s, &words, 3) }, ErrTooLong},
		"many packed":              {func(s *Serializer) { SerializePackedSlice(s, &words, 3) }, ErrTooLong},
		"many elements":            {func(s *Serializer) { SerializeEach(s, &kids, 3) }, ErrTooLong},
		"elements without bytes":   {func(s *Serializer) { SerializeEach(s, &none, 3) }, ErrMalformed},
		"half a surrogate pair":    {func(s *Serializer) { s.Rune(&surrogate) }, ErrMalformed},
		"one of runes of that":     {func(s *Serializer) { s.Runes(&runes, 3) }, ErrMalformed},
		"many runes":               {func(s *Serializer) { s.Runes(&runes, 0) }, ErrTooLong},
		"not a number":             {func(s *Serializer) { s.FiniteFloat64(&nan) }, ErrNotFinite},
		"an infinity":              {func(s *Serializer) { s.FiniteFloat32(&inf) }, ErrNotFinite},
		"an unknown enumerator":    {func(s *Serializer) { SerializeEnumWithin(s, &color, -3, 200) }, ErrMalformed},
		"a negative count":         {func(s *Serializer) { s.Count(&minus, 8, 1) }, ErrTooLong},
		"what Serialize refuses":   {func(s *Serializer) { s.Fail(own); s.Fail(ErrTooLong) }, own},
		"an error before a nested": {func(s *Serializer) { s.Fail(own); s.Nested(either(func(*Serializer) { panic("called") })) }, own},
	} {
		var s Serializer
		_, err := s.Measure(c.call)
		require.ErrorIs(t, err, c.want, name)
		_, err = s.Write(make([]byte, 64), c.call)
		require.ErrorIs(t, err, c.want, name)
	}
}

type nothing struct{}

func (*nothing) Serialize(*Serializer) {}

// Illegal bytes are refused, whatever they claim.
func TestSerializerRefusesToRead(t *testing.T) {
	many := AppendVarint(nil, math.MaxUint64)
	for name, c := range map[string]struct {
		b    []byte
		call either
		want error
	}{
		"a flag of 2":            {[]byte{1, 2}, func(s *Serializer) { SerializeSlice(s, &[]flag{}, 3) }, ErrMalformed},
		"half a surrogate pair":  {[]byte{0, 0xD8, 0, 0}, func(s *Serializer) { s.Rune(new(rune)) }, ErrMalformed},
		"past Unicode":           {[]byte{0, 0, 0x11, 0}, func(s *Serializer) { s.Rune(new(rune)) }, ErrMalformed},
		"65536 in 16 bits":       {[]byte{249, 0xF7, 0x10}, func(s *Serializer) { s.PackedUint16(new(uint16)) }, ErrMalformed},
		"32768 in 16 bits":       {[]byte{249, 0xF7, 0x10}, func(s *Serializer) { s.PackedInt16(new(int16)) }, ErrMalformed},
		"2^32 in 32 bits":        {[]byte{252, 1, 0, 0, 0, 0}, func(s *Serializer) { s.PackedUint32(new(uint32)) }, ErrMalformed},
		"a long form":            {[]byte{241, 0}, func(s *Serializer) { s.PackedInt64(new(int64)) }, ErrMalformed},
		"NaN":                    {[]byte{0, 0, 0xC0, 0x7F}, func(s *Serializer) { s.FiniteFloat32(new(float32)) }, ErrMalformed},
		"infinite":               {[]byte{0, 0, 0, 0, 0, 0, 0xF0, 0x7F}, func(s *Serializer) { s.FiniteFloat64(new(float64)) }, ErrMalformed},
		"an unknown enumerator":  {[]byte{201, 0}, func(s *Serializer) { SerializeEnumWithin(s, new(negativeEnum), -3, 200) }, ErrMalformed},
		"2^64-1 words":           {many, func(s *Serializer) { SerializeSlice(s, &[]uint64{}, math.MaxInt) }, ErrTruncated},
		"2^64-1 packed":          {many, func(s *Serializer) { SerializePackedSlice(s, &[]uint64{}, math.MaxInt) }, ErrTruncated},
		"2^64-1 strings":         {many, func(s *Serializer) { s.Strings(&[]string{}, math.MaxInt, 9) }, ErrTruncated},
		"2^64-1 runes":           {many, func(s *Serializer) { s.Runes(&[]rune{}, math.MaxInt) }, ErrTruncated},
		"2^64-1 byte slices":     {many, func(s *Serializer) { s.ByteSlices(&[][]byte{}, math.MaxInt, 9) }, ErrTruncated},
		"2^64-1 elements":        {many, func(s *Serializer) { SerializeEach(s, &[]scripted{}, math.MaxInt) }, ErrTruncated},
		"more than allowed":      {[]byte{4, 1, 2, 3, 4}, func(s *Serializer) { SerializeSlice(s, &[]uint8{}, 3) }, ErrTooLong},
		"elements without bytes": {[]byte{1, 1}, func(s *Serializer) { SerializeEach(s, &[]nothing{}, 3) }, ErrMalformed},
		"a tail":                 {[]byte{1}, func(*Serializer) {}, ErrTrailing},
	} {
		var s Serializer
		err := s.Read(c.b, c.call)
		if len(c.b) == len(many) && c.b[0] == 255 { // exceeds the largest int, or the existing bytes
			require.Error(t, err, name)
			continue
		}
		require.ErrorIs(t, err, c.want, name)
	}
}

// A small message cannot make the reader allocate much memory: not by a count, by elements that are large in memory and
// small on the wire, or by depth.
func TestSerializerAllocatesNoMoreThanTheBytesJustify(t *testing.T) {
	type large struct {
		scripted
		_ [4096]byte
	}
	allocated := func(b []byte, v Serializable) uint64 {
		var s Serializer
		require.Error(t, s.Read(b, v)) // Its buffers grow once.
		return alloctest.Bytes(t, func() { require.Error(t, s.Read(b, v)) })
	}
	claim := append(AppendVarint(nil, 1000), bytes.Repeat([]byte{0xFF}, 1000)...)
	words := either(func(s *Serializer) { SerializeSlice(s, new([]uint64), 1<<30) })
	elements := either(func(s *Serializer) { SerializeEach(s, new([]large), 1<<30) })
	texts := either(func(s *Serializer) { s.Strings(new([]string), 1<<30, 1<<30) })
	require.Less(t, allocated(claim, words), uint64(4096))
	require.Less(t, allocated(claim, elements), uint64(65536))
	require.Less(t, allocated(claim, texts), uint64(4096))
	require.Less(t, allocated(bytes.Repeat([]byte{1}, 60000), &link{}), uint64(1<<16))
}

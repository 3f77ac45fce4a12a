package wire

import (
	"bytes"
	"errors"
	"math"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A value that no reader would take is refused on its way out, and when it is measured.
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

// Bytes that are no legal encoding are refused, whatever they claim.
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
		"2^64-1 values":          {many, func(s *Serializer) { SerializeValues(s, mixedValue(), &[]mixed{}, math.MaxInt) }, ErrTruncated},
		"2^64-1 elements":        {many, func(s *Serializer) { SerializeEach(s, &[]scripted{}, math.MaxInt) }, ErrTruncated},
		"more than allowed":      {[]byte{4, 1, 2, 3, 4}, func(s *Serializer) { SerializeSlice(s, &[]uint8{}, 3) }, ErrTooLong},
		"elements without bytes": {[]byte{1, 1}, func(s *Serializer) { SerializeEach(s, &[]nothing{}, 3) }, ErrMalformed},
		"a tail":                 {[]byte{1}, func(*Serializer) {}, ErrTrailing},
	} {
		var s Serializer
		err := s.Read(c.b, c.call)
		if len(c.b) == len(many) && c.b[0] == 255 { // above a cap of the largest int, or more than there is
			require.Error(t, err, name)
			continue
		}
		require.ErrorIs(t, err, c.want, name)
	}
}

// A small message cannot make the reader allocate much: not by a count, not by elements that are large in
// memory and small on the wire, not by depth.
func TestSerializerAllocatesWhatTheBytesJustify(t *testing.T) {
	type large struct {
		scripted
		_ [4096]byte
	}
	allocated := func(b []byte, v Serializable) uint64 {
		var before, after runtime.MemStats
		var s Serializer
		least := uint64(math.MaxUint64) // others allocate too
		for range 5 {
			runtime.ReadMemStats(&before)
			err := s.Read(b, v)
			runtime.ReadMemStats(&after)
			require.Error(t, err)
			least = min(least, after.TotalAlloc-before.TotalAlloc)
		}
		return least
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

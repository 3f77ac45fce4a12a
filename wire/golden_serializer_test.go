package wire

import (
	"math"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/internal/rowtest"
)

// goldenList parses the values of a vector, in the base of their kind, as 64 bits.
func goldenList(t *testing.T, kind, text string) (list []uint64) {
	t.Helper()
	if text == "-" {
		return nil
	}
	for _, word := range strings.Split(text, ",") {
		switch {
		case kind[0] == 'f':
			list = append(list, rowtest.Number(t, func(s string) (uint64, error) { return strconv.ParseUint(s, 16, 64) }, word))
		case word[0] == '-':
			list = append(list, uint64(rowtest.Number(t, rowtest.Int, word)))
		default:
			list = append(list, rowtest.Number(t, rowtest.Uint, word))
		}
	}
	return list
}

// goldenCall compares one call of a serializer with the bytes: measured, written and read.
func goldenCall(t *testing.T, b []byte, call either) {
	t.Helper()
	var s Serializer
	n, err := s.Measure(call)
	require.NoError(t, err)
	require.Equal(t, len(b), n)
	buf := make([]byte, len(b))
	_, err = s.Write(buf, call)
	require.NoError(t, err)
	require.Equal(t, b, buf)
	require.NoError(t, s.Read(b, call))
}

// goldenMany is goldenCall for a list of numbers.
func goldenMany[T any](from func(uint64) T, to func(T) uint64, serialize func(*Serializer, *[]T)) func(*testing.T, []uint64, []byte) {
	return func(t *testing.T, list []uint64, b []byte) {
		t.Helper()
		v := casts(list, from)
		goldenCall(t, b, func(s *Serializer) {
			if s.IsReading() {
				clear(v)
			}
			serialize(s, &v)
		})
		require.Equal(t, list, casts2(v, to))
	}
}

func goldenFixed[T Fixed](from func(uint64) T, to func(T) uint64, slice bool) func(*testing.T, []uint64, []byte) {
	return goldenMany(from, to, func(s *Serializer, v *[]T) {
		if slice {
			SerializeSlice(s, v, 300)
		} else {
			SerializeArray(s, *v)
		}
	})
}

func goldenPacked[T Packable](slice bool) func(*testing.T, []uint64, []byte) {
	return goldenMany(func(u uint64) T { return T(u) }, func(v T) uint64 { return uint64(v) }, func(s *Serializer, v *[]T) {
		if slice {
			SerializePackedSlice(s, v, 300)
		} else {
			SerializePacked(s, &(*v)[0])
		}
	})
}

func goldenArrays(slice bool) map[string]func(*testing.T, []uint64, []byte) {
	return map[string]func(*testing.T, []uint64, []byte){
		"bool": goldenFixed(toBool, ofBool, slice), "f32": goldenFixed(f32of, of32, slice),
		"f64": goldenFixed(math.Float64frombits, math.Float64bits, slice),
		"i8":  goldenFixed(cast[int8], back, slice), "i16": goldenFixed(cast[int16], back, slice),
		"i32": goldenFixed(cast[int32], back, slice), "i64": goldenFixed(cast[int64], back, slice),
		"u8": goldenFixed(cast[uint8], back, slice), "u16": goldenFixed(cast[uint16], back, slice),
		"u32": goldenFixed(cast[uint32], back, slice), "u64": goldenFixed(cast[uint64], back, slice),
		"int": goldenFixed(cast[int], back, slice), "uint": goldenFixed(cast[uint], back, slice),
	}
}

func goldenPackeds(slice bool) map[string]func(*testing.T, []uint64, []byte) {
	return map[string]func(*testing.T, []uint64, []byte){
		"i16": goldenPacked[int16](slice), "i32": goldenPacked[int32](slice), "i64": goldenPacked[int64](slice),
		"u16": goldenPacked[uint16](slice), "u32": goldenPacked[uint32](slice), "u64": goldenPacked[uint64](slice),
	}
}

// goldenTexts compares strings and byte slices with the bytes.
func goldenTexts(t *testing.T, kind, text string, b []byte) {
	var texts []string
	var blobs [][]byte
	for _, word := range strings.Split(text, ",") {
		blobs = append(blobs, rowtest.Number(t, rowtest.Bytes, word))
		texts = append(texts, string(blobs[len(blobs)-1]))
	}
	want := append([]string(nil), texts...)
	goldenCall(t, b, func(s *Serializer) {
		if kind == "strings" {
			s.Strings(&texts, 9, 9)
			return
		}
		s.ByteSlices(&blobs, 9, 9)
	})
	for i := range want {
		require.Equal(t, want[i], texts[i])
		require.Equal(t, want[i], string(blobs[i]))
	}
}

func goldenValue(t *testing.T, text string, b []byte) {
	f, rest, _ := strings.Cut(text, ",")
	n := goldenList(t, "i", rest)
	want := []uint64{goldenList(t, "f", f)[0], n[0], n[1], n[2], n[3]}
	v := mixed{math.Float64frombits(want[0]), int32(n[0]), int16(n[1]), n[2] == 1, [1]uint8{uint8(n[3])}}
	goldenCall(t, b, func(s *Serializer) { SerializeValue(s, mixedValue(), &v) })
	require.Equal(t, want, []uint64{math.Float64bits(v.F), uint64(v.I), uint64(v.S), uint64(bit(v.On)), uint64(v.Last[0])})
}

func goldenRefused(t *testing.T, call string, b []byte) {
	calls := map[string]either{
		"rune": func(s *Serializer) { s.Rune(new(rune)) }, "runes": func(s *Serializer) { s.Runes(new([]rune), 9) },
		"packed-u16": func(s *Serializer) { s.PackedUint16(new(uint16)) }, "packed-i16": func(s *Serializer) { s.PackedInt16(new(int16)) },
		"packed-u32": func(s *Serializer) { s.PackedUint32(new(uint32)) }, "packed-i32": func(s *Serializer) { s.PackedInt32(new(int32)) },
		"packed-u64": func(s *Serializer) { s.PackedUint64(new(uint64)) },
		"slice-bool": func(s *Serializer) { SerializeSlice(s, new([]bool), 9) },
		"slice-u16":  func(s *Serializer) { SerializeSlice(s, new([]uint16), 9) },
		"strings":    func(s *Serializer) { s.Strings(new([]string), 9, 9) },
		"value":      func(s *Serializer) { SerializeValue(s, mixedValue(), new(mixed)) },
		"finite":     func(s *Serializer) { s.FiniteFloat32(new(float32)) },
		"optional":   func(s *Serializer) { SerializeOptional(s, new(*kid)) },
	}
	var s Serializer
	require.Contains(t, calls, call)
	require.Error(t, s.Read(b, calls[call]))
}

// one is a byte with a Serialize method.
type one struct{ U uint8 }

func (o *one) Serialize(s *Serializer) { s.Uint8(&o.U) }

// TestGoldenSerializer compares the serializer with vectors that another program wrote from the description of the
// format.
func TestGoldenSerializer(t *testing.T) {
	seen := map[string]int{}
	for i, line := range rowtest.Vectors(os.ReadFile("testdata/golden_serializer.txt")) {
		word := strings.Fields(line)
		seen[word[0]]++
		t.Run(strconv.Itoa(i+1)+" "+word[0]+" "+word[1], func(t *testing.T) {
			b := rowtest.Number(t, rowtest.Bytes, word[len(word)-1])
			switch word[0] {
			case "rune":
				goldenMany(cast[rune], back, func(s *Serializer, v *[]rune) { s.Rune(&(*v)[0]) })(t, goldenList(t, "i", word[1]), b)
			case "runes":
				goldenMany(cast[rune], back, func(s *Serializer, v *[]rune) { s.Runes(v, 9) })(t, goldenList(t, "i", word[1]), b)
			case "packed", "packedslice":
				goldenPackeds(word[0] == "packedslice")[word[1]](t, goldenList(t, word[1], word[2]), b)
			case "array", "slice":
				goldenArrays(word[0] == "slice")[word[1]](t, goldenList(t, word[1], word[2]), b)
			case "strings", "byteslices":
				goldenTexts(t, word[0], word[1], b)
			case "value":
				goldenValue(t, word[1], b)
			case "optional":
				v := goldenList(t, "i", word[1])
				p := map[uint64]*one{1: {uint8(v[1])}}[v[0]]
				goldenCall(t, b, func(s *Serializer) { SerializeOptional(s, &p) })
				require.Equal(t, v[0] == 1, p != nil)
				require.True(t, p == nil || uint64(p.U) == v[1])
			case "refuse":
				goldenRefused(t, word[1], b)
			default:
				t.Fatal(word[0])
			}
		})
	}
	require.Len(t, seen, 11)
}

// bit returns 1 for true.
func bit(b bool) (v uint32) {
	if b {
		v = 1
	}
	return v
}

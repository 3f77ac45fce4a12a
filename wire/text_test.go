package wire

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arche-netcode/netcode/internal/alloctest"
)

// TestTextAgainstString compares Text with a string that is cut at whole characters.
func TestTextAgainstString(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var text Text16
		model := ""
		cut := func(s string, n int) string {
			for len(s) > n || !utf8.ValidString(s) {
				s = s[:len(s)-1]
			}
			return s
		}
		t.Repeat(map[string]func(*rapid.T){
			"set": func(t *rapid.T) {
				s := rapid.String().Draw(t, "s")
				all := text.Set(s)
				require.Equal(t, len(s) <= 16, all)
				model = cut(s, min(len(s), 16))
			},
			"append": func(t *rapid.T) {
				s := rapid.StringN(0, 6, -1).Draw(t, "s")
				require.Equal(t, len(model+s) <= 16, text.Append(s))
				model += cut(s, min(len(s), 16-len(model)))
			},
			"truncate": func(t *rapid.T) {
				n := rapid.IntRange(-1, 18).Draw(t, "n")
				text.Truncate(n)
				model = cut(model, min(max(n, 0), len(model)))
			},
			"": func(t *rapid.T) {
				require.Equal(t, model, text.String())
				require.Equal(t, len(model), text.Len())
				require.True(t, text.Is(model) && !text.Is(model+"x"))
				require.Equal(t, NewText[[16]byte](model), text, "nothing is left behind the text")
				for i := range len(model) {
					require.Equal(t, model[i], text.At(i))
				}
			},
		})
	})
}

// TestTextOfBadUTF8 checks that invalid UTF-8 is replaced.
func TestTextOfBadUTF8(t *testing.T) {
	var text Text16
	require.True(t, text.Set("a\xffb"))
	require.Equal(t, "a\uFFFDb", text.String())
	require.False(t, text.Set(strings.Repeat("é", 9)))
	require.Equal(t, strings.Repeat("é", 8), text.String())
	require.False(t, text.Append("x"))
	require.Panics(t, func() { text.At(16) })
}

// TestListAgainstSlice compares List with a slice.
func TestListAgainstSlice(t *testing.T) {
	type slot struct {
		Item  uint16
		Count uint8
	}
	rapid.Check(t, func(t *rapid.T) {
		var list List[slot, [5]slot]
		model := []slot{}
		draw := rapid.Custom(func(t *rapid.T) slot {
			return slot{rapid.Uint16().Draw(t, "item"), rapid.Uint8().Draw(t, "count")}
		})
		t.Repeat(map[string]func(*rapid.T){
			"append": func(t *rapid.T) {
				v := draw.Draw(t, "v")
				if require.Equal(t, len(model) < 5, list.Append(v)); len(model) < 5 {
					model = append(model, v)
				}
			},
			"insert": func(t *rapid.T) {
				v, i := draw.Draw(t, "v"), rapid.IntRange(0, len(model)).Draw(t, "i")
				if require.Equal(t, len(model) < 5, list.Insert(i, v)); len(model) < 5 {
					model = slices.Insert(model, i, v)
				}
			},
			"remove": func(t *rapid.T) {
				if len(model) > 0 {
					i := rapid.IntRange(0, len(model)-1).Draw(t, "i")
					list.Remove(i)
					model = slices.Delete(model, i, i+1)
				}
			},
			"change": func(t *rapid.T) {
				if len(model) > 0 {
					i := rapid.IntRange(0, len(model)-1).Draw(t, "i")
					list.At(i).Count++
					model[i].Count++
				}
			},
			"set": func(t *rapid.T) {
				v := rapid.SliceOfN(draw, 0, 7).Draw(t, "v")
				require.Equal(t, len(v) <= 5, list.Set(v...))
				model = slices.Clone(v[:min(len(v), 5)])
			},
			"truncate": func(t *rapid.T) {
				n := rapid.IntRange(-1, 6).Draw(t, "n")
				list.Truncate(n)
				model = model[:min(max(n, 0), len(model))]
			},
			"": func(t *rapid.T) {
				require.Equal(t, model, list.AppendTo([]slot{}))
				require.Equal(t, len(model), list.Len())
				var fresh List[slot, [5]slot]
				fresh.Set(model...)
				require.Equal(t, fresh, list, "nothing is left behind the elements")
				for i, v := range list.All() {
					require.Equal(t, model[i], *v)
				}
			},
		})
	})
}

func TestListPlaces(t *testing.T) {
	var list List[int32, [2]int32]
	require.Equal(t, 2, list.Cap())
	require.Panics(t, func() { list.At(0) })
	require.Panics(t, func() { list.Insert(1, 5) })
	require.Panics(t, func() { list.Remove(0) })
}

func TestTextAndListDoNotAllocate(t *testing.T) {
	var text Text32
	var list List[int32, [8]int32]
	buf := make([]byte, 0, 32)
	alloctest.Zero(t, 100, func() {
		text.Set("Ann")
		text.Append(" of the hills")
		buf = text.AppendTo(buf[:0])
		list.Append(3)
		list.Insert(0, 4)
		list.Remove(1)
		list.Truncate(0)
	})
}

package peer

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func TestRefusalIsOnePrintableLine(t *testing.T) {
	for text, want := range map[string]string{
		"":                                  "",
		"no such item":                      "no such item",
		"two\nlines":                        "two?lines",
		"\x1b[31mred":                       "?[31mred",
		"\xff":                              "?",
		strings.Repeat("a", 300):            strings.Repeat("a", 200),
		"a" + strings.Repeat("\u00e4", 150): "a" + strings.Repeat("\u00e4", 99),
	} {
		b := AppendRefusal([]byte{7}, text)
		got, err := ParseRefusal(b[1:])
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	for _, b := range []string{"\n", "\xff", strings.Repeat("a", 201)} {
		_, err := ParseRefusal([]byte(b))
		require.ErrorIs(t, err, ErrMalformed)
		require.False(t, LegalRefusal([]byte(b)))
	}
}

// FuzzRefusal reads any bytes, and any text makes a refusal that can be read.
func FuzzRefusal(f *testing.F) {
	f.Add([]byte("sold out"))
	f.Add([]byte{0xC3, 0x28, '\r'})
	f.Fuzz(func(t *testing.T, b []byte) {
		if text, err := ParseRefusal(b); err == nil {
			require.Equal(t, b, AppendRefusal([]byte{}, text))
		}
		text, err := ParseRefusal(AppendRefusal(nil, string(b)))
		require.NoError(t, err)
		require.True(t, utf8.ValidString(text))
	})
}

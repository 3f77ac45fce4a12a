package message

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// fuzz decodes bytes with the codec of T: an accepted payload encodes to the same bytes, and Check and Handle agree.
func fuzz[T any](f *testing.F, same func(t *testing.T, data, again []byte)) {
	f.Add([]byte{})
	f.Add([]byte{255, 255, 255, 255, 255, 255})
	f.Add(make([]byte, 8))
	f.Add(make([]byte, 32))
	f.Add([]byte{2, 'h', 'i', 1, 1, 0, 0, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		called := false
		var s Scratch
		var c *CodecOf[T]
		c = codec(t, "m", func(_ *Context, m *T) {
			called = true
			bound, err := c.SizeBound(&s, m)
			require.NoError(t, err)
			room := make([]byte, bound)
			n, err := c.Encode(&s, room, m)
			require.NoError(t, err)
			same(t, data, room[:n])
		})
		require.Equal(t, c.Handle(&Context{}, data), c.Check(&s, data))
		require.Equal(t, called, c.Check(&s, data))
	})
}

func oneEncoding(t *testing.T, data, again []byte) {
	require.Equal(t, len(data), len(again))
	if len(data) > 0 {
		require.Equal(t, data, again, "one legal encoding")
	}
}

func FuzzPacked(f *testing.F)     { fuzz[chat](f, oneEncoding) }
func FuzzCopied(f *testing.F)     { fuzz[mixed](f, oneEncoding) }
func FuzzSerialized(f *testing.F) { fuzz[note](f, oneEncoding) }

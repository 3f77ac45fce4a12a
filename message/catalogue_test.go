package message

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/internal/casebook"
)

// oddOffsets encodes a value at each offset of a buffer and decodes it there. Bytes and values must be the same
// everywhere, nothing outside is touched, and the value does not change when the buffer is overwritten.
func oddOffsets[T comparable](t *testing.T, m T) (offsets int) {
	c := codec[T](t, "m", nil)
	var s Scratch
	bound, err := c.SizeBound(&s, &m)
	require.NoError(t, err)
	var want []byte
	for at := range 64 {
		buf := bytes.Repeat([]byte{0xA5}, at+bound+64)
		n, err := c.Encode(&s, buf[at:at+bound], &m)
		require.NoError(t, err)
		if want == nil {
			want = append(want, buf[at:at+n]...)
		}
		require.Equal(t, want, buf[at:at+n], "offset %d", at)
		require.Equal(t, bytes.Repeat([]byte{0xA5}, at), buf[:at])
		require.Equal(t, bytes.Repeat([]byte{0xA5}, 64), buf[at+bound:])
		var got T
		require.True(t, c.Check(&s, buf[at:at+n]))
		require.True(t, c.Decode(&s, buf[at:at+n], &got))
		for i := range buf {
			buf[i] = 0xEE
		}
		require.Equal(t, m, got, "offset %d", at)
		offsets++
	}
	return offsets
}

// Values of each encoding at odd offsets of larger buffers, which are overwritten afterwards: the bytes are the same,
// and no value refers to the buffer. TestGolden and CI's step "bytes and decisions on other machines" check the same on
// 386, arm64 and without assembly.
func TestCase60UnsafePaths(t *testing.T) {
	count := oddOffsets(t, mixed{A: -5, B: 1.5, C: 7, D: -2, E: [2]int16{1, -2}, F: 9, G: -1})
	count += oddOffsets(t, nested{Pos: [2]inner{{1, 2, 3}, {4, 5, 6}}, Tail: [8]int8{1, -1}})
	count += oddOffsets(t, outer{Pos: [2]inner{{1, 2, 3}, {4, 5, 6}}})
	count += oddOffsets(t, padded{A: 3, B: 1 << 30})
	count += oddOffsets(t, switches{A: true})
	count += oddOffsets(t, measured{Text: "seven bytes and more"})
	casebook.Injected(t, count, "values coded at another offset and their buffers overwritten")
}

package wire

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAlign holds that padding is zeros up to the byte, that skipping bytes is reading them, and that a byte which was written
// can be written anew.
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

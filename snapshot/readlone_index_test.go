package snapshot

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/wire"
)

// A run that goes on beyond the largest index is refused by both ways.
func TestARunEndsAtTheLargestIndex(t *testing.T) {
	schema := runSchema(t)
	for _, first := range []uint32{MaxEntities - 1, MaxEntities - 100} {
		buf := make([]byte, 8000)
		w := wire.NewBitWriter(buf)
		w.Write(2, 16)
		w.Bool(false)
		w.Var(0)
		w.Bool(false)
		w.Bool(false)
		symbol, raw, n := gapSymbol(first, true)
		schema.codes.gap.Write(&w, 0, symbol)
		w.Write(raw, n)
		w.Bool(false)
		w.Var(1)
		w.Write(1, uint(schema.Rows()))
		for range 3 {
			w.Write(0x3f800000, 32)
		}
		w.Bool(true)
		w.Align()
		w.Write(255, 8)
		for range 255 * 3 {
			w.Write(0x3f800000, 32)
		}
		schema.codes.gap.Write(&w, 0, gapEnd)
		payload := buf[:w.Finish()]
		long := NewReplica(schema, Config{}, 1)
		require.ErrorIs(t, long.readLong(payload), ErrMalformed)
		fast := NewReplica(schema, Config{}, 1)
		require.ErrorIs(t, fast.Read(payload), ErrMalformed, "first %d", first)
	}
}

package snapshot

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arche-netcode/netcode/wire"
)

// TestWhatIsExpectedIsWhatIsWritten holds the head that a payload is compared with against the same written number by number, and that
// a payload with any bit of its head otherwise is not taken for it, but for those that say of which tick and part it is.
func TestWhatIsExpectedIsWhatIsWritten(t *testing.T) {
	schema := runSchema(t)
	rapid.Check(t, func(t *rapid.T) {
		u := run{
			index:      rapid.Uint32Range(0, MaxEntities-1).Draw(t, "index") >> rapid.IntRange(0, 20).Draw(t, "smaller"),
			generation: rapid.Uint32Range(1, 1<<32-1).Draw(t, "generation") >> rapid.IntRange(0, 31).Draw(t, "earlier"),
			mask:       Mask(rapid.Uint64Range(1, 7).Draw(t, "mask")),
		}
		u.generation = max(u.generation, 1)
		part := rapid.IntRange(0, maxParts-1).Draw(t, "part") >> rapid.IntRange(0, 14).Draw(t, "first")
		r := NewReplica(schema, Config{}, 1)
		r.epoch = uint16(rapid.IntRange(0, 2).Draw(t, "epoch"))
		buf := make([]byte, 100)
		w := wire.NewBitWriter(buf)
		w.Write(uint64(rapid.Uint16().Draw(t, "tick")), 16)
		if w.Bool(r.epoch != 0); r.epoch != 0 {
			w.Write(uint64(r.epoch), 16)
		}
		from := w.Bits()
		w.Var(uint64(part))
		to := w.Bits()
		w.Bool(false) // despawns
		w.Bool(false) // list
		symbol, raw, n := gapSymbol(u.index, true)
		schema.codes.gap.Write(&w, 0, symbol)
		w.Write(raw, n)
		w.Bool(false)
		w.Var(uint64(u.generation))
		w.Write(uint64(u.mask), uint(schema.Rows()))
		end := w.Bits()
		w.Finish()
		got, at := r.expects(buf, &u)
		if at == 0 {
			_, size := schema.codes.head(u.index, u.generation)
			require.Greater(t, size, uint(wire.PeekBits), "only what has very many bits is not compared")
			return
		}
		require.Equal(t, part, got)
		require.Equal(t, end, int(at))
		for bit := 16; bit < end; bit++ {
			if bit >= from && bit < to {
				continue
			}
			buf[bit/8] ^= 1 << (bit % 8)
			_, at := r.expects(buf, &u)
			require.Zero(t, at, "bit %d", bit)
			buf[bit/8] ^= 1 << (bit % 8)
		}
	})
}

package snapshot

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arche-netcode/netcode/wire"
)

// expectedHead is what a payload begins with, and who reads it.
type expectedHead struct {
	run
	tick, epoch uint16
	part        int
}

// TestWhatIsExpectedIsWhatIsWritten holds random heads.
func TestWhatIsExpectedIsWhatIsWritten(t *testing.T) {
	schema := runSchema(t)
	rapid.Check(t, func(t *rapid.T) {
		var h expectedHead
		h.index = rapid.Uint32Range(0, MaxEntities-1).Draw(t, "index") >> rapid.IntRange(0, 20).Draw(t, "smaller")
		h.generation = max(1, rapid.Uint32Range(1, 1<<32-1).Draw(t, "generation")>>rapid.IntRange(0, 31).Draw(t, "earlier"))
		h.mask = Mask(rapid.Uint64Range(1, 7).Draw(t, "mask"))
		h.part = rapid.IntRange(0, maxParts-1).Draw(t, "part") >> rapid.IntRange(0, 14).Draw(t, "first")
		h.epoch = uint16(rapid.IntRange(0, 2).Draw(t, "epoch"))
		h.tick = rapid.Uint16Range(2, 30000).Draw(t, "tick") // newer than what the replica has
		h.hold(t, schema)
	})
}

// TestEveryNumberOfAHeadIsCompared holds heads with small and large numbers in each of their places.
func TestEveryNumberOfAHeadIsCompared(t *testing.T) {
	schema := runSchema(t)
	for _, epoch := range []uint16{0, 1, 1<<16 - 1} {
		for _, index := range []uint32{0, 1, 3, 100, MaxEntities - 1} {
			for _, generation := range []uint32{1, 300, 1<<32 - 1} {
				for _, mask := range []Mask{1, 5, 7} {
					for _, part := range []int{0, 300, maxParts - 1} {
						h := expectedHead{run{index: index, generation: generation, mask: mask}, 0x5aa5, epoch, part}
						h.hold(t, schema)
					}
				}
			}
		}
	}
}

// hold holds the head that a payload is compared with against the same written number by number, and that
// a payload with any bit of its head otherwise is not taken for it, but for those that say of which tick and part it is.
func (h *expectedHead) hold(t require.TestingT, schema *Schema) {
	r := NewReplica(schema, Config{}, 1)
	r.epoch = h.epoch
	buf := make([]byte, 100)
	w := wire.NewBitWriter(buf)
	w.Write(uint64(h.tick), 16)
	if w.Bool(r.epoch != 0); r.epoch != 0 {
		w.Write(uint64(r.epoch), 16)
	}
	from := w.Bits()
	w.Var(uint64(h.part))
	to := w.Bits()
	w.Bool(false) // despawns
	w.Bool(false) // list
	symbol, raw, n := gapSymbol(h.index, true)
	schema.codes.gap.Write(&w, 0, symbol)
	w.Write(raw, n)
	w.Bool(false)
	w.Var(uint64(h.generation))
	w.Write(uint64(h.mask), uint(schema.Rows()))
	end := w.Bits()
	w.Finish()
	got, at := r.expects(buf, &h.run)
	if at == 0 {
		_, size := wire.VarBits(uint64(h.generation))
		require.Greater(t, 1+size+uint(schema.Rows()), uint(wire.PeekBits), "only what has very many bits is not compared")
		return
	}
	require.Equal(t, h.part, got)
	require.Equal(t, end, int(at))
	for bit := 16; bit < end; bit++ {
		if bit >= from && bit < to {
			continue
		}
		buf[bit/8] ^= 1 << (bit % 8)
		_, at := r.expects(buf, &h.run)
		require.Zero(t, at, "bit %d", bit)
		buf[bit/8] ^= 1 << (bit % 8)
	}
}

// expects says of which part a payload is that begins a tick with a run of the first of u, and nothing else, and where the lanes begin. Else it says 0.
func (r *Replica) expects(payload []byte, u *run) (part int, at uint) {
	r.covers.list = []cover{{run: *u}}
	if !r.foresee(payload) {
		return 0, 0
	}
	return r.sequel.begins(payload, &r.schema.codes, u.index)
}

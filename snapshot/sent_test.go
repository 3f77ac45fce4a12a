package snapshot

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/tick"
)

// fillRing opens a packet and records entries that tell which packet they are of.
func fillRing(t *testing.T, r *sentRing, seq uint64, n int, lost func(*sentPacket)) *sentPacket {
	t.Helper()
	p := r.open(seq, tick.Tick(seq), lost)
	require.NotNil(t, p)
	for i := range n {
		r.add(p, sentEntry{mask: Mask(seq), index: uint32(i)})
	}
	return p
}

func TestTheRingGrowsWithWhatIsOnItsWay(t *testing.T) {
	r := newSentRing(64)
	var lost []uint64
	most := cap(r.entries)
	for seq := uint64(1); seq <= 40; seq++ {
		fillRing(t, &r, seq, 700+int(seq), func(p *sentPacket) { lost = append(lost, p.seq) })
		for held := r.oldest; held <= seq; held++ {
			p := r.get(held)
			require.NotNil(t, p)
			require.Equal(t, 700+int(held), p.n)
			for i := range p.n {
				require.Equal(t, sentEntry{mask: Mask(held), index: uint32(i)}, *r.entry(p, i))
			}
		}
	}
	require.Len(t, r.entries, most)
	require.Equal(t, most, cap(r.entries), "nothing was allocated")
	require.NotEmpty(t, lost, "in the end it was too small, and the oldest were given up")
	for i, seq := range lost {
		require.EqualValues(t, i+1, seq, "in their order, each once")
	}
}

func TestTheRingUsesAgainWhatIsAcknowledged(t *testing.T) {
	r := newSentRing(1024)
	for seq := uint64(1); seq <= 200; seq++ {
		fillRing(t, &r, seq, 900, func(*sentPacket) { require.Fail(t, "nothing is lost") })
		if seq > 2 {
			r.get(seq - 2).acked = true
			r.get(seq - 2).pending = false
			r.release(tick.Tick(seq - 2))
			require.NotNil(t, r.get(seq-2), "of the newest acknowledged tick the list may be asked for")
			require.Nil(t, r.get(seq-3))
		}
	}
	require.Len(t, r.entries, firstEntries)

	fillRing(t, &r, 201, 900, nil)
	fillRing(t, &r, 202, 900, nil)
	r.get(202).acked, r.get(202).pending = true, false
	r.release(202)
	require.NotNil(t, r.get(199), "it is not acknowledged")
	require.NotNil(t, r.get(201))
}

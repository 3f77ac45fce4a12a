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
	overwritten := func(*sentPacket) { require.Fail(t, "nothing is given up") }
	most := cap(r.entries)
	seq := uint64(1)
	for ; seq <= 40; seq++ {
		p := r.open(seq, tick.Tick(seq), overwritten)
		if p == nil {
			break
		}
		for i := range 700 + int(seq) {
			r.add(p, sentEntry{mask: Mask(seq), index: uint32(i)})
		}
		for held := uint64(1); held <= seq; held++ {
			p := r.get(held)
			require.NotNil(t, p, "what is pending is not forgotten")
			require.Equal(t, 700+int(held), p.n)
			for i := range p.n {
				require.Equal(t, sentEntry{mask: Mask(held), index: uint32(i)}, *r.entry(p, i))
			}
		}
	}
	require.Less(t, seq, uint64(40), "in the end it was too small")
	require.Len(t, r.entries, most)
	require.Equal(t, most, cap(r.entries), "nothing was allocated")
	require.Nil(t, r.open(seq+1, tick.Tick(seq+1), overwritten))
	r.get(2).pending = false
	require.Nil(t, r.open(seq+2, tick.Tick(seq+2), overwritten), "it waits for the oldest")
	r.get(1).pending = false
	require.NotNil(t, r.open(seq+3, tick.Tick(seq+3), overwritten))
	require.Nil(t, r.get(1))
	require.NotNil(t, r.get(3))
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

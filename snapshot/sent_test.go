package snapshot

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// fillRing opens a packet and records entries that tell which packet they are of.
func fillRing(t *testing.T, r *sentRing, seq uint64, n int, lost func(*sentPacket)) *sentPacket {
	t.Helper()
	p := r.open(seq, tick.Tick(seq), lost)
	require.NotNil(t, p)
	for i := range n {
		r.addGroup(p, sentGroup{rows: format.FromWords(uint64(seq)), of: 1, word: uint32(i)})
	}
	return p
}

func TestSentRingGrowsWithPacketsOnTheirWay(t *testing.T) {
	r := newSentRing(64, 1<<20)
	overwritten := func(*sentPacket) { require.Fail(t, "nothing is given up") }
	most := 4 * maxRecords
	seq := uint64(1)
	for ; seq <= 40; seq++ {
		p := r.open(seq, tick.Tick(seq), overwritten)
		if p == nil {
			break
		}
		for i := range 700 + int(seq) {
			r.addGroup(p, sentGroup{rows: format.FromWords(uint64(seq)), of: 1, word: uint32(i)})
		}
		for held := uint64(1); held <= seq; held++ {
			p := r.get(held)
			require.NotNil(t, p, "what is pending is not forgotten")
			require.Equal(t, 700+int(held), p.n)
			for i := range p.n {
				require.Equal(t, sentGroup{rows: format.FromWords(uint64(held)), of: 1, word: uint32(i)}, *r.group(p, i))
			}
		}
	}
	require.Less(t, seq, uint64(40), "in the end it was too small")
	require.Len(t, r.groups, most, "and is bounded")
	require.Nil(t, r.open(seq+1, tick.Tick(seq+1), overwritten))
	r.get(2).pending = false
	require.Nil(t, r.open(seq+2, tick.Tick(seq+2), overwritten), "it waits for the oldest")
	r.get(1).pending = false
	require.NotNil(t, r.open(seq+3, tick.Tick(seq+3), overwritten))
	require.Nil(t, r.get(1))
	require.NotNil(t, r.get(3))
}

func TestSentRingReusesAcknowledgedEntries(t *testing.T) {
	r := newSentRing(1024, 1<<20)
	for seq := uint64(1); seq <= 200; seq++ {
		fillRing(t, &r, seq, 900, func(*sentPacket) { require.Fail(t, "nothing is lost") })
		if seq > 2 {
			r.get(seq - 2).acked = true
			r.get(seq - 2).pending = false
			require.NotNil(t, r.get(seq-1), "it is not acknowledged")
			require.Nil(t, r.get(seq-3))
		}
	}
	require.Len(t, r.groups, 4*maxRecords)

	fillRing(t, &r, 201, 900, nil)
	fillRing(t, &r, 202, 900, nil)
	r.get(202).acked, r.get(202).pending = true, false
	fillRing(t, &r, 203, 900, nil)
	require.NotNil(t, r.get(199), "it is not acknowledged")
	require.NotNil(t, r.get(201))
}

// TestTheRingRemembersMorePacketsWhenTheyAreOnTheirWay: it is small as long as acknowledgements come, and what was in it is found when it grew.
func TestTheRingRemembersMorePacketsWhenTheyAreOnTheirWay(t *testing.T) {
	r := newSentRing(1000, 1<<20)
	none := func(*sentPacket) { require.Fail(t, "nothing is given up") }
	seq := uint64(7)
	for ; seq < 1000; seq += 1 + seq%3 { // some numbers carry no snapshot
		fillRing(t, &r, seq, 1, none)
		r.get(seq).acked, r.get(seq).pending = true, false
	}
	require.Len(t, r.packets, firstPackets)
	require.Len(t, r.groups, firstEntries, "few on their way take little memory")
	first := seq
	for ; seq < first+1024; seq++ {
		if seq%5 == 0 {
			fillRing(t, &r, seq, 1, none)
			continue
		}
		fillRing(t, &r, seq, 2, none)
		for held := first; held <= seq; held++ {
			p := r.get(held)
			require.NotNil(t, p, "packet %d of %d", held, seq)
			require.Equal(t, 2-boolToInt(held%5 == 0), p.n)
		}
	}
	require.Len(t, r.packets, 1024)
	lost := 0
	fillRing(t, &r, seq, 1, func(p *sentPacket) { require.Equal(t, first, p.seq); lost++ })
	require.Equal(t, 1, lost)
	require.Len(t, r.packets, 1024, "and is bounded")
}

func boolToInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// TestRecordsOfAPageShareAGroup: records with the same rows and the same age of the baseline are one group, whatever their order.
func TestRecordsOfAPageShareAGroup(t *testing.T) {
	r := newSentRing(64, 1<<20)
	p := r.open(1, 1, nil)
	require.True(t, r.addGroup(p, sentGroup{of: 1, rows: format.FromWords(1), word: 3, span: 2}))
	require.True(t, r.addGroup(p, sentGroup{of: 2, rows: format.FromWords(2), word: 3, span: 2}))
	require.False(t, r.addGroup(p, sentGroup{of: 4, rows: format.FromWords(1), word: 3, span: 2}))
	require.True(t, r.addGroup(p, sentGroup{of: 8, rows: format.FromWords(1), word: 3, span: 1}))
	require.True(t, r.addGroup(p, sentGroup{of: 16, rows: format.FromWords(1), word: 4, span: 2}))
	require.True(t, r.addGroup(p, sentGroup{of: 32, word: 3, despawn: true}), "a despawn is alone")
	require.True(t, r.addGroup(p, sentGroup{of: 64, word: 3, despawn: true}))
	require.Equal(t, 6, p.n)
	require.Equal(t, sentGroup{of: 5, rows: format.FromWords(1), word: 3, span: 2}, *r.group(p, 0))
}

// A packet has room for more records of two bits than the ring of sent records.
func TestAPacketHasNoMoreGroupsThanThereIsRoomFor(t *testing.T) {
	type flag struct{ On bool }
	type red struct{}
	type green struct{}
	type blue struct{}
	type high struct{}
	type wide struct{}
	d := newDuoOf(t, format.NewSchema([]*quantize.Plan{compile[flag](t), compile[red](t), compile[green](t), compile[blue](t), compile[high](t), compile[wide](t)}), Config{Window: 32, SentPackets: 256, Entities: 4000})
	ids, most := make([]wire.NetworkID, 4000), 0
	for s := tick.Tick(1); s < 12; s++ {
		d.store.Begin(s)
		for i := range ids {
			if s == 1 {
				ids[i] = d.store.Spawn()
				for row := range 5 { // 32 sets of rows by turns: a page has 32 groups
					if i>>row&1 != 0 {
						d.store.Set(ids[i], 1+row, nil)
					}
				}
			}
			if i >= len(ids)-20 && s > 4 {
				d.store.Despawn(ids[i])
				continue
			}
			d.store.Set(ids[i], 0, []uint32{uint32(s) % 2})
		}
		d.store.Commit()
		d.view.Observe()
		if s > 4 {
			ids = ids[:len(ids)-20]
		}
		for {
			buf := make([]byte, 1200)
			size := d.view.Write(buf, d.seq+1)
			if size == 0 {
				break
			}
			d.seq++
			n := d.view.sent.get(d.seq).n
			require.LessOrEqual(t, n, maxRecords)
			most = max(most, d.view.sent.get(d.seq).records)
			require.NoError(t, d.replica.Read(buf[:size]))
			d.view.Acked(d.seq)
		}
		for _, id := range ids {
			require.Equal(t, d.store.Row(id, 0), d.replica.Row(id.Index, 0))
		}
	}
	require.Greater(t, most, maxRecords, "a packet had more records than groups have room")
}

// One packet in twenty is lost. The ring has room for these and those on their way, not for what was acknowledged between them, and
// forgets them after the window; those that it remembers keep their groups.
func TestLostPacketsHoldLittleMemory(t *testing.T) {
	const window, lag, groups = 120, 10, 50
	r := newSentRing(1024, window)
	for seq := uint64(1); seq < 3000; seq++ {
		p := r.open(seq, tick.Tick(seq), func(*sentPacket) { t.Fatal("there is room") })
		require.NotNil(t, p)
		for i := range groups {
			require.True(t, r.addGroup(p, sentGroup{of: seq, word: uint32(i)}))
		}
		if old := r.get(seq - min(seq, lag)); old != nil {
			old.pending, old.acked = false, old.seq%20 != 0
		}
		for at := r.oldest; at <= seq; at++ {
			p := r.get(at)
			if p == nil || p.acked {
				continue
			}
			require.Equal(t, groups, p.n)
			for i := range p.n {
				require.Equal(t, sentGroup{of: at, word: uint32(i)}, *r.group(p, i))
			}
		}
	}
	require.LessOrEqual(t, len(r.groups), 2048)
	require.LessOrEqual(t, len(r.packets), 256)
	require.Nil(t, r.get(2800))
	require.NotNil(t, r.get(2940))
}

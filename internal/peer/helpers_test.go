package peer

import (
	"encoding/binary"
	"math/bits"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// startSequences are first sequences whose low 16 bits are 0, 32760 and 65500.
func startSequences() []uint64 { return []uint64{1 << 16, 32760, 65500} }

const testEpoch, testProtocol = 0x1234abcd, 0xfeedfacecafebeef

func testCheck() wire.Checksum { return wire.NewChecksum(testEpoch, testProtocol) }

func newTestConn(first uint64, ring int) *Conn {
	return NewConn(ConnConfig{
		SentPackets:   ring,
		Check:         testCheck(),
		TickInterval:  10 * time.Millisecond,
		FirstSequence: first,
	})
}

// finish sends one packet, with a message of 8 bytes (its sequence) or empty,
// and returns a copy of it.
func finish(t require.TestingT, c *Conn, eliciting bool, at tick.Tick, now time.Duration) []byte {
	var buf [256]byte
	b := c.Begin(buf[:])
	if eliciting {
		binary.LittleEndian.PutUint64(b.Payload(), c.Next())
		require.True(t, b.Add(wire.FirstUserMessage, tick.Update, 8))
	}
	packet := c.Finish(&b, at, now)
	require.NotNil(t, packet)
	return append([]byte(nil), packet...)
}

// deliver reads and accepts a packet.
func deliver(t require.TestingT, c *Conn, packet []byte, now time.Duration, out Outcome) Incoming {
	in, err := c.Read(packet, now, out)
	require.NoError(t, err)
	c.Accept(in, now)
	return in
}

// handmade returns a packet with any header over any batch, with a right checksum.
func handmade(h wire.PacketHeader, messages []byte) []byte {
	b := wire.AppendPacketHeader(nil, h)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(messages)+wire.BatchHeaderSize))
	return seal(testCheck(), append(b, messages...), 0)
}

// log records outcomes.
type log struct {
	acked []uint64
	lost  []uint64
	ticks []tick.Tick
}

func (l *log) Acked(seq uint64, sentAt tick.Tick) {
	l.acked = append(l.acked, seq)
	l.ticks = append(l.ticks, sentAt)
}
func (l *log) Lost(seq uint64) { l.lost = append(l.lost, seq) }

// quiet is an Outcome that keeps nothing.
type quiet struct{ acked, lost int }

func (q *quiet) Acked(uint64, tick.Tick) { q.acked++ }
func (q *quiet) Lost(uint64)             { q.lost++ }

// cutEverywhere calls parse with each prefix of a datagram, as it is and with a
// fresh checksum, and wants an error each time. Prefixes of the body shorter
// than legal are all illegal; from legal on they are not tried resealed.
func cutEverywhere(t *testing.T, check wire.Checksum, datagram []byte, legal int, parse func([]byte) error) {
	t.Helper()
	require.NoError(t, parse(datagram))
	for n := range datagram {
		require.Error(t, parse(datagram[:n]), "cut at %d", n)
	}
	body := datagram[:len(datagram)-wire.ChecksumSize]
	for n := range min(legal, len(body)) {
		resealed := seal(check, append([]byte(nil), body[:n]...), 0)
		require.ErrorIs(t, parse(resealed), ErrMalformed, "resealed at %d", n)
	}
}

// datagram is one packet on the model's link, with what it really is beside it.
type datagram struct {
	bytes     []byte
	sequence  uint64
	eliciting bool
}

// dumbSent is the model's knowledge about one sent packet.
type dumbSent struct {
	at        time.Duration
	tick      tick.Tick
	eliciting bool
	arrived   bool // accepted by the other end
	acked     bool // the other end's acknowledgement came back
	noted     bool // noteOrder has seen that
	lost      bool
}

// end is one Conn and its dumb twin, which keeps everything in maps.
type end struct {
	t        *rapid.T
	conn     *Conn
	ring     uint64
	first    uint64
	sent     map[uint64]*dumbSent
	accepted map[uint64]bool
	newest   uint64
	inbox    []datagram    // on the way to this end
	told     []tick.Tick   // of each packet that is known to have arrived, in the order of the acknowledgements
	inOrder  int           // packets since the last that was overtaken, or since enough changed
	enough   int           // packets of later ticks that must arrive before a packet counts as lost
	now      time.Duration // when it last sent, or looked for what is lost
	other    *end
}

func newEnd(t *rapid.T, first uint64, ring int) *end {
	return &end{
		t: t, conn: newTestConn(first, ring), ring: uint64(max(64, 1<<bits.Len(uint(ring-1)))), first: first,
		sent: map[uint64]*dumbSent{}, accepted: map[uint64]bool{}, newest: first - 1, enough: 3,
	}
}

// Acked implements Outcome: every packet told here was eliciting, was accepted
// by the other end, and is told once.
func (e *end) Acked(seq uint64, sentAt tick.Tick) {
	s := e.sent[seq]
	require.NotNil(e.t, s, "acked %d was never sent", seq)
	require.True(e.t, s.arrived, "acked %d never arrived", seq)
	require.True(e.t, s.eliciting)
	require.False(e.t, s.acked, "acked %d twice", seq)
	require.Equal(e.t, s.tick, sentAt)
	s.acked = true
}

// Lost implements Outcome: nothing is lost twice, or after it was acked.
func (e *end) Lost(seq uint64) {
	s := e.sent[seq]
	require.NotNil(e.t, s)
	require.True(e.t, s.eliciting && !s.acked && !s.lost, "lost %d: %+v", seq, s)
	s.lost = true
}

func (e *end) send(eliciting bool, at tick.Tick, now time.Duration) {
	seq := e.conn.Next()
	used := e.used()
	require.Equal(e.t, used < e.ring-e.ring/4, e.conn.CanSend())
	require.Equal(e.t, used < e.ring, e.conn.HasRoom())
	if used >= e.ring || used >= e.ring-e.ring/4 && eliciting {
		return
	}
	e.now = now
	packet := finish(e.t, e.conn, eliciting, at, now)
	e.sent[seq] = &dumbSent{at: now, tick: at, eliciting: eliciting}
	e.other.inbox = append(e.other.inbox, datagram{packet, seq, eliciting})
}

// used counts the packets from the oldest one that may still be acknowledged to the newest.
func (e *end) used() uint64 {
	newest := uint64(0)
	for seq := range e.sent {
		if e.toldArrived(seq) {
			newest = max(newest, seq)
		}
	}
	oldest := e.conn.Next()
	for seq, s := range e.sent {
		awaited := s.eliciting && !s.acked && (!s.lost || seq > newest && e.now-s.at < awaitedFor)
		if awaited && seq < oldest {
			oldest = seq
		}
	}
	return e.conn.Next() - oldest
}

// receive reads one packet of the inbox, and accepts it or does as if it could
// not be decoded.
func (e *end) receive(index int, keep, decodes bool, now time.Duration) {
	d := e.inbox[index]
	if !keep {
		e.inbox = slices.Delete(e.inbox, index, index+1)
	}
	in, err := e.conn.Read(d.bytes, now, e)
	switch {
	case e.accepted[d.sequence] && d.sequence+ReplayWindow > e.newest:
		require.ErrorIs(e.t, err, ErrDuplicate)
		return
	case len(e.accepted) > 0 && d.sequence+ReplayWindow <= e.newest:
		require.ErrorIs(e.t, err, ErrOld)
		return
	}
	require.NoError(e.t, err)
	require.Equal(e.t, d.sequence, in.Sequence)
	require.Equal(e.t, d.eliciting, in.Eliciting)
	e.noteSilent()
	e.noteOrder()
	if decodes {
		e.conn.Accept(in, now)
		e.accepted[d.sequence] = true
		e.newest = max(e.newest, d.sequence)
		e.other.sent[d.sequence].arrived = true
	}
}

// detectLost lets the connection decide, and compares with rule 8 spelt out.
func (e *end) detectLost(now time.Duration) {
	timeout := e.conn.rtt.timeout(e.conn.config.TickInterval)
	var want []uint64
	for seq, s := range e.sent {
		if !s.eliciting || s.acked || s.lost {
			continue
		}
		later := 0
		for other, o := range e.sent {
			if o.tick > s.tick && e.toldArrived(other) {
				later++
			}
		}
		if later >= e.enough || now-s.at >= timeout {
			want = append(want, seq)
		}
	}
	slices.Sort(want)
	var got []uint64
	before := map[uint64]bool{}
	for seq, s := range e.sent {
		before[seq] = s.lost
	}
	e.conn.DetectLost(now, e)
	e.now = now
	for seq, s := range e.sent {
		if s.lost && !before[seq] {
			got = append(got, seq)
		}
	}
	slices.Sort(got)
	require.Equal(e.t, want, got)
}

// toldArrived reports whether this end knows that its packet arrived. For a
// silent packet nobody is told, so the record is asked.
func (e *end) toldArrived(seq uint64) bool {
	if s := e.sent[seq]; s.eliciting {
		return s.acked
	}
	return e.sent[seq].acked || seq >= e.conn.sent.since && e.conn.sent.at(seq).state == sentAcked
}

// noteSilent keeps in the model which silent packets were acknowledged, before
// the ring forgets.
func (e *end) noteSilent() {
	for seq := e.conn.sent.since; seq < e.conn.Next(); seq++ {
		if s := e.sent[seq]; !s.eliciting && e.conn.sent.at(seq).state == sentAcked {
			require.True(e.t, s.arrived, "silent %d never arrived", seq)
			s.acked = true
		}
	}
}

// noteOrder learns from the packets that are newly known to have arrived by how many others a packet is overtaken: one more means
// that it is lost. In 32 packets that arrive in order it forgets one.
func (e *end) noteOrder() {
	for seq := e.first; seq < e.conn.Next(); seq++ {
		s := e.sent[seq]
		if !s.acked || s.noted {
			continue
		}
		s.noted = true
		later := 0
		for _, at := range e.told {
			if at > s.tick {
				later++
			}
		}
		e.told = append(e.told, s.tick)
		if e.inOrder++; later > 0 {
			e.inOrder, e.enough = 0, max(e.enough, min(later+1, 3))
		} else if e.inOrder == 32 {
			e.inOrder, e.enough = 0, max(e.enough-1, 1)
		}
	}
}

// TestTwoEndsAgainstModel runs two ends over a link that loses, duplicates,
// reorders and damages packets, some of which cannot be decoded.
func TestTwoEndsAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		first := rapid.SampledFrom([]uint64{1, 1 << 16, 32760, 65500}).Draw(t, "first")
		ring := rapid.SampledFrom([]int{64, 100, 256}).Draw(t, "ring")
		a, b := newEnd(t, first, ring), newEnd(t, first, ring)
		a.other, b.other = b, a
		now, at := time.Duration(0), tick.Tick(1)
		for range rapid.IntRange(1, 300).Draw(t, "steps") {
			e := a
			if rapid.Bool().Draw(t, "b") {
				e = b
			}
			step(t, e, at, now)
			if rapid.IntRange(0, 3).Draw(t, "advance") == 0 {
				now += time.Duration(rapid.IntRange(1, 60).Draw(t, "ms")) * ms
				at++
			}
		}
		heal(a, b, at, now)
	})
}

// exchange sends a packet, which arrives at once, and its acknowledgement, which does too.
func (e *end) exchange(at tick.Tick, now time.Duration) {
	for _, from := range []*end{e, e.other} {
		inbox := &from.other.inbox
		before := len(*inbox)
		if from.send(from == e, at, now); len(*inbox) > before {
			from.other.receive(before, false, true, now)
		}
		from.noteSilent()
	}
}

func step(t *rapid.T, e *end, at tick.Tick, now time.Duration) {
	defer e.noteSilent()
	switch action := rapid.IntRange(0, 12).Draw(t, "action"); {
	case action <= 1:
		e.send(true, at, now)
	case action == 2:
		e.send(false, at, now)
	case action == 3: // a burst, some of it lost at once
		for range rapid.IntRange(1, 70).Draw(t, "burst") {
			e.send(true, at, now)
		}
		inbox := &e.other.inbox
		*inbox = (*inbox)[:rapid.IntRange(0, len(*inbox)).Draw(t, "kept")]
	case action == 4:
		e.detectLost(now)
	case action == 12: // packets that arrive at once, and so do their acknowledgements
		for range rapid.IntRange(1, settling).Draw(t, "in order") {
			e.exchange(at, now)
		}
	case len(e.inbox) == 0:
	case action == 5:
		e.inbox = slices.Delete(e.inbox, 0, 1)
	case action == 6:
		bad := slices.Clone(e.inbox[0].bytes)
		bad[rapid.IntRange(0, len(bad)-1).Draw(t, "byte")] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
		_, err := e.conn.Read(bad, now, e)
		require.ErrorIs(t, err, ErrChecksum)
	default:
		index := 0
		if rapid.IntRange(0, 3).Draw(t, "reorder") == 0 {
			index = rapid.IntRange(0, len(e.inbox)-1).Draw(t, "index")
		}
		e.receive(index, action == 7, action != 8, now)
	}
}

// heal delivers one packet each way and wants every packet that was accepted,
// and is within reach of the ack bits and of the ring, to be acknowledged.
func heal(a, b *end, at tick.Tick, now time.Duration) {
	for _, e := range []*end{a, b} {
		e.detectLost(now + time.Hour)
		e.send(false, at, now)
		o := e.other
		o.receive(len(o.inbox)-1, false, true, now)
	}
	a.send(false, at, now)
	b.receive(len(b.inbox)-1, false, true, now)
	for _, e := range []*end{a, b} {
		for seq, s := range e.sent {
			inReach := seq+AckReach >= e.other.newest && seq+e.ring >= e.conn.Next()
			// The last packet each way is not itself acknowledged by anything.
			if s.eliciting && s.arrived && inReach {
				require.True(e.t, s.acked, "%d arrived and was never acked", seq)
			}
		}
	}
}

package peer

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

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

package peer

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// FuzzRead reads hostile packets, each as it is and under a right checksum, on
// a connection that has sent and received some. Nothing that was not sent is
// ever acked; what is read encodes to the same bytes.
func FuzzRead(f *testing.F) {
	a, b := newTestConn(65500, 64), newTestConn(65500, 64)
	for n := range 50 {
		packet := finish(f, a, n%3 > 0, tick.Tick(n), 0)
		f.Add(uint16(n), uint16(n/2), packet)
		f.Add(uint16(n), uint16(n/2), packet[:len(packet)-wire.ChecksumSize])
		if n%5 > 0 {
			deliver(f, b, packet, 0, nil)
		}
		packet = finish(f, b, n%2 > 0, tick.Tick(n), 0)
		f.Add(uint16(40), uint16(n), packet[:len(packet)-wire.ChecksumSize])
		if n%7 > 0 {
			deliver(f, a, packet, 0, nil)
		}
	}
	f.Fuzz(func(t *testing.T, sent, received uint16, packet []byte) {
		c := newTestConn(65500, 256) // nothing is awaited so long that it is sent over
		for n := range uint64(sent % 200) {
			c.DetectLost(0, nil)
			finish(t, c, n%2 == 0, tick.Tick(n), 0)
		}
		for n := range uint64(received % 300) {
			c.received.accept(65500+n, true)
		}
		sealed := seal(testCheck(), append([]byte(nil), packet...), 0)
		for _, p := range [][]byte{packet, sealed} {
			readHostile(t, c, p)
		}
	})
}

func readHostile(t *testing.T, c *Conn, packet []byte) {
	var out log
	in, err := c.Read(packet, ms, &out)
	for _, seq := range out.acked {
		require.True(t, seq >= 65500 && seq < c.Next() && seq%2 == 0, "acked %d", seq)
	}
	require.LessOrEqual(t, len(out.acked), AckReach+1)
	c.DetectLost(ms, &out)
	if err != nil {
		require.Empty(t, out.acked)
		require.Equal(t, Incoming{}, in)
		return
	}
	h, n, err := wire.ParsePacketHeader(packet)
	require.NoError(t, err)
	again := wire.AppendPacketHeader(nil, h)
	require.Equal(t, packet[:n], again)
	require.Equal(t, packet, seal(testCheck(), append(again, in.Batches...), 0))
	c.Accept(in, ms)
	_, err = c.Read(packet, ms, &out)
	require.ErrorIs(t, err, ErrDuplicate)
	walkBatches(t, in.Batches)
}

// walkBatches reads batches, and wants a builder that is given the same messages to come to the same bytes: there is one
// legal encoding.
func walkBatches(t *testing.T, batches []byte) {
	r := readBatches(batches)
	again := Builder{buf: make([]byte, wire.BatchHeaderSize, len(batches)+wire.BatchHeaderSize), limit: len(batches)}
	for r.Next() {
		require.Len(t, r.Payload, int(r.Header.Size))
		require.Equal(t, len(r.Payload), cap(r.Payload), "no message reaches into the next")
		framed := make([]byte, wire.MessageHeaderSize)
		r.Header.Put(framed)
		again.Switch(r.Channel)
		require.True(t, again.Append(append(framed, r.Payload...)))
	}
	require.False(t, r.Next())
	if r.Err() != nil {
		require.ErrorIs(t, r.Err(), ErrMalformed)
		return
	}
	again.closeBatch()
	require.True(t, legalBatches(batches) || len(batches) == 0)
	if len(batches) > 0 {
		require.Equal(t, batches, again.buf)
	}
}

// FuzzReader reads hostile batches.
func FuzzReader(f *testing.F) {
	f.Add([]byte{12, 0, 16, 4, 2, 0, 'h', 'i', 17, 0, 0, 0})
	f.Add([]byte{6, 0, 255, 0, 255, 255})
	f.Add([]byte{2, 0, 8, 0, 0x80, 16, 4, 1, 0, 'x', 7, 0, 0, 16, 0, 0, 0})
	f.Add([]byte{2, 0, 7, 0, 0xC1, 16, 0x0C, 0, 0, 7, 0, 0xC1, 16, 0, 0, 0})
	f.Fuzz(walkBatches)
}

// FuzzAcks gives a connection a script of acknowledgements, 6 bytes each, and
// compares what it tells with the set of numbers that they name.
func FuzzAcks(f *testing.F) {
	f.Add(uint16(100), []byte{0, 0, 255, 255, 255, 255})
	f.Add(uint16(60), []byte{220, 255, 1, 0, 0, 0, 230, 255, 255, 0, 0, 0})
	f.Fuzz(func(t *testing.T, sent uint16, script []byte) {
		const first, ring = 65500, 64
		c := newTestConn(first, ring)
		for n := range uint64(sent % 300) {
			now := time.Duration(n) * awaitedFor / (ring / 2) // or it would stop
			c.DetectLost(now, nil)
			finish(t, c, true, tick.Tick(n), now)
		}
		told := map[uint64]bool{}
		for n := uint64(first); len(script) >= 6; n, script = n+1, script[6:] {
			ack := binary.LittleEndian.Uint16(script)
			mask := binary.LittleEndian.Uint32(script[2:])
			named, legal := namedBy(c, ack, mask)
			var out log
			err := readAck(c, n, uint64(ack), mask, 0, &out)
			require.Equal(t, legal, err == nil)
			var want []uint64
			for _, seq := range named {
				if legal && !told[seq] {
					told[seq] = true
					want = append(want, seq)
				}
			}
			require.Equal(t, want, out.acked)
		}
	})
}

// namedBy spells out which sequences within the ring an ack names, rising, and
// whether it names only what was sent.
func namedBy(c *Conn, ack uint16, mask uint32) (named []uint64, legal bool) {
	last := int64(c.Next()) - 1
	newest := last - int64(uint16(last)-ack)
	if newest < last-1<<15 {
		newest += 1 << 16
	}
	legal = true
	for n := int64(AckReach); n >= 0; n-- {
		if n > 0 && mask>>(n-1)&1 == 0 {
			continue
		}
		switch seq := newest - n; {
		case seq+64 <= last: // out of the ring's reach
		case seq < 65500 || seq > last:
			legal = false
		default:
			named = append(named, uint64(seq))
		}
	}
	return named, legal && newest <= last
}

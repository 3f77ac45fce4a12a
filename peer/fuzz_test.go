package peer

import (
	"encoding/binary"
	"testing"

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
		c := newTestConn(65500, 64)
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
	again = binary.LittleEndian.AppendUint16(again, uint16(len(in.Batch)+wire.BatchHeaderSize))
	require.Equal(t, packet, seal(testCheck(), append(again, in.Batch...), 0))
	c.Accept(in, ms)
	_, err = c.Read(packet, ms, &out)
	require.ErrorIs(t, err, ErrDuplicate)
	walkBatch(t, in.Batch)
}

// walkBatch takes a batch apart and wants the messages to cover it exactly.
func walkBatch(t *testing.T, batch []byte) {
	for rest := batch; len(rest) > 0; {
		h, payload, after, err := NextMessage(rest)
		if err != nil {
			require.ErrorIs(t, err, ErrMalformed)
			return
		}
		require.Len(t, payload, int(h.Size))
		require.Equal(t, len(rest), wire.MessageHeaderSize+len(payload)+len(after))
		rest = after
	}
}

// FuzzNextMessage walks hostile batches.
func FuzzNextMessage(f *testing.F) {
	f.Add([]byte{16, 4, 2, 0, 'h', 'i', 17, 0, 0, 0})
	f.Add([]byte{255, 0, 255, 255})
	f.Fuzz(walkBatch)
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
			c.DetectLost(0, nil)
			finish(t, c, true, tick.Tick(n), 0)
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

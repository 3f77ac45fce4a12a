package peer

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// FuzzArrivals gives one end hostile packets, each cut in batches as they come: nothing panics, no cap is exceeded, what
// Judge refuses has no effect, and what is delivered was paid for.
func FuzzArrivals(f *testing.F) {
	f.Add([]byte{2, 0, 9, 0, 0x80, 16, 4, 2, 0, 0, 0}, []byte{2, 0, 9, 0, 0xC0, 16, 4, 2, 0, 1, 0})
	f.Add([]byte{2, 0, 14, 0, 0xC0, 6, 0, 7, 0, 1, 0, 16, 0, 0, 2, 'a'}, []byte{2, 0, 14, 0, 0xC0, 6, 0, 7, 0, 2, 0, 16, 0, 1, 2, 'b', 9, 0, 0x81, 16, 4, 2, 0, 0, 0})
	f.Add([]byte{8, 0, 16, 0x0C, 2, 0, 1, 2}, []byte{2, 0, 11, 0, 0x45, 16, 0x3C, 4, 0, 1, 2, 3, 4})
	f.Add([]byte{2, 0, 9, 0, 0x80, 16, 4, 2, 0, 0, 0}, []byte{13, 0, 6, 0, 7, 0, 0, 0, 16, 4, 0, 2, 1})
	f.Fuzz(func(t *testing.T, one, two []byte) {
		var a Arrivals
		owed := 0
		deliver := func(m *Arrival) {
			require.True(t, m.Header.Type.Valid() && m.Header.Type != wire.MessageFragment)
			require.Equal(t, m.Channel.Delivery().Reliable(), m.Cost > 0)
			owed += m.Cost
		}
		for seq := range uint64(6) {
			packet := one
			if seq%2 == 1 {
				packet = two
			}
			r := readBatches(packet)
			for r.Next() {
				before := a.credit
				stash := a.stash.live
				err := a.Judge(r.Channel, r.Header, r.Payload)
				require.Equal(t, before, a.credit)
				require.Equal(t, stash, a.stash.live)
				if a.Take(seq, r.Channel, r.Header, r.Payload, deliver) != nil {
					return // closed
				}
				require.NoError(t, err)
				require.LessOrEqual(t, a.Waiting(), InitialCredit)
				require.LessOrEqual(t, a.stash.live, InitialCredit)
				require.LessOrEqual(t, a.open, maxFragmentSets)
				require.LessOrEqual(t, len(a.lines), 2*wire.MaxChannels)
			}
			a.Freed(owed)
			owed = 0
			if _, due := a.CreditDue(); due {
				a.CreditSent(seq)
			}
		}
	})
}

// FuzzOutgoing runs a script of calls with any acknowledgements, losses and credit: nothing panics, no bound is exceeded,
// and in the end, when all is acknowledged, nothing is left.
func FuzzOutgoing(f *testing.F) {
	f.Add([]byte{0, 10, 0x40, 20, 0x80, 30, 0xC0, 250, 1, 0, 2, 0, 3, 0, 1, 0, 4, 1, 5, 200})
	f.Add([]byte{0, 255, 0x80, 255, 0x81, 255, 0x82, 255, 0xC3, 255, 0xC4, 255, 1, 0, 1, 0, 1, 0, 3, 0, 2, 1, 1, 0, 2, 2})
	random := rand.New(rand.NewPCG(1, 2))
	long := make([]byte, 800)
	for i := range long {
		long[i] = byte(random.Uint32())
	}
	f.Add(long)
	f.Fuzz(func(t *testing.T, script []byte) {
		pool := NewPool(200)
		o := NewOutgoing(OutgoingConfig{PacketSize: 200, UnreliableBytes: 2000, ReliableBytes: 8000, SentPackets: 64}, pool)
		seq := uint64(1)
		buf := make([]byte, 2, 200)
		fill := func(limit int) {
			b := Builder{buf: buf[:2], limit: 190, sequence: seq}
			more := o.Fill(&b, limit)
			require.LessOrEqual(t, len(b.buf), 190)
			require.Equal(t, more, o.Pending())
			b.closeBatch()
			r := readBatches(b.buf)
			seen := map[uint32]bool{}
			for r.Next() {
				if r.Channel.Delivery().Reliable() {
					key := uint32(r.Channel)<<16 | uint32(binary.LittleEndian.Uint16(r.Payload))
					require.False(t, seen[key], "twice in one packet")
					seen[key] = true
				}
			}
			require.NoError(t, r.Err())
			seq++
		}
		for ; len(script) >= 2; script = script[2:] {
			value := script[1]
			near := seq - min(seq, uint64(value))
			switch op := script[0]; {
			case op&0x3F < 8 || op >= 0x40 && op < 0xF0:
				p := Post{Type: 16, Stage: tick.Update, Channel: wire.Channel(op), Flags: wire.MessageFlags(value) & 0x28}
				_ = o.Push(&p, make([]byte, int(value)*4))
			case op%5 == 0:
				o.Acked(near)
			case op%5 == 1:
				o.Lost(near)
			case op%5 == 2:
				o.Credit(uint32(InitialCredit) + uint32(value)<<8)
			default:
				fill(int(value) * 2)
			}
			require.LessOrEqual(t, o.reliable.held, 8000)
			require.LessOrEqual(t, len(o.reliable.arena.buf), 8000)
			require.LessOrEqual(t, o.reliable.open, maxFragmentSets)
			require.LessOrEqual(t, pool.Lent(), 2000/185)
			require.GreaterOrEqual(t, o.Waiting(), 0)
		}
		for left := 100000; o.Pending() || o.Unconfirmed() > 0; left-- {
			require.Positive(t, left)
			o.reliable.granted += 1000
			fill(200)
			o.Acked(seq - 1)
			if seq%64 == 0 {
				for n := range uint64(200) {
					o.Lost(seq - min(seq, n))
				}
			}
		}
		require.Zero(t, o.Waiting())
		require.Zero(t, o.reliable.held)
		require.Zero(t, pool.Lent())
	})
}

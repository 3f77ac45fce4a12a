package wire

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arche-netcode/netcode/internal/alloctest"
	"github.com/arche-netcode/netcode/tick"
)

func drawPacketHeader(t *rapid.T) PacketHeader {
	h := PacketHeader{Sequence: Sequence(rapid.Uint16().Draw(t, "sequence")), HasAck: rapid.Bool().Draw(t, "has ack")}
	if h.HasAck {
		h.Ack = Sequence(rapid.Uint16().Draw(t, "ack"))
		h.AckBits = rapid.Uint32().Draw(t, "bits")
		for k := range 4 { // the usual 0xFF, which random numbers rarely are
			if rapid.Bool().Draw(t, "all arrived") {
				h.AckBits |= 0xFF << (8 * k)
			}
		}
		if h.HasDelay = rapid.Bool().Draw(t, "has delay"); h.HasDelay {
			h.Delay = rapid.Uint16().Draw(t, "delay")
		}
	}
	return h
}

func TestPacketHeader(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := drawPacketHeader(t)
		b := AppendPacketHeader([]byte{0xEE}, h)[1:]
		require.GreaterOrEqual(t, len(b), MinPacketHeader)
		most := MaxPacketHeader
		if h.HasDelay {
			most += AckDelaySize
		}
		require.LessOrEqual(t, len(b), most)
		got, n, err := ParsePacketHeader(append(b, 0xFF, 0x00))
		require.NoError(t, err)
		require.Equal(t, h, got)
		require.Equal(t, len(b), n)
		for cut := range b {
			_, n, err = ParsePacketHeader(b[:cut])
			require.ErrorIs(t, err, ErrTruncated)
			require.Zero(t, n)
		}
	})
}

func TestPacketHeaderRefuses(t *testing.T) {
	for name, b := range map[string][]byte{
		"a handshake datagram":        {0x80, 1, 0, 2, 0},
		"an unused flag":              {0x41, 1, 0, 2, 0},
		"an ack delay without an ack": {0x20, 1, 0, 2, 0},
		"ack bits without an ack":     {0x02, 1, 0, 2, 0, 3},
		"a byte that need not be":     {0x03, 1, 0, 2, 0, 0xFF},
		"the last that need not be":   {0x1F, 1, 0, 2, 0, 1, 2, 3, 0xFF},
		"a handshake flag and an ok":  {0x81, 1, 0, 2, 0},
	} {
		_, n, err := ParsePacketHeader(b)
		require.ErrorIs(t, err, ErrMalformed, name)
		require.Zero(t, n, name)
	}
}

func TestBatchHeader(t *testing.T) {
	b := make([]byte, 600)
	BatchHeader{Size: 0x0234}.Put(b)
	require.Equal(t, []byte{0x34, 0x02, 0}, b[:3])
	h, err := ParseBatchHeader(b)
	require.NoError(t, err)
	require.Equal(t, BatchHeader{Size: 0x234}, h)
	for cut := range 0x234 {
		_, err = ParseBatchHeader(b[:cut])
		require.ErrorIs(t, err, ErrTruncated)
	}
	_, err = ParseBatchHeader(b[:0x234])
	require.NoError(t, err, "an exact fit")
	for size := range byte(2) {
		_, err = ParseBatchHeader([]byte{size, 0, 0, 0})
		require.ErrorIs(t, err, ErrMalformed, "smaller than itself")
	}
	require.Panics(t, func() { BatchHeader{Size: 1}.Put(b) })
}

func TestMessageHeader(t *testing.T) {
	b := make([]byte, 4, 64)
	h := MessageHeader{Type: FirstUserMessage, Stage: tick.Update, Size: 10}
	h.Put(b)
	require.Equal(t, []byte{16, 4, 10, 0}, b)
	b = append(b, make([]byte, 10)...)
	got, err := ParseMessageHeader(b)
	require.NoError(t, err)
	require.Equal(t, h, got)
	for cut := range b {
		_, err = ParseMessageHeader(b[:cut])
		require.ErrorIs(t, err, ErrTruncated)
	}
}

// Put refuses a stage that would be a flag, and a flag that would be a stage.
func TestMessageFlagsOnTheWire(t *testing.T) {
	b := make([]byte, 4)
	MessageHeader{Type: 17, Stage: tick.Update, Flags: FlagTick | FlagEntity | FlagCall}.Put(b)
	require.Equal(t, []byte{17, 0x3C, 0, 0}, b)
	MessageHeader{Type: MessageRefusal, Stage: tick.FixedUpdate, Flags: FlagCall}.Put(b)
	require.Equal(t, []byte{7, 0x22, 0, 0}, b)
	require.Panics(t, func() { MessageHeader{Type: 17, Stage: 8}.Put(b) })
	require.Panics(t, func() { MessageHeader{Type: 17, Flags: 1}.Put(b) })
	require.True(t, MessageFlags(0x78).Valid())
	require.False(t, MessageFlags(0x80).Valid())
}

func TestMessageHeaderOfEveryTypeAndStage(t *testing.T) {
	b := make([]byte, MessageHeaderSize)
	for kind := range 256 {
		for stage := range 256 {
			h := MessageHeader{Type: MessageType(kind), Stage: tick.Stage(stage & 7), Flags: MessageFlags(stage &^ 7)}
			b[0], b[1] = byte(kind), byte(stage)
			legal := kind >= 1 && kind <= 254 && stage&7 <= 6 && stage < 0x80
			switch {
			case kind == int(MessageRefusal):
				legal = legal && stage&^7 == 0x20
			case kind < int(FirstUserMessage):
				legal = legal && stage < 7
			}
			got, err := ParseMessageHeader(b)
			if !legal {
				if !errors.Is(err, ErrMalformed) {
					t.Fatalf("type %d, stage byte %#x: %v", kind, stage, err)
				}
				require.Panics(t, func() { h.Put(b) })
				continue
			}
			h.Put(b)
			if err != nil || got != h || b[0] != byte(kind) || b[1] != byte(stage) {
				t.Fatalf("type %d, stage byte %#x: read %+v, %v, written %x", kind, stage, got, err, b)
			}
		}
	}
}

func TestHeadersAllocateNothing(t *testing.T) {
	buf := make([]byte, 0, 64)
	alloctest.Zero(t, 100, func() {
		b := AppendPacketHeader(buf, PacketHeader{Sequence: 1, HasAck: true, Ack: 2})
		_, _, _ = ParsePacketHeader(b)
		MessageHeader{Type: MessageSnapshot}.Put(b[:4])
		_, _ = ParseMessageHeader(b[:4])
		BatchHeader{Size: 4}.Put(b)
		_, _ = ParseBatchHeader(b)
	})
}

func FuzzParsePacketHeader(f *testing.F) {
	for _, bits := range []uint32{0, 1, 0xFF, 0xFFFF_FFFF, 0xFFFF_FF7F, 0x00FF_FFFF} {
		f.Add(AppendPacketHeader(nil, PacketHeader{Sequence: 1, HasAck: true, Ack: 0xFFFF, AckBits: bits}))
	}
	f.Add(AppendPacketHeader(nil, PacketHeader{Sequence: 0xABCD}))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, n, err := ParsePacketHeader(b)
		if err != nil {
			require.Zero(t, n)
			return
		}
		require.Equal(t, b[:n], AppendPacketHeader(nil, h), "one legal encoding")
	})
}

func FuzzParseBatch(f *testing.F) {
	b := make([]byte, 10)
	BatchHeader{Size: 10}.Put(b)
	MessageHeader{Type: MessageKeepAlive, Stage: tick.PostLateUpdate, Size: 4}.Put(b[2:])
	f.Add(b)
	f.Add([]byte{6, 0, 200, 0x3C, 0, 0})
	f.Add([]byte{6, 0, 7, 0x22, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		var again [MessageHeaderSize]byte
		batch, err := ParseBatchHeader(b)
		if err != nil {
			return
		}
		batch.Put(again[:])
		require.Equal(t, b[:BatchHeaderSize], again[:BatchHeaderSize])
		rest := b[BatchHeaderSize:batch.Size]
		for len(rest) > 0 {
			h, err := ParseMessageHeader(rest)
			if err != nil {
				return
			}
			h.Put(again[:])
			require.Equal(t, rest[:MessageHeaderSize], again[:])
			rest = rest[MessageHeaderSize+int(h.Size):]
		}
	})
}

func TestEveryChannelIsOneByte(t *testing.T) {
	seen := map[Channel]bool{}
	for d := Unreliable; d.Valid(); d++ {
		for n := range MaxChannels {
			c := NewChannel(d, n)
			require.False(t, seen[c])
			seen[c] = true
			require.Equal(t, d, c.Delivery())
			require.Equal(t, n, c.Number())
		}
	}
	require.Len(t, seen, 256)
	require.Zero(t, NewChannel(Unreliable, 0))
	require.Equal(t, "ReliableOrdered 63", Channel(255).String())
}

func TestDelivery(t *testing.T) {
	require.False(t, Unreliable.Reliable())
	require.False(t, UnreliableSequenced.Reliable())
	require.True(t, Reliable.Reliable())
	require.True(t, ReliableOrdered.Reliable())
	require.False(t, Delivery(4).Valid())
	require.Equal(t, "Delivery(4)", Delivery(4).String())
}

func TestSequenceBefore(t *testing.T) {
	for _, c := range []struct {
		a, b Sequence
		want bool
	}{
		{0, 0, false},
		{0, 1, true},
		{1, 0, false},
		{65535, 0, true},
		{0, 65535, false},
		{0, 32767, true},
		{0, 32768, false}, // half the range apart: neither
		{32768, 0, false},
		{0, 32769, false},
		{32769, 0, true},
	} {
		require.Equal(t, c.want, c.a.Before(c.b), "%d, %d", c.a, c.b)
	}
}

package peer

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arche-netcode/netcode/errs"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// TestBuilderNeverExceedsThePacket fills packets with random messages and reads
// them back.
func TestBuilderNeverExceedsThePacket(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(MinPacketSize, 1500).Draw(t, "size")
		a := NewConn(ConnConfig{Check: testCheck(), PacketSize: size})
		b := NewConn(ConnConfig{Check: testCheck()})
		if rapid.Bool().Draw(t, "acks") {
			a.received.accept(1, true)
			a.received.accept(5, true)
			b.sent.push(1, 0, sentPending, 9, 0)
			for range 4 {
				b.sent.push(1, 0, sentSilent, 9, 0)
			}
		}
		buf := make([]byte, rapid.IntRange(size, 2000).Draw(t, "buffer"))
		builder := a.Begin(buf)
		require.True(t, builder.Empty())
		require.GreaterOrEqual(t, builder.Room(), MaxPayload(size))
		var want [][]byte
		for {
			n := rapid.IntRange(0, 300).Draw(t, "n")
			fits := builder.Fits(n)
			require.Equal(t, fits && n > 0, n > 0 && n <= builder.Room())
			message := rapid.SliceOfN(rapid.Byte(), n, n).Draw(t, "message")
			space := builder.Payload()
			require.Len(t, space, builder.Room())
			copy(space, message)
			require.Equal(t, fits, builder.Add(wire.FirstUserMessage, tick.Update, n))
			if !fits {
				break
			}
			want = append(want, message)
		}
		packet := a.Finish(&builder, 1, 0)
		require.LessOrEqual(t, len(packet), size)
		require.Same(t, &buf[0], &packet[0])
		in, err := b.Read(packet, 0, nil)
		require.NoError(t, err)
		require.Equal(t, len(want) > 0, in.Eliciting)
		r := in.Messages()
		for _, message := range want {
			require.True(t, r.Next())
			require.Equal(t, string(message), string(r.Payload))
		}
		require.False(t, r.Next())
		require.NoError(t, r.Err())
	})
}

func TestBuilderExactFit(t *testing.T) {
	c := NewConn(ConnConfig{Check: testCheck(), PacketSize: 100})
	buf := make([]byte, 100)
	b := c.Begin(buf)
	require.True(t, b.Add(wire.FirstUserMessage, tick.Update, b.Room()))
	require.False(t, b.Fits(0))
	require.Zero(t, b.Room())
	require.Nil(t, b.Payload())
	require.Len(t, c.Finish(&b, 1, 0), 100)

	b = c.Begin(buf)
	require.True(t, b.Add(wire.FirstUserMessage, tick.Update, b.Room()-wire.MessageHeaderSize))
	require.Zero(t, b.Room())
	require.True(t, b.Add(wire.MessageKeepAlive, tick.Update, 0), "a message without payload fills the rest")
	require.False(t, b.Add(wire.MessageKeepAlive, tick.Update, -1))
	require.Len(t, c.Finish(&b, 1, 0), 100)
}

func TestFinishRefusesStaleBuilders(t *testing.T) {
	c := newTestConn(1, 64)
	one, two := make([]byte, 100), make([]byte, 100)
	first, second := c.Begin(one), c.Begin(two)
	require.NotNil(t, c.Finish(&first, 1, 0))
	require.Nil(t, c.Finish(&second, 1, 0), "its sequence is used")
	require.Nil(t, c.Finish(&first, 1, 0), "finished before")
	var none Builder
	require.Nil(t, c.Finish(&none, 1, 0))
	require.Zero(t, none.Room())
	require.False(t, none.Add(wire.FirstUserMessage, tick.Update, 0))
	require.True(t, none.Empty())
	short := c.Begin(make([]byte, 14))
	require.Nil(t, c.Finish(&short, 1, 0), "no buffer for a header")
	require.Equal(t, uint64(2), c.Next())
	require.Equal(t, uint64(1), c.Stats().Sent)
}

func TestShortestPackets(t *testing.T) {
	a, b := newTestConn(1, 64), newTestConn(1, 64)
	packet := finish(t, a, false, 1, 0)
	require.Len(t, packet, 9, "header 3, batch size 2, checksum 4")
	deliver(t, b, packet, 0, nil)
	for range 40 {
		packet = finish(t, a, false, 1, 0)
		deliver(t, b, packet, 0, nil)
	}
	require.Len(t, finish(t, b, false, 1, 0), 11, "ack 2 more; ack bits as expected take nothing")
}

// TestGoldenBytes pins the bytes that PROTOCOL.md shows. A change here is a
// change of the protocol and of its version.
func TestGoldenBytes(t *testing.T) {
	cookie := Cookie{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}
	hello := AppendHello(nil, Hello{Version: 1, Nonce: 0x1122334455667788, Protocol: 0xAABBCCDD, Cookie: cookie,
		Digest: NewDigest([]uint32{0xDEADBEEF, 5})})
	require.Len(t, hello, 512)
	golden(t, "hello, 45 bytes", hello[:45],
		"81 0100 8877665544332211 ddccbbaa00000000 0102030405060708090a0b0c0d0e0f10 0200 efbeadde 05000000")
	golden(t, "hello, checksum", hello[508:], goldenHelloSum)
	golden(t, "challenge", AppendChallenge(nil, Challenge{Nonce: 0x1122334455667788, Cookie: cookie}), goldenChallenge)
	golden(t, "accept", AppendAccept(nil, Accept{Nonce: 0x1122334455667788, Epoch: 0xCAFEF00D,
		Rate: 30, Window: 64, PacketSize: 1200}), goldenAccept)
	check := wire.NewChecksum(0xCAFEF00D, 0xAABBCCDD)
	golden(t, "join", AppendJoin(nil, Join{Nonce: 0x1122334455667788, Cookie: cookie}, check), goldenJoin)
	golden(t, "join with a payload", AppendJoin(nil, Join{Nonce: 0x1122334455667788, Cookie: cookie, Payload: []byte("anna")}, check), goldenPayload)
	golden(t, "welcome", AppendWelcome(nil, Welcome{Client: 3, Tick: 1000, Token: Token(cookie)}, ^check), goldenWelcome)
	golden(t, "resume", AppendResume(nil, Resume{Client: 3, Nonce: 0x1122334455667788, Path: 0x2233445566778899, Number: 1, Cookie: cookie}, check), goldenResume)
	golden(t, "reset", AppendReset(nil, Reset{Client: 3, Nonce: 0x1122334455667788, Path: 0x2233445566778899, Reason: errs.ReasonReset, Token: Token(cookie)}), goldenReset)
	golden(t, "refuse", AppendRefuse(nil, Refuse{Nonce: 0x1122334455667788, Reason: errs.ReasonFull, Detail: "64 of 64"}), goldenRefuse)

	c := NewConn(ConnConfig{Check: wire.NewChecksum(0xCAFEF00D, 0xAABBCCDD)})
	var buf [64]byte
	b := c.Begin(buf[:])
	golden(t, "first packet, empty", c.Finish(&b, 1, 0), goldenEmpty)
	for _, n := range []uint64{1, 2, 4} {
		c.received.accept(n, true)
	}
	goodbye := func(now time.Duration) []byte {
		b = c.Begin(buf[:])
		n := len(AppendClose(b.Payload()[:0], errs.CloseError{Reason: errs.ReasonKicked, Detail: "hi"}))
		b.Add(wire.MessageClose, tick.Initialization, n)
		return c.Finish(&b, 1, now)
	}
	c.ping.told, c.ping.newestAt = true, time.Second
	golden(t, "close, acknowledging 4, 2 and 1", goodbye(0), goldenClose)
	golden(t, "close, acknowledging 4 after 2 ms, 2 and 1", goodbye(time.Second+2*time.Millisecond), goldenDelay)
}

const (
	goldenHelloSum  = "f287f5da"
	goldenChallenge = "82 8877665544332211 0102030405060708090a0b0c0d0e0f10 7953dc34"
	goldenAccept    = "83 8877665544332211 0df0feca 1e00 4000 b004 a1ceaca3"
	goldenJoin      = "85 8877665544332211 0102030405060708090a0b0c0d0e0f10 79a5146d"
	goldenPayload   = "85 8877665544332211 0102030405060708090a0b0c0d0e0f10 616e6e61 9a0475f5"
	goldenWelcome   = "86 03000000 e803000000000000 0102030405060708090a0b0c0d0e0f10 289dec62"
	goldenResume    = "87 03000000 8877665544332211 9988776655443322 01000000 0102030405060708090a0b0c0d0e0f10 c0a3b44a"
	goldenReset     = "88 03000000 8877665544332211 9988776655443322 0e 0102030405060708090a0b0c0d0e0f10 ce6b2e88"
	goldenRefuse    = "84 8877665544332211 20 3634206f66203634 8d00ae1f"
	goldenEmpty     = "00 0100 0200 197da71e"
	goldenClose     = "1f 0200 0400 06000000 0900 03000300 02 6869 cae65e2e"
	goldenDelay     = "3f 0300 0400 06000000 fa00 0900 03000300 02 6869 46f58e6f"
)

func golden(t *testing.T, name string, got []byte, want string) {
	t.Helper()
	require.Equal(t, strings.ReplaceAll(want, " ", ""), hex.EncodeToString(got), name)
}

// TestGoldenMessages pins a packet with every kind of batch and prefix.
func TestGoldenMessages(t *testing.T) {
	c := NewConn(ConnConfig{Check: wire.NewChecksum(0xCAFEF00D, 0xAABBCCDD), PacketSize: 120})
	o := NewOutgoing(OutgoingConfig{PacketSize: 120}, NewPool(120))
	for _, m := range []struct {
		post Post
		body string
	}{
		{Post{Type: 16, Stage: tick.Update}, "hi"},
		{Post{Type: 16, Stage: tick.Update, Channel: wire.NewChannel(wire.UnreliableSequenced, 2)}, "s"},
		{Post{Type: 17, Stage: tick.FixedUpdate, Channel: wire.NewChannel(wire.Reliable, 0), Flags: wire.FlagTick | wire.FlagEntity,
			Tick: 0x10203, Entity: wire.NetworkID{Index: 300, Generation: 1}}, "r"},
		{Post{Type: wire.MessageRefusal, Channel: wire.NewChannel(wire.ReliableOrdered, 63), Flags: wire.FlagCall, Call: 0x0A0B}, "no"},
		{Post{Type: 18, Stage: tick.PostLateUpdate, Channel: wire.NewChannel(wire.ReliableOrdered, 63), Flags: wire.FlagCall, Call: 5}, strings.Repeat("x", 95)},
	} {
		require.NoError(t, o.Push(&m.post, []byte(m.body)))
	}
	buf := make([]byte, 120)
	b := c.Begin(buf)
	n := len(AppendCredit(b.Payload()[:0], InitialCredit+0x8000))
	require.True(t, b.Add(wire.MessageCredit, tick.Initialization, n))
	require.True(t, o.Fill(&b, 120))
	golden(t, "every kind", c.Finish(&b, 1, 0), goldenKinds)
	b = c.Begin(buf)
	require.True(t, o.Fill(&b, 120))
	golden(t, "first piece", c.Finish(&b, 1, 0)[:21], goldenPiece)
	b = c.Begin(buf)
	require.False(t, o.Fill(&b, 120))
	golden(t, "last piece", c.Finish(&b, 1, 0), goldenLast)
}

const (
	goldenKinds = "00 0100 1000 05000400 00800200 10040200 6869 0800 42 10040100 73 0f00 80 111a0800 0000 0302 f13c 01 72 " +
		"0d00 ff 07200600 0000 0b0a 6e6f 81a8ee8a"
	goldenPiece = "00 0200 0200 6900 ff 06006200 0100 12 26 00 02 0500 78"
	goldenLast  = "00 0300 0200 1200 ff 06000b00 0200 12 26 01 02 7878787878 bfa1f19f"
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

func TestReader(t *testing.T) {
	batches := []byte{
		12, 0, 16, 4, 2, 0, 'h', 'i', 17, 0, 0, 0,
		8, 0, 0x41, 18, 0x0C, 1, 0, 'x',
		7, 0, 0, 19, 0, 0, 0,
	}
	r := readBatches(batches)
	require.True(t, r.Next())
	require.Equal(t, wire.MessageHeader{Type: 16, Stage: tick.Update, Size: 2}, r.Header)
	require.Equal(t, "hi", string(r.Payload))
	require.Equal(t, 2, cap(r.Payload), "no message reaches into the next")
	mark := r
	require.True(t, r.Next())
	require.Equal(t, wire.MessageType(17), r.Header.Type)
	require.Empty(t, r.Payload)
	require.True(t, r.Next())
	require.Equal(t, wire.NewChannel(wire.UnreliableSequenced, 1), r.Channel)
	require.Equal(t, wire.MessageHeader{Type: 18, Stage: tick.Update, Flags: wire.FlagTick, Size: 1}, r.Header)
	require.True(t, r.Next())
	require.Zero(t, r.Channel, "back on channel 0")
	require.Equal(t, wire.MessageType(19), r.Header.Type)
	require.False(t, r.Next())
	require.False(t, r.Next())
	require.NoError(t, r.Err())
	require.True(t, mark.Next())
	require.Equal(t, wire.MessageType(17), mark.Header.Type)

	whole := map[int]bool{12: true, 20: true, 27: true, 0: true} // ends of batches; of nothing there is nothing to read
	for cut := range len(batches) + 1 {
		r := readBatches(batches[:cut])
		for r.Next() {
		}
		require.Equal(t, whole[cut], r.Err() == nil, "cut at %d", cut)
		require.Equal(t, whole[cut] && cut > 0, legalBatches(batches[:cut]), "cut at %d", cut)
	}
	for name, bad := range map[string][]byte{
		"type 0":           {6, 0, 0, 0, 0, 0},
		"stage 7":          {6, 0, 16, 7, 0, 0},
		"too long":         {6, 0, 16, 0, 1, 0},
		"into the next":    {6, 0, 16, 0, 3, 0, 7, 0, 1, 16, 0, 0, 0},
		"cut header":       {5, 0, 16, 0, 0},
		"flag of a snap":   {6, 0, 1, 8, 0, 0},
		"same channel":     {6, 0, 16, 0, 0, 0, 7, 0, 0, 16, 0, 0, 0},
		"empty one":        {2, 0, 3, 0, 5},
		"half a message":   {2, 0, 7, 0, 5, 16, 0, 1, 0},
		"size beyond all":  {255, 255, 16, 0, 0, 0},
		"further size 1":   {2, 0, 1, 0, 5, 16, 0, 0, 0},
		"refusal, no call": {6, 0, 7, 0, 0, 0},
	} {
		r := readBatches(bad)
		for r.Next() {
		}
		require.ErrorIs(t, r.Err(), ErrMalformed, name)
	}
}

// TestChannelsNeverShareABatch builds packets of messages on random channels, and wants each back on its channel, in the
// order in which they were added, with a batch more exactly where the channel changes.
func TestChannelsNeverShareABatch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(MinPacketSize, 600).Draw(t, "size")
		a, b := NewConn(ConnConfig{Check: testCheck(), PacketSize: size}), NewConn(ConnConfig{Check: testCheck()})
		builder := a.Begin(make([]byte, 600))
		channels := rapid.SliceOfNDistinct(rapid.Byte(), 1, 4, rapid.ID).Draw(t, "channels")
		var want []string
		last, bytes := wire.Channel(0), 0
		for range rapid.IntRange(0, 40).Draw(t, "messages") {
			ch := wire.Channel(rapid.SampledFrom(channels).Draw(t, "channel"))
			n := rapid.IntRange(0, 60).Draw(t, "n")
			builder.Switch(wire.Channel(rapid.Byte().Draw(t, "not used")))
			builder.Switch(ch)
			room := builder.Room()
			fits := builder.Fits(n)
			require.Equal(t, fits && n > 0, n > 0 && n <= room)
			body := rapid.SliceOfN(rapid.Byte(), n, n).Draw(t, "body")
			if rapid.Bool().Draw(t, "framed") {
				framed := make([]byte, 4)
				wire.MessageHeader{Type: 20, Stage: tick.Update, Size: uint16(n)}.Put(framed)
				require.Equal(t, fits, builder.Append(append(framed, body...)))
			} else {
				copy(builder.Payload(), body)
				require.Equal(t, fits, builder.Add(20, tick.Update, n))
			}
			if !fits {
				continue
			}
			if ch != last {
				last, bytes = ch, bytes+3
			}
			bytes += 4 + n
			want = append(want, fmt.Sprint(ch, body))
		}
		builder.Switch(99) // nothing follows
		require.Equal(t, len(want) == 0, builder.Empty())
		packet := a.Finish(&builder, 1, 0)
		require.Len(t, packet, 3+2+bytes+4)
		require.LessOrEqual(t, len(packet), size)
		in, err := b.Read(packet, 0, nil)
		require.NoError(t, err)
		require.Equal(t, len(want) > 0, in.Eliciting)
		var got []string
		r := in.Messages()
		for r.Next() {
			got = append(got, fmt.Sprint(r.Channel, r.Payload))
		}
		require.NoError(t, r.Err())
		require.Equal(t, want, got)
	})
}

// shifted numbers the types of the other end one higher, and knows those from 16 to 19.
func shifted() *Types {
	t := &Types{}
	for i := range t.In {
		t.In[i], t.Out[i] = 20, 21
	}
	for i := wire.MessageType(16); i < 20; i++ {
		t.In[i+1], t.Out[i] = i, i+1
	}
	t.In[255], t.Out[255] = 255, 255
	return t
}

// typesOf lists the types of the messages of a packet, and of the messages in its pieces.
func typesOf(in Incoming) (types []wire.MessageType) {
	for r := in.Messages(); r.Next(); {
		types = append(types, r.Header.Type)
		if r.Header.Type == wire.MessageFragment && len(r.Payload) > numberSize {
			types = append(types, wire.MessageType(r.Payload[numberSize]))
		}
	}
	return types
}

// Types are renumbered in all forms that a message has, on the way out and on the way in. Netcode's own messages stay.
func TestTypesAreRenumbered(t *testing.T) {
	theirs := NewConn(ConnConfig{Check: 7})
	ours := NewConn(ConnConfig{Check: 7, Types: shifted()})
	build := func(c *Conn) []byte {
		b := c.Begin(make([]byte, 400))
		add := func(ch wire.Channel, of wire.MessageType, body ...byte) {
			b.Switch(ch)
			require.True(t, b.Add(of, tick.Initialization, copy(b.Payload(), body)))
		}
		reliable := wire.NewChannel(wire.Reliable, 3)
		add(0, wire.MessageKeepAlive)
		add(0, 16, 1, 2)
		add(0, 17)
		add(0, 99)
		add(reliable, 18, 9, 0, 5)
		add(reliable, wire.MessageFragment, 10, 0, 19, 0, 0, 2, 7)
		add(reliable, wire.MessageFragment, 11, 0, byte(wire.MessageRefusal), 0, 0, 2, 7)
		add(reliable, wire.MessageFragment, 12)
		return c.Finish(&b, 1, time.Second)
	}
	in, err := theirs.Read(build(ours), time.Second, nil)
	require.NoError(t, err)
	require.Equal(t, []wire.MessageType{wire.MessageKeepAlive, 17, 18, 21, 19, 6, 20, 6, wire.MessageRefusal, 6}, typesOf(in)[:10])

	sent := build(theirs)
	kept := append([]byte(nil), sent...)
	in, err = ours.Read(sent, time.Second, nil)
	require.NoError(t, err)
	require.Equal(t, []wire.MessageType{wire.MessageKeepAlive, 20, 16, 20, 17, 6, 18, 6, wire.MessageRefusal, 6}, typesOf(in)[:10])
	require.Equal(t, kept, sent, "the caller's bytes stay as they are")
}

// Whatever the batches are, renumbering does not panic, changes types alone and stays within the bytes.
func FuzzRenumber(f *testing.F) {
	f.Add([]byte{9, 0, 16, 0, 3, 0, 1, 2, 3})
	f.Add([]byte{2, 0, 14, 0, 0x83, 6, 0, 7, 0, 1, 0, 18, 0, 0, 2, 9})
	f.Fuzz(func(t *testing.T, batches []byte) {
		same, there, back := &Types{}, shifted(), append([]byte{}, batches...)
		for i := range same.In {
			same.In[i] = wire.MessageType(i)
		}
		renumber(back, &same.In)
		require.Equal(t, batches, back)
		renumber(back, &there.In)
		require.Len(t, back, len(batches))
		before, after := readBatches(batches), readBatches(back)
		for before.Next() {
			require.True(t, after.Next())
			require.Equal(t, before.Channel, after.Channel)
			require.Equal(t, len(before.Payload), len(after.Payload))
			if before.Header.Type >= wire.FirstUserMessage {
				require.Equal(t, there.In[before.Header.Type], after.Header.Type)
			} else {
				require.Equal(t, before.Header, after.Header)
			}
		}
		require.False(t, after.Next())
	})
}

// readBatches returns a reader of the batches of a packet.
func readBatches(batches []byte) Reader { return (&Incoming{Batches: batches}).Messages() }

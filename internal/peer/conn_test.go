package peer

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

const ms = time.Millisecond

func TestAckTravels(t *testing.T) {
	for _, first := range append(startSequences(), 1) {
		a, b := newTestConn(first, 64), newTestConn(first, 64)
		var out log
		in := deliver(t, b, finish(t, a, true, 5, 0), 40*ms, nil)
		require.Equal(t, first, in.Sequence)
		require.True(t, in.Eliciting)
		require.True(t, b.AckDue())
		require.False(t, b.AckNow())

		back := finish(t, b, false, 5, 50*ms)
		require.False(t, b.AckDue())
		in = deliver(t, a, back, 90*ms, &out)
		require.False(t, in.Eliciting)
		require.False(t, a.AckDue(), "an acknowledgement elicits none")
		require.Equal(t, []uint64{first}, out.acked)
		require.Equal(t, []tick.Tick{5}, out.ticks)
		rtt, jitter := a.RTT()
		require.Equal(t, 90*ms, rtt)
		require.Equal(t, 45*ms, jitter)
		require.True(t, a.received.any)
		require.Equal(t, 90*ms, a.heard)
	}
}

func TestNoDecodeNoAck(t *testing.T) {
	a, b := newTestConn(1, 64), newTestConn(1, 64)
	packet := finish(t, a, true, 1, 0)
	_, err := b.Read(packet, 0, nil)
	require.NoError(t, err)
	require.False(t, b.AckDue())
	require.False(t, b.received.any)
	var out log
	deliver(t, a, finish(t, b, false, 1, 0), 0, &out)
	require.Empty(t, out.acked)
	deliver(t, b, packet, 0, nil) // read again: what was not accepted is no duplicate
	_, err = b.Read(packet, 0, nil)
	require.ErrorIs(t, err, ErrDuplicate)
}

func TestAckNowAfterSixteen(t *testing.T) {
	a, b := newTestConn(1, 64), newTestConn(1, 64)
	for n := range 16 {
		require.False(t, b.AckNow(), "after %d", n)
		deliver(t, b, finish(t, a, false, 1, 0), 0, nil)
		deliver(t, b, finish(t, a, true, 1, 0), 0, nil)
	}
	require.True(t, b.AckNow())
	var buf [64]byte
	builder := b.Begin(buf[:])
	deliver(t, b, finish(t, a, true, 1, 0), 0, nil)
	require.NotNil(t, b.Finish(&builder, 1, 0))
	require.True(t, b.AckDue(), "accepted after Begin: that packet does not acknowledge it")
	require.False(t, b.AckNow())
}

func TestDamageNeverAffectsState(t *testing.T) {
	a, b := newTestConn(1, 64), newTestConn(1, 64)
	deliver(t, b, finish(t, a, true, 1, 0), 0, nil)
	packet := finish(t, b, true, 1, 0)
	before := *a
	before.sent.ring = append([]record(nil), a.sent.ring...)
	var out log
	for bit := range 8 * len(packet) {
		packet[bit/8] ^= 1 << (bit % 8)
		_, err := a.Read(packet, ms, &out)
		require.ErrorIs(t, err, ErrChecksum)
		packet[bit/8] ^= 1 << (bit % 8)
	}
	for n := range packet {
		_, err := a.Read(packet[:n], ms, &out)
		require.ErrorIs(t, err, ErrChecksum)
	}
	foreign := NewConn(ConnConfig{Check: wire.NewChecksum(testEpoch+1, testProtocol)})
	_, err := a.Read(finish(t, foreign, true, 1, 0), ms, &out)
	require.ErrorIs(t, err, ErrChecksum, "another epoch")

	require.Equal(t, uint64(8*len(packet)+len(packet)+1), a.Stats().BadChecksum)
	before.stats.BadChecksum = a.stats.BadChecksum
	require.Equal(t, before, *a)
	require.Empty(t, out.acked)
	deliver(t, a, packet, ms, &out)
	require.Equal(t, []uint64{1}, out.acked)
}

func TestMalformedPackets(t *testing.T) {
	legal := wire.PacketHeader{Sequence: 1}
	good := handmade(legal, []byte{16, 0, 1, 0, 'x'})
	parse := func(b []byte) error {
		c := newTestConn(1, 64)
		in, err := c.Read(b, 0, nil)
		if err == ErrMalformed {
			require.Equal(t, uint64(1), c.Stats().Malformed)
			require.Equal(t, Incoming{}, in)
		}
		return err
	}
	cutEverywhere(t, testCheck(), good, len(good), parse)
	body := good[:len(good)-wire.ChecksumSize]
	for name, bad := range map[string][]byte{
		"flag":            append([]byte{0x40}, body[1:]...),
		"handshake":       append([]byte{0x80}, body[1:]...),
		"bytes after":     append(append([]byte(nil), body...), 0),
		"batch too large": append([]byte{0, 1, 0, 8, 0}, body[5:]...),
		"batch too small": append([]byte{0, 1, 0, 6, 0}, body[5:]...),
		"batch below two": {0, 1, 0, 1, 0},
		"no batch":        {0, 1, 0},

		"a further batch without a message":        append(append([]byte(nil), body...), 3, 0, 5),
		"a further batch below its header":         append(append([]byte(nil), body...), 2, 0, 5),
		"a further batch of the same channel":      append(append([]byte(nil), body...), 7, 0, 0, 16, 0, 0, 0),
		"a further batch with one byte too many":   append(append([]byte(nil), body...), 7, 0, 5, 16, 0, 0, 0, 0),
		"a further batch with one byte too few":    append(append([]byte(nil), body...), 8, 0, 5, 16, 0, 0, 0),
		"two of the same channel after each other": append(append([]byte(nil), body...), 7, 0, 5, 16, 0, 0, 0, 7, 0, 5, 16, 0, 0, 0),
	} {
		require.ErrorIs(t, parse(seal(testCheck(), append([]byte(nil), bad...), 0)), ErrMalformed, name)
	}
}

func TestConfigDefaultsAndLimits(t *testing.T) {
	c := NewConn(ConnConfig{})
	require.Equal(t, uint64(1), c.Next())
	require.Equal(t, DefaultSentPackets, c.sent.most)
	require.Equal(t, DefaultPacketSize, c.config.PacketSize)
	for asked, want := range map[int]int{-1: 1024, 1: 64, 64: 64, 65: 128, 1000: 1024, 1 << 20: 1 << 14} {
		require.Equal(t, want, NewConn(ConnConfig{SentPackets: asked}).sent.most)
	}
	require.Equal(t, MinPacketSize, NewConn(ConnConfig{PacketSize: 3}).config.PacketSize)
	require.Equal(t, MaxPacketSize, NewConn(ConnConfig{PacketSize: 1 << 20}).config.PacketSize)
}

func TestReserveTakesMaxBody(t *testing.T) {
	for _, size := range []int{256, 1200, 8192} {
		for _, bytes := range []int{16 << 10, 256 << 10} {
			for _, ch := range []wire.Channel{0, 5, wire.NewChannel(wire.UnreliableSequenced, 0), wire.NewChannel(wire.Reliable, 0), wire.NewChannel(wire.ReliableOrdered, 9)} {
				for _, flags := range []wire.MessageFlags{0, wire.FlagCall, wire.FlagTick | wire.FlagEntity | wire.FlagCall} {
					o := NewOutgoing(OutgoingConfig{PacketSize: size, ReliableBytes: bytes}, NewPool(size))
					p := Post{Type: 20, Stage: tick.Update, Channel: ch, Flags: flags, Entity: wire.NetworkID{Index: 70000, Generation: 1}}
					most := o.MaxBody(&p)
					require.Positive(t, most)
					_, err := o.Reserve(&p, most+1)
					require.ErrorIs(t, err, ErrTooLarge, "size %d, channel %v, flags %x", size, ch, flags)
					_, err = o.Reserve(&p, most)
					require.NoError(t, err, "size %d, channel %v, flags %x", size, ch, flags)
					o.Cancel()
				}
			}
		}
	}
}

// Congestion control that ended and began again within a round trip takes nothing from the packets of before.
func TestCongestionControlBeginsAgain(t *testing.T) {
	a, b := NewConn(ConnConfig{Check: 7, Bound: 1 << 20}), NewConn(ConnConfig{Check: 7})
	var under []byte
	now := time.Duration(0)
	round := func() { // One packet is under way.
		now += 33 * ms
		if under != nil {
			in, err := b.Read(under, now, nil)
			require.NoError(t, err)
			b.Accept(in, now)
			y := b.Begin(make([]byte, 100))
			_, err = a.Read(b.Finish(&y, 1, now), now, nil)
			require.NoError(t, err)
		}
		x := a.Begin(make([]byte, 1500))
		x.Add(wire.MessageKeepAlive, 0, 1000)
		under = append([]byte(nil), a.Finish(&x, 1, now)...)
		a.DetectLost(now, nil)
		a.Control.Tick(now, true)
	}
	for range 300 {
		round()
	}
	a.SetBound(0)
	a.SetBound(1 << 20)
	for range 250 { // 8 s
		round()
	}
	require.Greater(t, a.Control.Rate(), 30<<10)
}

// After another address the rate begins anew, and packets that went to the old one say nothing of it.
func TestANewPathHasANewRate(t *testing.T) {
	a, b := NewConn(ConnConfig{Bound: 8 << 20, TickInterval: 16 * ms}), NewConn(ConnConfig{})
	first := a.Control.State()
	send := func(c *Conn, now time.Duration, n int) []byte {
		p := c.Begin(make([]byte, 1200))
		p.Add(wire.MessageKeepAlive, tick.Initialization, n)
		return c.Finish(&p, 1, now)
	}
	read := func(c *Conn, packet []byte, now time.Duration) {
		in, err := c.Read(packet, now, nil)
		require.NoError(t, err)
		c.Accept(in, now)
	}
	var now time.Duration
	round := func() {
		now += 16 * ms
		read(b, send(a, now, 500), now)
		read(a, send(b, now, 0), now)
		a.Control.Tick(now, true)
	}
	for range 100 {
		round()
	}
	require.Greater(t, a.Control.State().Rate, 2*first.Rate, "it grew")
	now += 16 * ms
	old := send(a, now, 500)
	a.NewPath()
	require.Equal(t, first, a.Control.State())
	now += 16 * ms
	read(b, old, now)
	read(a, send(b, now, 0), now)
	a.Control.Tick(now, true)
	require.Equal(t, first.Rate, a.Control.State().Rate, "an old packet is no sample")
	for range 100 {
		round()
	}
	require.Greater(t, a.Control.State().Rate, 2*first.Rate, "it grows again")
}

// arrive is deliver of a packet that came before the frame in which it is read.
func arrive(t require.TestingT, c *Conn, packet []byte, arrived, now time.Duration) {
	in, err := c.Read(packet, now, nil)
	require.NoError(t, err)
	in.Arrived = arrived
	c.Accept(in, now)
}

// delayOf returns the ack delay of a packet, and whether it has one.
func delayOf(t require.TestingT, packet []byte) (time.Duration, bool) {
	h, _, err := wire.ParsePacketHeader(packet)
	require.NoError(t, err)
	return time.Duration(h.Delay) * wire.AckDelayUnit, h.HasDelay
}

// Ping is the way there and back, whatever the frames of both ends are.
func TestPingIsTheWay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		span := func(name string, most time.Duration) time.Duration {
			return time.Duration(rapid.Int64Range(0, int64(most)).Draw(t, name))
		}
		a, b := newTestConn(1, 64), newTestConn(1, 64)
		now, told := time.Duration(0), -delayEvery
		for range 10 {
			there, back := span("there", 200*time.Millisecond), span("back", 200*time.Millisecond)
			question := finish(t, a, rapid.Bool().Draw(t, "eliciting"), 1, now)
			arrived := now + there
			frame := arrived + span("until the frame", 50*time.Millisecond)
			arrive(t, b, question, arrived, frame)
			sent := frame + span("until the tick", 600*time.Millisecond)
			answer := finish(t, b, true, 1, sent)
			delay, has := delayOf(t, answer)
			require.Equal(t, sent-told >= delayEvery && sent-arrived < 1<<16*wire.AckDelayUnit, has)
			before := a.Ping()
			now = sent + back + span("until the frame", 50*time.Millisecond)
			arrive(t, a, answer, sent+back, now)
			if has {
				told = sent
				require.InDelta(t, float64(sent-arrived), float64(delay), float64(wire.AckDelayUnit))
				require.InDelta(t, float64(there+back), float64(a.Ping()), float64(wire.AckDelayUnit))
			} else {
				require.Equal(t, before, a.Ping())
			}
			now += span("pause", time.Second)
		}
	})
}

// An ack delay stands in packets with messages only, and only where they have room for it: neither a probe nor a full packet grows.
func TestAckDelayNeedsRoom(t *testing.T) {
	a, b := newTestConn(1, 64), newTestConn(1, 64)
	_, has := delayOf(t, finish(t, b, true, 1, 0))
	require.False(t, has, "nothing came")
	deliver(t, b, finish(t, a, true, 1, 0), 0, nil)
	_, has = delayOf(t, finish(t, b, false, 1, 0))
	require.False(t, has, "no message: it may be repeated as it is")
	fill := func(builder Builder, spare int) []byte {
		n := builder.Room() - spare
		require.True(t, builder.Add(wire.MessageKeepAlive, 0, n))
		packet := b.Finish(&builder, 1, 0)
		require.NotNil(t, packet)
		return packet
	}
	var buf [DefaultPacketSize]byte
	for spare := range wire.AckDelaySize {
		_, has = delayOf(t, fill(b.Begin(buf[:]), spare))
		require.False(t, has, "%d bytes are left", spare)
	}
	_, has = delayOf(t, fill(b.BeginProbe(buf[:], 700), 0))
	require.False(t, has, "a probe")
	packet := fill(b.Begin(buf[:]), wire.AckDelaySize)
	_, has = delayOf(t, packet)
	require.True(t, has)
	require.Len(t, packet, DefaultPacketSize)
	arrive(t, a, packet, 0, 0)
}

// An ack delay may be any number, about any packet.
func TestAckDelayIsNotTrusted(t *testing.T) {
	a := newTestConn(1, 64)
	for range 3 {
		finish(t, a, true, 1, time.Second)
	}
	say := func(sequence, ack uint16, delay uint16, now time.Duration) {
		deliver(t, a, handmade(wire.PacketHeader{
			Sequence: wire.Sequence(sequence), HasAck: true, Ack: wire.Sequence(ack), HasDelay: true, Delay: delay,
		}, nil), now, nil)
	}
	say(1, 3, 0, time.Second+80*time.Millisecond)
	require.Equal(t, 80*time.Millisecond, a.Ping())
	say(2, 3, 65535, time.Second+90*time.Millisecond)
	require.Zero(t, a.Ping(), "longer than it can have been")
	say(3, 65000, 0, 2*time.Second)
	require.Zero(t, a.Ping(), "a packet before the first")
	say(4, 3, 0, time.Hour)
	require.Equal(t, maxSample, a.Ping())
	a.NewPath()
	require.Zero(t, a.Ping())
	say(5, 3, 0, time.Hour)
	require.Zero(t, a.Ping(), "of the path before")
}

package peer

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// came is one end that was given messages by hand.
type came struct {
	t *testing.T
	Arrivals
	got []string
}

func (c *came) deliver(m *Arrival) { c.got = append(c.got, string(m.Body)) }

// give judges and takes a message of the game; what Judge says, Take must say too.
func (c *came) give(seq uint64, ch wire.Channel, h wire.MessageHeader, payload []byte) error {
	h.Size = uint16(len(payload))
	err := judge(&c.Arrivals, ch, h, payload)
	require.Equal(c.t, err, c.Take(seq, ch, h, payload, c.deliver))
	return err
}

// judge opens a message and judges it.
func judge(a *Arrivals, ch wire.Channel, h wire.MessageHeader, payload []byte) error {
	var m Arrival
	if err := m.Open(ch, h, payload); err != nil {
		return err
	}
	return a.Judge(&m)
}

// number gives a small reliable message.
func (c *came) number(ch wire.Channel, n uint16, body string) error {
	return c.give(1, ch, wire.MessageHeader{Type: 16, Stage: tick.Update}, append(binary.LittleEndian.AppendUint16(nil, n), body...))
}

// piece gives a piece of a message of type 16.
func (c *came) piece(ch wire.Channel, n uint16, index, count byte, part string) error {
	payload := append(binary.LittleEndian.AppendUint16(nil, n), 16, byte(tick.Update), index, count)
	return c.give(1, ch, wire.MessageHeader{Type: wire.MessageFragment}, append(payload, part...))
}

const (
	reliable0 = wire.Channel(0x80)
	ordered0  = wire.Channel(0xC0)
)

func TestExactlyOnceAndInOrder(t *testing.T) {
	c := &came{t: t}
	for _, n := range []uint16{0, 2, 2, 4, 1, 3, 0, 1, 2, 3, 4, 5} {
		require.NoError(t, c.number(ordered0, n, fmt.Sprint(n)))
	}
	require.Equal(t, []string{"0", "1", "2", "3", "4", "5"}, c.got)
	require.Equal(t, ArrivalStats{Duplicates: 6, Early: 2}, c.Stats())
	c.got = nil
	for _, n := range []uint16{3, 0, 3, 1, 1023, 2, 0, 1027} {
		require.NoError(t, c.number(reliable0, n, fmt.Sprint(n)))
	}
	require.Equal(t, []string{"3", "0", "1", "1023", "2", "1027"}, c.got)
}

func TestNumbersOutsideTheWindow(t *testing.T) {
	for _, ch := range []wire.Channel{reliable0, ordered0} {
		for n, want := range map[uint16]error{0: nil, 1023: nil, 1024: ErrMalformed, 32767: ErrMalformed, 32768: ErrMalformed, 65535: ErrMalformed} {
			c := &came{t: t}
			require.ErrorIs(t, c.number(ch, n, ""), want, "%v number %d at the start", ch, n)
		}
		c := &came{t: t}
		for n := range uint16(2000) {
			require.NoError(t, c.number(ch, n, ""))
			c.Freed(c.Waiting())
			c.CreditDue()
			c.CreditSent(0)
		}
		for n, want := range map[uint16]error{0: nil, 1999: nil, 2000: nil, 3023: nil, 3024: ErrMalformed, 34767: ErrMalformed, 65535: ErrMalformed} {
			require.ErrorIs(t, judge(&c.Arrivals, ch, wire.MessageHeader{Type: 16}, binary.LittleEndian.AppendUint16(nil, n)), want, "%v number %d", ch, n)
		}
	}
}

func TestSequencedDropsLateMessages(t *testing.T) {
	c := &came{t: t}
	one, two := wire.NewChannel(wire.UnreliableSequenced, 1), wire.NewChannel(wire.UnreliableSequenced, 2)
	for _, m := range []struct {
		seq  uint64
		ch   wire.Channel
		body string
	}{{5, one, "a"}, {5, one, "b"}, {4, one, "late"}, {4, two, "c"}, {6, one, "d"}, {5, one, "late"}} {
		require.NoError(t, c.give(m.seq, m.ch, wire.MessageHeader{Type: 16}, []byte(m.body)))
	}
	require.Equal(t, []string{"a", "b", "c", "d"}, c.got)
	require.Equal(t, uint64(2), c.Stats().Late)
}

func TestPiecesJoin(t *testing.T) {
	for _, ch := range []wire.Channel{reliable0, ordered0} {
		c := &came{t: t}
		require.NoError(t, c.piece(ch, 3, 2, 3, "e"), "the last first")
		require.NoError(t, c.piece(ch, 1, 0, 3, "ab"))
		require.NoError(t, c.piece(ch, 1, 0, 3, "ab"))
		require.NoError(t, c.number(ch, 4, "after"))
		require.NoError(t, c.piece(ch, 2, 1, 3, "cd"))
		require.NoError(t, c.number(ch, 0, "before"))
		if ch == ordered0 {
			require.Equal(t, []string{"before", "abcde", "after"}, c.got)
		} else {
			require.Equal(t, []string{"after", "abcde", "before"}, c.got)
		}
		require.Zero(t, c.open)
		require.Zero(t, c.reorder.live)
		require.Equal(t, uint64(1), c.Stats().Duplicates)
		require.Equal(t, 3*(6+32)+5+2*(2+32)+len("beforeafter"), c.Waiting())
	}
}

func TestPiecesWithFlags(t *testing.T) {
	var c Arrivals
	whole := Post{
		Flags: wire.FlagTick | wire.FlagEntity | wire.FlagCall | wire.FlagState,
		Tick:  513, Entity: wire.NetworkID{Index: 4000, Generation: 9}, Call: 7, State: 0x10203,
	}
	joined := append(whole.appendPrefix(nil), "body"...)
	half := len(joined)/2 + 1
	var got []Arrival
	for i, part := range [][]byte{joined[:half], joined[half:]} {
		payload := append([]byte{byte(i), 0, 20, byte(tick.PreUpdate) | byte(whole.Flags), byte(i), 2}, part...)
		h := wire.MessageHeader{Type: wire.MessageFragment, Size: uint16(len(payload))}
		require.NoError(t, judge(&c, ordered0, h, payload))
		require.NoError(t, c.Take(1, ordered0, h, payload, func(m *Arrival) {
			m.Body = append([]byte(nil), m.Body...)
			got = append(got, *m)
		}))
	}
	require.Equal(t, []Arrival{{
		Channel: ordered0, Joined: true, Header: wire.MessageHeader{Type: 20, Stage: tick.PreUpdate, Flags: whole.Flags},
		Tick: 513, Entity: whole.Entity, Call: 7, State: 0x203, Body: []byte("body"), Cost: len(joined) + 2*(6+32),
	}}, got)
}

// A message waits for the state of the entity that it is about, and of no other.
func TestStateOfNoEntityIsMalformed(t *testing.T) {
	post := Post{Type: 20, Flags: wire.FlagState, State: 5}
	out := NewOutgoing(OutgoingConfig{}, NewPool(1200))
	require.ErrorIs(t, out.Push(&post, nil), ErrEntity)
	var a Arrival
	require.ErrorIs(t, a.Open(0, wire.MessageHeader{Type: 20, Flags: wire.FlagState, Size: 2}, []byte{5, 0}), ErrMalformed)
	require.ErrorIs(t, a.Open(0, wire.MessageHeader{Type: 20, Flags: wire.FlagState | wire.FlagEntity, Size: 3}, []byte{1, 1, 5}), ErrMalformed, "cut short")
	require.NoError(t, a.Open(0, wire.MessageHeader{Type: 20, Flags: wire.FlagState | wire.FlagEntity, Size: 4}, []byte{1, 1, 5, 0}))
	require.EqualValues(t, 5, a.State)
}

// TestCase11HostilePieces: counts of 0 and huge, indices beyond, counts and types that differ, pieces that overlap, sets
// that are never finished.
func TestCase11HostilePieces(t *testing.T) {
	for name, bad := range map[string]func(c *came) error{
		"count 0":                     func(c *came) error { return c.piece(reliable0, 5, 0, 0, "ab") },
		"count 1":                     func(c *came) error { return c.piece(reliable0, 5, 0, 1, "ab") },
		"count 33":                    func(c *came) error { return c.piece(reliable0, 5, 0, 33, "ab") },
		"count 33, beside all others": func(c *came) error { return c.piece(reliable0, 30, 0, MaxFragments+1, "ab") },
		"count 255":                   func(c *came) error { return c.piece(reliable0, 5, 0, 255, "ab") },
		"index at count":              func(c *came) error { return c.piece(reliable0, 5, 2, 2, "ab") },
		"index 255":                   func(c *came) error { return c.piece(reliable0, 300, 255, 2, "ab") },
		"before number 0": func(c *came) error {
			return c.piece(reliable0, 0, 1, 2, "ab")
		},
		"empty piece":         func(c *came) error { return c.piece(reliable0, 5, 0, 2, "") },
		"count differs":       func(c *came) error { return c.piece(reliable0, 12, 2, 4, "ab") },
		"first differs":       func(c *came) error { return c.piece(reliable0, 12, 1, 3, "ab") },
		"length differs":      func(c *came) error { return c.piece(reliable0, 11, 1, 3, "abc") },
		"last longer":         func(c *came) error { return c.piece(reliable0, 12, 2, 3, "abc") },
		"whole message in it": func(c *came) error { return c.number(reliable0, 12, "x") },
		"overlaps the end":    func(c *came) error { return c.piece(reliable0, 13, 1, 2, "ab") },
		"holds a whole one":   func(c *came) error { return c.piece(reliable0, 21, 1, 3, "ab") },
		"type differs": func(c *came) error {
			return c.give(1, reliable0, wire.MessageHeader{Type: wire.MessageFragment}, []byte{11, 0, 17, 4, 1, 3, 'c', 'd'})
		},
		"stage differs": func(c *came) error {
			return c.give(1, reliable0, wire.MessageHeader{Type: wire.MessageFragment}, []byte{11, 0, 16, 3, 1, 3, 'c', 'd'})
		},
		"a piece of pieces": func(c *came) error {
			return c.give(1, reliable0, wire.MessageHeader{Type: wire.MessageFragment}, []byte{5, 0, 6, 0, 0, 2, 'c', 'd'})
		},
		"a piece of a snapshot": func(c *came) error {
			return c.give(1, reliable0, wire.MessageHeader{Type: wire.MessageFragment}, []byte{5, 0, 1, 0, 0, 2, 'c', 'd'})
		},
		"a flag that does not exist": func(c *came) error {
			return c.give(1, reliable0, wire.MessageHeader{Type: wire.MessageFragment}, []byte{5, 0, 16, 0x80, 0, 2, 'c', 'd'})
		},
		"a stage of its own": func(c *came) error {
			return c.give(1, reliable0, wire.MessageHeader{Type: wire.MessageFragment, Stage: 1}, []byte{5, 0, 16, 0, 0, 2, 'c', 'd'})
		},
		"on an unreliable channel": func(c *came) error {
			return c.give(1, 5, wire.MessageHeader{Type: wire.MessageFragment}, []byte{5, 0, 16, 0, 0, 2, 'c', 'd'})
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := &came{t: t}
			require.NoError(t, c.piece(reliable0, 10, 0, 3, "ab"))
			require.NoError(t, c.number(reliable0, 22, "whole"))
			before, live := c.Waiting(), c.reorder.live
			c.got = nil
			require.ErrorIs(t, bad(c), ErrMalformed)
			require.Equal(t, before, c.Waiting(), "without effect")
			require.Equal(t, live, c.reorder.live)
			require.Equal(t, 1, c.open)
			require.Empty(t, c.got)
		})
	}
	t.Run("never finished", func(t *testing.T) {
		c := &came{t: t}
		for i := range 4 {
			require.NoError(t, c.piece(wire.NewChannel(wire.Reliable, i), 0, 0, 32, "ab"))
		}
		for i := 4; i < 64; i++ {
			require.ErrorIs(t, c.piece(wire.NewChannel(wire.Reliable, i), 0, 0, 32, "ab"), ErrMalformed)
		}
		require.Equal(t, 4, c.open)
		require.LessOrEqual(t, cap(c.reorder.buf), InitialCredit)
	})
	t.Run("joined to something illegal", func(t *testing.T) {
		for _, ch := range []wire.Channel{reliable0, ordered0} {
			c := &came{t: t}
			flagged := func(n, index byte) error {
				payload := []byte{n, 0, 16, byte(wire.FlagEntity), index, 2, 0xFF}
				return c.Take(1, ch, wire.MessageHeader{Type: wire.MessageFragment, Size: 7}, payload, c.deliver)
			}
			require.NoError(t, flagged(0, 0))
			require.ErrorIs(t, flagged(1, 1), ErrMalformed)
			require.Empty(t, c.got)
		}
	})
}

// TestFragmentsTravelOnReliableChannelsOnly holds for channel 0 of Unreliable too, whose messages without flags need no look.
func TestFragmentsTravelOnReliableChannelsOnly(t *testing.T) {
	for _, ch := range []wire.Channel{0, 1, 0x40, 0x41} {
		c := &came{t: t}
		require.ErrorIs(t, c.piece(ch, 0, 0, 2, "a"), ErrMalformed, "channel %s", ch)
		require.Empty(t, c.got)
	}
	for _, ch := range []wire.Channel{reliable0, ordered0} {
		c := &came{t: t}
		require.NoError(t, c.piece(ch, 0, 0, 2, "a"))
		require.NoError(t, c.piece(ch, 1, 1, 2, "b"))
		require.Equal(t, []string{"ab"}, c.got)
	}
}

func TestContradictionsWithinAPacket(t *testing.T) {
	c := &came{t: t}
	payload := func(n byte, index, count byte) []byte { return []byte{n, 0, 16, 0, index, count, 'x'} }
	h := wire.MessageHeader{Type: wire.MessageFragment, Size: 7}
	for i := range 5 { // each is legal beside what came before the packet
		require.NoError(t, judge(&c.Arrivals, wire.NewChannel(wire.Reliable, i), h, payload(0, 0, 2)))
	}
	for i := range 5 {
		err := c.Take(1, wire.NewChannel(wire.Reliable, i), h, payload(0, 0, 2), c.deliver)
		require.Equal(t, i == 4, err != nil)
	}
	require.NoError(t, c.number(reliable0, 7, "a"))
	require.NoError(t, c.number(reliable0, 7, "b"), "a number twice is a duplicate")
	require.Equal(t, []string{"a"}, c.got)
}

func TestPrefixes(t *testing.T) {
	p := Post{Type: 16, Flags: wire.FlagTick | wire.FlagEntity | wire.FlagCall, Tick: 1 << 40, Entity: wire.NetworkID{Index: MaxEntityIndex - 1, Generation: 1<<32 - 1}}
	for _, ch := range []wire.Channel{0, 9, 0x41, reliable0, ordered0} {
		var payload []byte
		if ch.Delivery().Reliable() {
			payload = append(payload, 0, 0)
		}
		payload = p.appendPrefix(payload)
		require.LessOrEqual(t, len(payload), maxPrefix)
		for cut := range payload { // cut at every byte
			c := &came{t: t}
			h := wire.MessageHeader{Type: 16, Flags: p.Flags}
			require.ErrorIs(t, c.give(1, ch, h, payload[:cut]), ErrMalformed, "%v cut at %d", ch, cut)
		}
		c := &came{t: t}
		require.NoError(t, c.give(1, ch, wire.MessageHeader{Type: 16, Flags: p.Flags}, payload))
		require.Equal(t, []string{""}, c.got)
	}
	for name, bad := range map[string][]byte{
		"generation 0":       {5, 0},
		"index 2^20":         wire.AppendVarint(wire.AppendVarint(nil, 1<<20), 1),
		"generation 2^32":    wire.AppendVarint(wire.AppendVarint(nil, 1), 1<<32),
		"longer than needed": {249, 0, 0, 1},
		"huge":               wire.AppendVarint(wire.AppendVarint(nil, 1<<63), 1),
	} {
		if name == "longer than needed" {
			bad = []byte{250, 0, 0, 1, 1}
		}
		c := &came{t: t}
		require.ErrorIs(t, c.give(1, 0, wire.MessageHeader{Type: 16, Flags: wire.FlagEntity}, bad), ErrMalformed, name)
	}
	c := &came{t: t}
	require.ErrorIs(t, c.give(1, 5, wire.MessageHeader{Type: wire.MessageKeepAlive}, nil), ErrMalformed, "not on this channel")
	require.ErrorIs(t, c.give(1, reliable0, wire.MessageHeader{Type: wire.MessageCredit}, []byte{0, 0, 1, 2, 3, 4}), ErrMalformed)
}

func TestCreditIsGrantedAndGrantedAgain(t *testing.T) {
	var a Arrivals
	low, due := a.CreditDue()
	require.False(t, due)
	require.Equal(t, uint32(InitialCredit), low)
	a.Freed(InitialCredit/4 - 1)
	_, due = a.CreditDue()
	require.False(t, due)
	a.Freed(1)
	low, due = a.CreditDue()
	require.True(t, due)
	require.Equal(t, uint32(InitialCredit*5/4), low)
	a.CreditSent(7)
	_, due = a.CreditDue()
	require.False(t, due)
	a.Lost(6)
	a.Acked(8)
	_, due = a.CreditDue()
	require.False(t, due)
	a.Lost(7)
	_, due = a.CreditDue()
	require.True(t, due, "its packet is lost")
	a.Acked(7)
	_, due = a.CreditDue()
	require.False(t, due, "it was only late")
	payload := AppendCredit(nil, 0x01020304)
	require.Equal(t, []byte{4, 3, 2, 1}, payload)
	for cut := range payload {
		_, err := ParseCredit(payload[:cut])
		require.ErrorIs(t, err, ErrMalformed)
	}
	low, err := ParseCredit(payload)
	require.NoError(t, err)
	require.Equal(t, uint32(0x01020304), low)
}

// TestEveryReliableChannelIsCheap: a hostile peer opens all channels with a message as early as can be, and its memory stays
// bounded.
func TestEveryReliableChannelIsCheap(t *testing.T) {
	c := &came{t: t}
	for number := range wire.MaxChannels {
		require.NoError(t, c.number(wire.NewChannel(wire.Reliable, number), 1023, "x"))
		require.NoError(t, c.number(wire.NewChannel(wire.ReliableOrdered, number), 1023, "x"))
	}
	require.Len(t, c.channels, 128)
	early := 0
	for _, one := range c.channels {
		early += 2 * cap(one.early)
	}
	require.LessOrEqual(t, early, 64*2*ReliableWindow)
	require.LessOrEqual(t, cap(c.reorder.buf), 4096)
}

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
				live := a.reorder.live
				err := judge(&a, r.Channel, r.Header, r.Payload)
				require.Equal(t, before, a.credit)
				require.Equal(t, live, a.reorder.live)
				if a.Take(seq, r.Channel, r.Header, r.Payload, deliver) != nil {
					return // closed
				}
				require.NoError(t, err)
				require.LessOrEqual(t, a.Waiting(), InitialCredit)
				require.LessOrEqual(t, a.reorder.live, InitialCredit)
				require.LessOrEqual(t, a.open, maxFragmentSets)
				require.LessOrEqual(t, len(a.channels), 2*wire.MaxChannels)
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

package peer

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// weather is a link's behaviour.
type weather struct {
	loss      float64
	burst     float64 // chance that a lost packet is followed by a lost one
	duplicate float64
	delay     int // ticks at least
	jitter    int // ticks more at most: what reorders
}

// talker is one end that sends messages of every kind and checks what comes from the other against a dumb model: a map of
// everything that was sent.
type talker struct {
	t        require.TestingT
	random   *rand.Rand
	conn     *Conn
	out      *Outgoing
	in       Arrivals
	other    *talker
	weather  weather
	channels []wire.Channel
	large    int // largest body
	hold     int // ticks until a message is handled, at most
	skips    bool

	inFlight [64][][]byte // to this end, by tick of arrival
	inBurst  bool

	sent      map[uint64]spoken // by id; deleted when delivered
	nextID    uint64
	ordered   map[wire.Channel][]uint64 // ids sent and not delivered of ordered channels, in order
	newest    map[wire.Channel]uint64   // newest id delivered of sequenced channels
	owed      [64]int                   // cost to be freed, by tick
	delivered [4]int                    // by mode
	refused   int

	before  func() // what the end does before it sends
	skipped uint64 // ordered messages that were recalled and that later ones have overtaken
}

// spoken is one message that was sent.
type spoken struct {
	post     Post
	body     []byte
	recalled bool // it may have been taken back, or blanked
}

func newTalkers(t require.TestingT, seed uint64, first uint64, cfg OutgoingConfig, w weather, channels []wire.Channel) (a, b *talker) {
	var ends [2]*talker
	pool := NewPool(DefaultPacketSize)
	for i := range ends {
		ends[i] = &talker{
			t: t, random: rand.New(rand.NewPCG(seed, uint64(i))), weather: w, channels: channels, large: 300, hold: 3, nextID: 1,
			conn: NewConn(ConnConfig{Check: testCheck(), FirstSequence: first, TickInterval: wrapTick,
				SentPackets: cfg.SentPackets, PacketSize: cfg.PacketSize}),
			out:  NewOutgoing(cfg, pool),
			sent: map[uint64]spoken{}, ordered: map[wire.Channel][]uint64{}, newest: map[wire.Channel]uint64{},
		}
	}
	ends[0].other, ends[1].other = ends[1], ends[0]
	return ends[0], ends[1]
}

// Acked implements Outcome.
func (e *talker) Acked(seq uint64, _ tick.Tick) { e.out.Acked(seq); e.in.Acked(seq) }

// Lost implements Outcome.
func (e *talker) Lost(seq uint64) { e.out.Lost(seq); e.in.Lost(seq) }

// speak hands over one message of any kind.
func (e *talker) speak() {
	ch := e.channels[e.random.IntN(len(e.channels))]
	size := 8 + e.random.IntN(40)
	switch e.random.IntN(20) {
	case 0:
		size = 8 + e.random.IntN(e.large)
	case 1:
		size = 8
	}
	p := Post{Channel: ch, Type: wire.FirstUserMessage + wire.MessageType(e.random.IntN(200)), Stage: tick.Stage(e.random.IntN(7))}
	if e.random.IntN(4) == 0 {
		p.Flags = wire.MessageFlags(e.random.IntN(8) << 3)
	}
	if p.Flags&wire.FlagTick != 0 {
		p.Tick = tick.Tick(e.random.IntN(1 << 16))
	}
	if p.Flags&wire.FlagEntity != 0 {
		p.Entity = wire.NetworkID{Index: e.random.Uint32N(1 << 20), Generation: 1 + e.random.Uint32N(1<<uint(1+e.random.IntN(31)))}
	}
	if p.Flags&wire.FlagCall != 0 {
		p.Call = uint16(e.random.Uint32())
	}
	body := make([]byte, size)
	binary.LittleEndian.PutUint64(body, e.nextID)
	for i := 8; i < size; i++ {
		body[i] = byte(e.nextID) + byte(i)
	}
	if err := e.hand(&p, body); err != nil {
		e.refused++
		return
	}
	e.sent[e.nextID] = spoken{post: p, body: body}
	if ch.Delivery() == wire.ReliableOrdered {
		e.ordered[ch] = append(e.ordered[ch], e.nextID)
	}
	e.nextID++
}

// hand uses Push, or Reserve with more room than is needed.
func (e *talker) hand(p *Post, body []byte) error {
	if e.random.IntN(2) == 0 {
		return e.out.Push(p, body)
	}
	room, err := e.out.Reserve(p, len(body)+e.random.IntN(10))
	if err != nil {
		require.Contains(e.t, []error{ErrBackPressure, ErrQueueFull, ErrTooLarge}, err)
		return err
	}
	for i := range room {
		room[i] = 0xEE
	}
	copy(room, body)
	if e.random.IntN(10) == 0 {
		e.out.Cancel()
		return ErrQueueFull
	}
	e.out.Commit(len(body))
	return nil
}

// heard checks one delivered message against the other end's model.
func (e *talker) heard(m *Arrival) {
	id := binary.LittleEndian.Uint64(m.Body)
	s, ok := e.other.sent[id]
	if !ok {
		require.FailNow(e.t, "delivered twice, or never sent", "id %d on %v", id, m.Channel)
	}
	delete(e.other.sent, id)
	blank := s.recalled && len(m.Body) == len(s.body) && bytes.Count(m.Body[8:], []byte{0xBB}) == len(m.Body)-8
	if !bytes.Equal(s.body, m.Body) && !blank {
		require.FailNow(e.t, "other content", "id %d on %v", id, m.Channel)
	}
	got := Post{Channel: m.Channel, Type: m.Header.Type, Stage: m.Header.Stage, Flags: m.Header.Flags,
		Tick: tick.Tick(m.Tick), Entity: m.Entity, Call: m.Call}
	if s.post != got {
		require.FailNow(e.t, "other header", "%+v, not %+v", got, s.post)
	}
	switch m.Channel.Delivery() {
	case wire.UnreliableSequenced:
		require.Greater(e.t, id, e.newest[m.Channel], "sequenced")
		e.newest[m.Channel] = id
	case wire.ReliableOrdered:
		waits := e.other.ordered[m.Channel]
		for waits[0] != id && e.other.sent[waits[0]].recalled {
			delete(e.other.sent, waits[0])
			e.other.skipped++
			waits = waits[1:]
		}
		require.Equal(e.t, waits[0], id, "ordered")
		e.other.ordered[m.Channel] = waits[1:]
	}
	e.delivered[m.Channel.Delivery()]++
	if m.Channel.Delivery().Reliable() {
		require.GreaterOrEqual(e.t, m.Cost, len(m.Body)+messageOverhead)
		e.owed[e.random.IntN(e.hold)] += m.Cost
	} else {
		require.Zero(e.t, m.Cost)
	}
}

// listen reads what has arrived by now.
func (e *talker) listen(n int, now time.Duration) {
	due := e.inFlight[n%len(e.inFlight)]
	e.random.Shuffle(len(due), func(i, j int) { due[i], due[j] = due[j], due[i] })
	for _, packet := range due {
		in, err := e.conn.Read(packet, now, e)
		if err == ErrDuplicate || err == ErrOld {
			continue
		}
		require.NoError(e.t, err)
		if e.random.IntN(50) == 0 {
			continue // as if something in it could not be decoded
		}
		r := in.Messages()
		for r.Next() {
			require.NoError(e.t, judge(&e.in, r.Channel, r.Header, r.Payload))
		}
		r = in.Messages()
		for r.Next() {
			if r.Header.Type == wire.MessageCredit {
				low, err := ParseCredit(r.Payload)
				require.NoError(e.t, err)
				e.out.Credit(low)
				continue
			}
			require.NoError(e.t, e.in.Take(in.Sequence, r.Channel, r.Header, r.Payload, e.heard))
		}
		require.NoError(e.t, r.Err())
		e.conn.Accept(in, now)
	}
	e.inFlight[n%len(e.inFlight)] = due[:0]
	e.in.Freed(e.owed[0])
	copy(e.owed[:], e.owed[1:])
	e.checkMemory()
}

func (e *talker) checkMemory() {
	require.LessOrEqual(e.t, e.in.Waiting(), InitialCredit)
	require.LessOrEqual(e.t, e.in.reorder.live, 2*InitialCredit)
	require.LessOrEqual(e.t, cap(e.in.reorder.buf), 3*InitialCredit+1024)
	r := &e.out.reliable
	require.LessOrEqual(e.t, r.held, r.limit)
	require.LessOrEqual(e.t, len(r.arena.buf), r.limit)
	require.LessOrEqual(e.t, len(r.items.ring), max(64, 2*r.limit/itemOverhead))
	require.LessOrEqual(e.t, len(r.carried.packets.buf), 2*e.out.config.SentPackets)
	require.LessOrEqual(e.t, len(e.out.unreliable.full)+1, e.out.unreliable.limit)
}

// send sends up to so many packets.
func (e *talker) send(n int, now time.Duration, packets int) {
	e.conn.DetectLost(now, e)
	if e.before != nil {
		e.before()
	}
	low, due := e.in.CreditDue()
	for range packets {
		if !e.conn.CanSend() || !e.out.Pending() && !due && !e.conn.AckDue() {
			return
		}
		if e.skips && e.random.IntN(50) == 0 {
			e.conn.Skip()
			continue
		}
		b := e.conn.Begin(make([]byte, DefaultPacketSize))
		if due {
			due = false
			b.Add(wire.MessageCredit, tick.Initialization, len(AppendCredit(b.Payload()[:0], low)))
			e.in.CreditSent(b.Sequence())
		}
		before := len(b.buf)
		limit := 1 << 20
		if e.random.IntN(4) == 0 {
			limit = e.random.IntN(b.limit)
		}
		could := e.out.Pending()
		more := e.out.Fill(&b, limit)
		require.LessOrEqual(e.t, len(b.buf)-before, max(limit, 0))
		require.Equal(e.t, e.out.Pending(), more)
		if could && limit == 1<<20 && before <= wire.MaxPacketHeader+wire.BatchHeaderSize {
			require.Greater(e.t, len(b.buf), before, "an empty packet takes any message")
		}
		e.launch(n, e.conn.Finish(&b, tick.Tick(n), now))
	}
}

// launch puts a packet on the link.
func (e *talker) launch(n int, packet []byte) {
	w := &e.weather
	chance := w.loss
	if e.inBurst {
		chance = max(w.burst, w.loss)
	}
	for copies := 1; copies > 0; copies-- {
		if e.inBurst = e.random.Float64() < chance; e.inBurst {
			return
		}
		if e.random.Float64() < w.duplicate {
			copies++
		}
		at := (n + 1 + w.delay + e.random.IntN(w.jitter+1)) % len(e.other.inFlight)
		e.other.inFlight[at] = append(e.other.inFlight[at], packet)
	}
}

// talk lets both ends speak for so many ticks, at most rate messages each, and then lets the link heal until all is said.
func talk(t require.TestingT, a, b *talker, ticks, rate, packets int) {
	n := 0
	turn := func(speak bool) {
		now := time.Duration(n) * wrapTick
		for _, e := range []*talker{a, b} {
			e.listen(n, now)
			if speak {
				for range e.random.IntN(rate + 1) {
					e.speak()
				}
			}
			e.send(n, now, packets)
		}
		n++
	}
	for range ticks {
		turn(true)
	}
	a.weather, b.weather = weather{delay: 1}, weather{delay: 1}
	for left := 4000; a.unsaid()+b.unsaid() > 0; left-- {
		if left == 0 {
			require.FailNow(t, "not all was said", "%d and %d", a.unsaid(), b.unsaid())
		}
		turn(false)
	}
	for _, e := range []*talker{a, b} {
		for id, s := range e.sent {
			require.False(t, s.post.Channel.Delivery().Reliable() && !s.recalled, "message %d on %v is missing", id, s.post.Channel)
		}
		require.Zero(t, e.out.Waiting())
		require.Zero(t, e.out.reliable.held)
		require.Zero(t, e.out.reliable.open)
		require.Zero(t, e.in.reorder.live)
		require.Zero(t, e.in.open)
		for _, place := range e.in.reorder.places {
			require.Zero(t, place.size)
		}
		require.False(t, e.out.Pending())
	}
}

func (e *talker) unsaid() int { return e.out.Unconfirmed() + e.out.Waiting() }

// TestEveryModeAgainstModel: every mode and several channels at once, small messages and large ones, over random links with
// random limits. Exactly once, in order where promised, with equal content, nothing reliable missing, memory bounded.
func TestEveryModeAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := weather{
			loss:      rapid.Float64Range(0, 0.6).Draw(t, "loss"),
			burst:     rapid.SampledFrom([]float64{0, 0.5, 0.9}).Draw(t, "burst"),
			duplicate: rapid.SampledFrom([]float64{0, 0.1, 0.3}).Draw(t, "duplicates"),
			delay:     rapid.IntRange(0, 8).Draw(t, "delay"),
			jitter:    rapid.SampledFrom([]int{0, 2, 8}).Draw(t, "jitter"),
		}
		cfg := OutgoingConfig{
			PacketSize:      rapid.SampledFrom([]int{64, 100, 300, 1200}).Draw(t, "packet"),
			UnreliableBytes: rapid.SampledFrom([]int{1, 2000, 64 << 10}).Draw(t, "unreliable"),
			ReliableBytes:   rapid.SampledFrom([]int{1, 20000, 256 << 10}).Draw(t, "reliable"),
			SentPackets:     rapid.SampledFrom([]int{64, 256}).Draw(t, "ring"),
		}
		var channels []wire.Channel
		for _, number := range rapid.SliceOfNDistinct(rapid.IntRange(0, 63), 1, 3, rapid.ID).Draw(t, "channels") {
			for mode := wire.Unreliable; mode.Valid(); mode++ {
				channels = append(channels, wire.NewChannel(mode, number))
			}
		}
		first := rapid.SampledFrom(append(startSequences(), 1)).Draw(t, "first")
		a, b := newTalkers(t, rapid.Uint64().Draw(t, "seed"), first, cfg, w, channels)
		for _, e := range []*talker{a, b} {
			e.large = rapid.SampledFrom([]int{1, 500, 5000}).Draw(t, "large")
			e.hold = rapid.SampledFrom([]int{1, 5, 60}).Draw(t, "hold")
			e.skips = rapid.Bool().Draw(t, "skips")
		}
		talk(t, a, b, 150, rapid.SampledFrom([]int{1, 5, 30}).Draw(t, "rate"), rapid.IntRange(1, 6).Draw(t, "packets"))
	})
}

// TestEveryModeOverLongBadLinks is the same, longer, at set losses.
func TestEveryModeOverLongBadLinks(t *testing.T) {
	var channels []wire.Channel
	for mode := wire.Unreliable; mode.Valid(); mode++ {
		channels = append(channels, wire.NewChannel(mode, 0), wire.NewChannel(mode, 63))
	}
	for i, loss := range []float64{0, 0.05, 0.2, 0.4, 0.6} {
		t.Run(fmt.Sprint(loss), func(t *testing.T) {
			t.Parallel()
			a, b := newTalkers(t, uint64(i), 65500, OutgoingConfig{}, weather{loss: loss, burst: loss, duplicate: 0.1, delay: 3, jitter: 4}, channels)
			a.large, b.large, b.hold = 20000, 3000, 40
			a.skips = true
			talk(t, a, b, 3000, 12, 4)
			for mode, n := range a.delivered {
				require.Greater(t, n, 500, "%v", wire.Delivery(mode))
			}
			require.NotZero(t, b.in.Stats().Joined)
			if loss > 0 {
				require.NotZero(t, a.out.Stats().Resent)
				require.NotZero(t, b.in.Stats().Early)
				require.NotZero(t, b.in.Stats().Late)
				require.NotZero(t, a.out.Stats().LateAcks+b.out.Stats().LateAcks)
				require.NotZero(t, slices.Max([]uint64{a.in.Stats().Duplicates, b.in.Stats().Duplicates}))
			}
		})
	}
}

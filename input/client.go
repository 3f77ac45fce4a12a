package input

import (
	"encoding/binary"
	"fmt"
	"reflect"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/extend"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// Set sets the player's action. It is the input of each tick that begins in this frame or later, until the next Set. Call
// it before Send, once a frame: of several calls in one frame, the last counts. Fields tagged `net:"event"` are presses:
// see Register.
//
// The value is copied. The errors are ErrNotRegistered and *errs.UnstorableError, for a field that is not finite, out
// of range or not a rotation. On an error the input does not change.
func Set[T any](c *netcode.Client, v *T) error {
	t, n := bufferOf(c), -1
	if t != nil {
		n = t.in.number(reflect.TypeFor[T]())
	}
	if n < 0 {
		return fmt.Errorf("netcode: input.Set[%s]: %w", reflect.TypeFor[T](), ErrNotRegistered)
	}
	plan, lanes := t.in.plans[n], t.in.of(t.scratch, n)
	fault := plan.Quantise(reflect.ValueOf(v).UnsafePointer(), lanes)
	if fault.Reason != wire.NoFault {
		return extend.Unstorable(plan, reflect.ValueOf(v), fault)
	}
	t.put(n, lanes, c.State() == netcode.Connected)
	if server := c.Hosted(); server != nil {
		t.passToHost(server, c.ID())
	}
	return nil
}

// bufferOf returns the inputs of a client, nil if its protocol has no inputs.
func bufferOf(c *netcode.Client) *inputBuffer {
	t, _ := extend.ExtensionOf[*inputBuffer](c)
	return t
}

// inputBuffer stores the inputs of a client that the server has not acknowledged.
type inputBuffer struct {
	in *types

	set     uint8    // Bit n: input type n was set.
	now     []uint32 // The present value of each type.
	scratch []uint32
	rows    []uint32 // By type, then tick modulo Window: the input of that tick.
	run     []uint32 // Scratch: the rows of one type in tick order.

	ticks     []tick.Tick // By tick modulo Window: the tick of the row; None: empty.
	newest    tick.Tick   // The newest recorded tick; None: no tick in this connection.
	acked     tick.Tick   // The newest tick that the server has.
	unsent    bool        // A tick was recorded since the last section.
	presented tick.Time   // The moment that was presented when newest was recorded; tick None: no moment.
	sent      []sentInput // By packet number modulo its length.
	slipped   uint16      // The ticks of the server that slipped in this connection, as it told.
}

// sentInput is the newest tick in a sent packet.
type sentInput struct {
	packet uint64
	newest tick.Tick
}

// newInputBuffer makes the buffer. All memory is allocated here.
func newInputBuffer(in *types, c *netcode.Client) *inputBuffer {
	t := &inputBuffer{in: in}
	t.setUp(c.Config().SentPackets)
	return t
}

// setUp allocates the buffer for a number of unacknowledged packets.
func (t *inputBuffer) setUp(packets int) {
	in := t.in
	t.now, t.scratch = make([]uint32, in.lanes), make([]uint32, in.lanes)
	t.rows, t.run = make([]uint32, in.lanes*Window), make([]uint32, in.lanes*reach)
	t.ticks, t.sent = make([]tick.Tick, Window), make([]sentInput, packets)
	in.clearEvents(t.now)
}

// hooks returns the functions that the client's frames call.
func (t *inputBuffer) hooks(c *netcode.Client) extend.ClientHooks {
	return extend.ClientHooks{
		State:  t,
		Opened: t.restart,
		BeforeSend: func() {
			if t.set != 0 && c.Hosted() == nil { // The player of a host passes its inputs in Set.
				t.record(c.Time().Tick, c.Present())
			}
		},
		ActsAt: func() netcode.Tick { return t.actsAt(c.Time().Tick) },
		Section: &extend.ClientSection{
			Check: checkFeedback,
			Take:  func(_ uint64, payload []byte) { takeFeedback(t, c, payload) },
			Due:   func(busy bool) bool { return t.waiting() > 0 && (t.unsent || busy) },
			Write: t.writePacket,
			Acked: t.acknowledged,
		},
	}
}

// put sets the input of one type. Without a connection presses are dropped.
func (t *inputBuffer) put(n int, lanes []uint32, connected bool) {
	plan, now := t.in.plans[n], t.in.of(t.now, n)
	plan.MergeEvents(lanes, now)
	copy(now, lanes)
	t.set |= 1 << n
	if !connected {
		plan.ClearEvents(now)
	}
}

// restart begins a connection. The player's action stays, except pending presses.
func (t *inputBuffer) restart() {
	t.in.clearEvents(t.now)
	t.newest, t.acked, t.unsent, t.presented, t.slipped = tick.None, tick.None, false, tick.Time{}, 0
	clear(t.ticks)
	clear(t.sent)
}

// row returns the lanes of one type in a tick.
func (t *inputBuffer) row(n int, at tick.Tick) []uint32 {
	lanes := t.in.plans[n].Lanes()
	from := t.in.first[n]*Window + int(at%Window)*lanes
	return t.rows[from : from+lanes]
}

// record stores the present value as the input of every tick that has begun since the last call. If the clock went back,
// its ticks are recorded again.
func (t *inputBuffer) record(now tick.Tick, shown tick.Time) {
	if t.set == 0 || now <= tick.None || now == t.newest {
		return
	}
	if now < t.newest {
		t.newest, t.acked = now-1, min(t.acked, now-1)
		clear(t.sent)
		t.takeBack(now)
	}
	from := max(t.newest+1, now-reach+1)
	if t.newest == tick.None {
		from, t.acked = now, now-1
	}
	for at := from; at <= now; at++ {
		t.recordTick(at, at == now)
	}
	t.newest, t.unsent, t.presented = now, true, shown
}

// takeBack makes the presses of ticks pending again that come after the next reach ticks: the server has none of them, and the rows may
// be overwritten before their ticks come.
func (t *inputBuffer) takeBack(now tick.Tick) {
	for i, at := range t.ticks {
		if at < now+reach {
			continue
		}
		for n, plan := range t.in.plans {
			plan.MergeEvents(t.in.of(t.now, n), t.row(n, at))
		}
		t.ticks[i] = tick.None
	}
}

// recordTick stores the present value as the input of a tick. Only the newest tick of a frame takes the events, so that
// each event is in one tick. A tick that is recorded again, after the clock went back, keeps its events: the server may
// have simulated it with them. It counts those that are new.
func (t *inputBuffer) recordTick(at tick.Tick, newest bool) {
	in, noted := t.in, &t.ticks[at%Window]
	again := *noted == at
	for n, plan := range in.plans {
		now, row := in.of(t.now, n), t.row(n, at)
		if !plan.Events() {
			copy(row, now)
			continue
		}
		set := in.of(t.scratch, n)
		copy(set, now)
		if !newest {
			plan.ClearEvents(set)
		}
		if again {
			plan.MergeEvents(set, row)
		}
		copy(row, set)
		if newest {
			plan.ClearEvents(now)
		}
	}
	*noted = at
}

// actsAt returns the tick whose input a Set of this moment becomes. at is the tick of the input clock.
func (t *inputBuffer) actsAt(at tick.Tick) tick.Tick {
	switch {
	case t.set == 0 || at <= tick.None:
		return tick.None
	case at == t.newest:
		return at + 1 // The input of at is recorded already.
	}
	return at
}

// waiting returns the number of ticks that the server has not acknowledged, at most reach.
func (t *inputBuffer) waiting() int { return int(min(t.newest-t.acked, reach)) }

// writePacket writes the section of a packet and stores the newest tick in it.
func (t *inputBuffer) writePacket(room []byte, packet uint64) int {
	n := t.write(room)
	if n > 0 {
		t.unsent = false
		t.sent[packet%uint64(len(t.sent))] = sentInput{packet, t.newest}
	}
	return n
}

// write writes as many of the newest inputs as fit. It returns the length in bytes, 0 if no input fits.
func (t *inputBuffer) write(room []byte) int {
	for count := t.waiting(); count > 0; count /= 2 {
		if n := t.writeSome(room, count); n > 0 {
			return n
		}
	}
	return 0
}

// writeSome writes the inputs of the newest count ticks. It returns 0 if they do not fit.
func (t *inputBuffer) writeSome(room []byte, count int) int {
	if len(room) < headSize {
		return 0
	}
	binary.LittleEndian.PutUint16(room, uint16(t.newest))
	binary.LittleEndian.PutUint16(room[2:], behindOf(t.newest, t.presented))
	w := wire.NewBitWriter(room[headSize:])
	for n, plan := range t.in.plans {
		if t.set>>n&1 == 0 {
			plan.WriteRun(&w, nil, 0)
			continue
		}
		lanes := plan.Lanes()
		for i := range count {
			copy(t.run[i*lanes:], t.row(n, t.newest-tick.Tick(count-1-i)))
		}
		plan.WriteRun(&w, t.run, count)
	}
	if n := w.Finish(); n > 0 {
		return headSize + n
	}
	return 0
}

// behindOf encodes the presented moment, relative to the beginning of tick newest.
func behindOf(newest tick.Tick, shown tick.Time) uint16 {
	if shown.Tick == tick.None {
		return behindUnknown
	}
	behind := newest.Begin().Sub(shown) / (tick.OneTick / behindUnit)
	return uint16(min(max(behind, 0), behindMost))
}

// acknowledged handles the ack of a packet.
func (t *inputBuffer) acknowledged(packet uint64) {
	if s := &t.sent[packet%uint64(len(t.sent))]; s.packet == packet && s.newest != tick.None {
		t.acked = max(t.acked, s.newest)
	}
}

// passToHost passes the action of a host's player to its queue. It becomes the input of the simulated tick, or of the next tick
// if the game has already asked. It also stands in for later ticks.
func (t *inputBuffer) passToHost(server *netcode.Server, player netcode.ClientID) {
	q := queueOf(server, player)
	if q == nil || server.Tick() == tick.None {
		return
	}
	q.put(t, server.Store().Tick().Begin())
}

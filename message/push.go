package message

import (
	"slices"
	"time"

	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// From sets the source of the messages that Push takes from now on. Their contexts get the receiver's tick and time of
// the packet's arrival. Call it once per packet.
func (in *Inbound) From(s *Source, t tick.Tick, received time.Duration) {
	s.enter(in.number)
	s.nextPacket()
	in.from = origin{source: s, peer: s.id, tick: t, received: received}
	in.fromAt = -1
}

// Keep copies a packet's batches into the current frame and returns the copy. Payloads that are slices of the copy,
// with its full capacity, are pushed without a second copy. Keep returns its argument if there is no room, or if the
// source's byte quota is too small. Use it for packets that are mostly game messages: all bytes stay until the frame
// ends. The result is valid until the next Drain or Begin.
func (in *Inbound) Keep(batches []byte) []byte {
	kept, _ := in.keep(batches)
	return kept
}

// keep is Keep and reports whether it made a copy.
func (in *Inbound) keep(batches []byte) (kept []byte, ok bool) {
	f, s := in.cur, in.from.source
	if s.kept+len(batches) > in.limits.SenderBytes {
		return batches, false
	}
	room := in.reserve(s, len(batches))
	if room == nil {
		return batches, false
	}
	s.kept += len(batches)
	copy(room, batches)
	start := len(f.bytes)
	in.commit(s, len(batches))
	return f.bytes[start:], true
}

// PushPlain queues a message that has only a type and a stage, on channel 0 of Unreliable. The errors are those of
// Push.
func (in *Inbound) PushPlain(t wire.MessageType, stage tick.Stage, payload []byte) error {
	// Fast path: Keep has copied the payload, and the queue has room.
	s, f := in.from.source, in.cur
	if int(stage) < len(f.stages) && in.fromAt >= 0 &&
		s.messages < in.limits.PerSender && s.bytes+len(payload) <= in.limits.SenderBytes {
		q := &f.stages[stage]
		start := cap(f.bytes) - cap(payload)
		n := len(q.items)
		if n < cap(q.items) && q.live < in.limits.PerStage && len(payload) > 0 &&
			start >= 0 && start+len(payload) <= len(f.bytes) && &f.bytes[start] == &payload[0] && len(payload) <= maxPayload {
			q.items = q.items[:n+1]
			q.items[n] = newItem(t, 0, 0).at(start, len(payload), in.fromAt)
			q.live++
			s.messages++
			s.bytes += len(payload)
			in.stats.Queued++
			return nil
		}
	}
	return in.pushPlain(t, stage, payload)
}

func (in *Inbound) pushPlain(t wire.MessageType, stage tick.Stage, payload []byte) error {
	if !stage.Valid() {
		in.stats.BadStage++
		return ErrStage
	}
	s := in.from.source
	if s.messages >= in.limits.PerSender || s.bytes+len(payload) > in.limits.SenderBytes {
		if err := in.overQuota(s); err != nil {
			return err
		}
	}
	s.messages++
	s.bytes += len(payload)
	return in.put(newItem(t, 0, 0), stage, payload)
}

// overQuota refuses an unreliable message beyond its source's quota. Loopback messages have no quota.
func (in *Inbound) overQuota(s *Source) error {
	if s == in.local {
		return nil
	}
	s.refused++
	if s.messages >= in.limits.PerSender {
		in.stats.PerSender++
	} else {
		in.stats.SenderBytes++
	}
	return ErrQuota
}

// Push queues a message for its stage. In a full queue it replaces the oldest unreliable message, never a reliable one.
// The errors are ErrStage, ErrQuota (unreliable messages only) and ErrFull. Reliable messages have no quota: their
// sender's credit bounds them. After an error of a reliable message Source.Fault is set: the connection must end.
func (in *Inbound) Push(m *Message, payload []byte) error {
	if !m.Channel.Delivery().Reliable() {
		if m.simple() {
			return in.PushPlain(m.Type, m.Stage, payload)
		}
		s := in.from.source
		if s.messages >= in.limits.PerSender || s.bytes+len(payload) > in.limits.SenderBytes {
			if err := in.overQuota(s); err != nil {
				return err
			}
		}
		s.messages++
		s.bytes += len(payload)
	}
	it := in.itemOf(m)
	err := in.put(it, m.Stage, payload)
	switch {
	case err == nil:
		in.setPlace(in.from.source, it)
	case m.Channel.Delivery().Reliable():
		in.from.source.fail(err)
	}
	return err
}

// setPlace gives a queued message its order number, if its channel has an order.
func (in *Inbound) setPlace(s *Source, it item) {
	if inOrder(it.delivery()) {
		in.cur.extras[it.extra()-1].order = s.placed(it.channel())
	}
}

// firstExtras is the initial capacity of a frame for messages with options.
const firstExtras = 8

// itemOf returns the item of a message. The caller must pass it to put at once.
func (in *Inbound) itemOf(m *Message) item {
	extra := 0
	if m.NotBefore != tick.None || !m.Entity.IsZero() || m.Cost != 0 || m.HasCall || inOrder(m.Channel.Delivery()) {
		if n := len(in.cur.extras); n == cap(in.cur.extras) {
			in.cur.extras = slices.Grow(in.cur.extras, max(firstExtras, n))
		}
		in.cur.extras = append(in.cur.extras, *m)
		extra = len(in.cur.extras)
	}
	return newItem(m.Type, m.Channel, extra)
}

// put queues a message of the present origin.
func (in *Inbound) put(it item, stage tick.Stage, payload []byte) error {
	if !stage.Valid() {
		in.stats.BadStage++
		return ErrStage
	}
	q := &in.cur.stages[stage]
	if q.live >= in.limits.PerStage {
		if err := in.makeRoom(stage, it.delivery().Reliable()); err != nil {
			return err
		}
	}
	f, start := in.cur, 0
	if len(payload) > 0 {
		var ok bool
		if start, ok = f.find(payload); !ok || len(payload) > maxPayload {
			room := in.reserve(in.from.source, len(payload))
			if room == nil || len(payload) > maxPayload {
				in.stats.Bytes++
				return ErrFull
			}
			copy(room, payload)
			start = len(f.bytes)
			in.commit(in.from.source, len(payload))
		}
	}
	in.enterOrigin()
	if q.push(it.at(start, len(payload), in.fromAt), in.limits.PerStage) {
		in.stats.Grown++
	}
	in.stats.Queued++
	return nil
}

// Simple describes consecutive messages in a packet's batches that have only a type and a stage. They are on channel 0
// of Unreliable and have one type and size.
type Simple struct {
	At    uint32           // offset of the first header
	Count uint16           // number of messages, at least 1
	Size  uint16           // size of each payload
	Type  wire.MessageType // type of each message
}

// step returns the distance from one message to the next, in bytes.
func (p *Simple) step() int { return wire.MessageHeaderSize + int(p.Size) }

// NoSize marks a type in Sizes whose payloads must be checked.
const NoSize = 1 << 16

// Sizes has a payload length for each type: all payloads of that length are legal. It is NoSize for other types.
type Sizes [1 << 8]uint32

// AlwaysLegal returns the payload length if every payload of that length is legal, else NoSize.
func (c *CodecOf[T]) AlwaysLegal() uint32 {
	if c.way != byCopy || len(c.exact.floats) > 0 {
		return NoSize
	}
	return uint32(c.size)
}

// PushSimple is PushPlain for all messages of list, which are in a packet's batches. Their stages must exist. If they
// are most of the packet, the batches are copied as a whole.
func (in *Inbound) PushSimple(batches []byte, list []Simple) {
	s, messages, payloads := in.from.source, 0, 0
	for i := range list {
		messages += int(list[i].Count)
		payloads += int(list[i].Count) * int(list[i].Size)
	}
	if s.messages+messages <= in.limits.PerSender && s.bytes+payloads <= in.limits.SenderBytes && 2*payloads >= len(batches) {
		if kept, ok := in.keep(batches); ok {
			s.messages += messages
			s.bytes += payloads
			in.enterOrigin()
			for i := range list {
				in.pushKept(kept, &list[i])
			}
			return
		}
	}
	for i := range list {
		p := &list[i]
		at := int(p.At)
		for range p.Count {
			payload := batches[at+wire.MessageHeaderSize : at+p.step()]
			_ = in.pushPlain(p.Type, tick.Stage(batches[at+stageAt]), payload) // counts refusals itself
			at += p.step()
		}
	}
}

// stageAt is the offset of the stage in a message's header.
const stageAt = 1

// pushKept queues messages of batches that keep has copied. The quota suffices for them.
func (in *Inbound) pushKept(kept []byte, p *Simple) {
	at, step, left := int(p.At), p.step(), int(p.Count)
	first := len(in.cur.bytes) - len(kept) + wire.MessageHeaderSize // where the payload of a message at offset 0 is
	for {
		it := newItem(p.Type, 0, 0).at(first+at, int(p.Size), in.fromAt)
		n := in.cur.append(kept[at:], step, left, it, in.limits.PerStage)
		in.stats.Queued += uint64(n)
		if left -= n; left == 0 {
			return
		}
		at += n * step
		_ = in.put(newItem(p.Type, 0, 0), tick.Stage(kept[at+stageAt]), kept[at+wire.MessageHeaderSize:at+step]) // counts refusals itself
		at += step
		if left--; left == 0 {
			return
		}
	}
}

// append queues count messages of a row and returns how many it queued: all, or those before a full queue. it is the
// item of the first. It is not inlined: inside its caller the loop variables would spill to the stack.
//
//go:noinline
func (f *Frame) append(row []byte, step, count int, it item, limit int) int {
	for i := range count {
		q := &f.stages[row[stageAt]]
		n := len(q.items)
		if n == cap(q.items) || q.live >= limit {
			return i
		}
		q.items = q.items[:n+1]
		q.items[n] = it
		q.live++
		it.place += uint64(step)
		row = row[step:]
	}
	return count
}

// enterOrigin gives the present packet an entry in the frame's origins. It reuses the previous packet's entry if both
// are equal, so that their messages are handled in one call.
func (in *Inbound) enterOrigin() {
	if in.fromAt >= 0 {
		return
	}
	f := in.cur
	if n := len(f.origins); n > 0 && f.origins[n-1] == in.from {
		in.fromAt = n - 1
		return
	}
	in.fromAt = len(f.origins)
	f.origins = append(f.origins, in.from)
}

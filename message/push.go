package message

import (
	"slices"
	"time"

	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// From tells whose messages Push takes from now on, and what its handlers find in their contexts: the receiver's tick and
// time when the packet came. Call it once a packet.
func (in *Inbound) From(s *Source, t tick.Tick, received time.Duration) {
	s.enter(in.number)
	s.nextPacket()
	in.from = origin{source: s, peer: s.id, tick: t, received: received}
	in.fromAt = -1
}

// Keep copies a packet's batches into the current frame and returns the copy: payloads that are slices of it, up to its
// capacity, are pushed without another copy. Without room, and beyond as many bytes as its source may push,
// it returns what it was given. Use it for packets that are mostly
// messages of the game, since all of the bytes stay until the frame ends. The result is good until the next Drain or
// Begin.
func (in *Inbound) Keep(batches []byte) []byte {
	kept, _ := in.keep(batches)
	return kept
}

// keep is Keep, and tells if it made a copy.
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

// PushPlain puts a message that says nothing but its type and stage into the queue of its stage: one on channel 0 of
// Unreliable. The errors are those of Push.
func (in *Inbound) PushPlain(t wire.MessageType, stage tick.Stage, payload []byte) error {
	// The short way, for a payload that Keep has copied and a queue with room. All others take the long one.
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

// overQuota refuses an unreliable message that its source has no quota for. Messages of an end to itself have no quota.
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

// Push puts a message into the queue of its stage. When that is full the oldest unreliable message there makes room, never
// a reliable one. The errors are ErrStage, ErrQuota for unreliable messages beyond the quota of their source, and ErrFull;
// reliable ones have no quota, since their sender's credit bounds them. After any error of a reliable message Source.Fault
// says so: its connection must end.
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

// setPlace gives a message that was queued its place in a channel that has an order.
func (in *Inbound) setPlace(s *Source, it item) {
	if inOrder(it.delivery()) {
		in.cur.extras[it.extra()-1].order = s.placed(it.channel())
	}
}

// firstExtras is the number of messages with extra parts that a frame has memory for once there was one.
const firstExtras = 8

// itemOf makes the item of a message, which put is given at once.
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

// Simple is the place in a packet's batches of messages that have only a type and a stage: several on channel 0 of
// Unreliable, one after the other, of one type and size.
type Simple struct {
	At    uint32           // the first one's header
	Count uint16           // 1 and more
	Size  uint16           // of each payload
	Type  wire.MessageType // of each
}

// step is the distance from one message to the next.
func (p *Simple) step() int { return wire.MessageHeaderSize + int(p.Size) }

// NoSize stands in Sizes for a type whose payloads have to be looked at.
const NoSize = 1 << 16

// Sizes tells of each type how long its payloads are, where all payloads of that length are legal, and else NoSize.
type Sizes [1 << 8]uint32

// AlwaysLegal returns how long the payloads of the type are if every one of that length is legal, and else NoSize.
func (c *CodecOf[T]) AlwaysLegal() uint32 {
	if c.way != byCopy || len(c.exact.floats) > 0 {
		return NoSize
	}
	return uint32(c.size)
}

// PushSimple is PushPlain for all messages of a packet, which are in its batches where list tells, in stages that exist. Where they
// are most of the packet the batches are copied as a whole.
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
			_ = in.pushPlain(p.Type, tick.Stage(batches[at+stageAt]), payload) // It counts refusals.
			at += p.step()
		}
	}
}

// stageAt is the offset of the stage in a message's header.
const stageAt = 1

// pushKept queues messages of batches that keep has copied, for which the quota suffices.
func (in *Inbound) pushKept(kept []byte, p *Simple) {
	at, step, left := int(p.At), p.step(), int(p.Count)
	first := len(in.cur.bytes) - len(kept) + wire.MessageHeaderSize // where the payload of a message at 0 is
	for {
		it := newItem(p.Type, 0, 0).at(first+at, int(p.Size), in.fromAt)
		n := in.cur.append(kept[at:], step, left, it, in.limits.PerStage)
		in.stats.Queued += uint64(n)
		if left -= n; left == 0 {
			return
		}
		at += n * step
		_ = in.put(newItem(p.Type, 0, 0), tick.Stage(kept[at+stageAt]), kept[at+wire.MessageHeaderSize:at+step]) // It counts refusals.
		at += step
		if left--; left == 0 {
			return
		}
	}
}

// append puts messages of a row into the queues of their stages, of which the first is it, and returns how many: all, or those before one
// whose queue has no room. It is not inlined since in the midst of its caller its numbers lie on the stack.
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

// enterOrigin gives the packet that messages are pushed from a place in the frame: that of the packet before where nothing is
// different, so that their messages are handled in one go.
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

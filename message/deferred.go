package message

import (
	"time"

	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// deferred is what of one source waits: for a tick, for an entity, or for an earlier message of its ordered channel. It is
// kept in the order in which it was put aside.
type deferred struct {
	list  []deferredMessage // those beyond count hold memory for the next ones
	count int
	bytes int
}

// deferredMessage is one message that waits.
type deferredMessage struct {
	message  Message
	tick     tick.Tick
	received time.Duration
	payload  []byte
}

// add puts a message aside.
func (d *deferred) add(o *origin, m *Message, payload []byte) {
	if d.count == len(d.list) {
		d.list = append(d.list, deferredMessage{})
	}
	e := &d.list[d.count]
	*e = deferredMessage{message: *m, tick: o.tick, received: o.received, payload: append(e.payload[:0], payload...)}
	d.count++
	d.bytes += len(payload)
}

// remove takes a message out and keeps its memory.
func (d *deferred) remove(i int) {
	gone := d.list[i]
	copy(d.list[i:d.count], d.list[i+1:d.count])
	d.count--
	d.bytes -= len(gone.payload)
	gone.payload = gone.payload[:0]
	d.list[d.count] = gone
}

// holds reports whether one of the first n messages is of an ordered channel.
func (d *deferred) holds(ch wire.Channel, n int) bool {
	for i := range n {
		if d.list[i].message.Channel == ch {
			return true
		}
	}
	return false
}

// verdict says whether a message may be handled now. Order is promised on a ReliableOrdered channel, so a message there
// waits as long as one of the first n deferred messages of its source is of the same channel.
func (in *Inbound) verdict(s *Source, m *Message, n int) Existence {
	answer := Exists
	if !m.Entity.IsZero() && in.config.Exists != nil {
		answer = in.config.Exists(m.Entity)
	}
	switch {
	case answer == Never:
		return Never
	case answer == NotYet || m.NotBefore > in.tick:
		return NotYet
	case n > 0 && m.Channel.Delivery() == wire.ReliableOrdered && s.deferred.holds(m.Channel, n):
		return NotYet
	}
	return Exists
}

// deferMessage puts a message aside, or drops it where that is too much.
func (in *Inbound) deferMessage(o *origin, m *Message, payload []byte) {
	s := o.source
	if s.deferred.count >= in.limits.Deferred || s.deferred.bytes+len(payload) > in.limits.DeferredBytes {
		in.stats.DeferredFull++
		in.giveUp(s, m, ErrDeferredFull)
		return
	}
	in.stats.Deferred++
	s.deferred.add(o, m, payload)
	if !s.listed {
		s.listed = true
		in.waiting = append(in.waiting, s)
	}
}

// giveUp drops a message that waited. If it is a reliable one its connection must end.
func (in *Inbound) giveUp(s *Source, m *Message, why error) {
	s.freed += m.Cost
	if m.Channel.Delivery().Reliable() {
		s.fail(why)
	}
}

// Forget drops what of a source is deferred: its connection ended. What waits in the queues is handled all the same.
func (in *Inbound) Forget(s *Source) {
	for s.deferred.count > 0 {
		s.deferred.remove(s.deferred.count - 1)
	}
}

// expire drops what was deferred for too long.
func (in *Inbound) expire() {
	kept := in.waiting[:0]
	for _, s := range in.waiting {
		for i := 0; i < s.deferred.count; {
			e := &s.deferred.list[i]
			if in.now-e.received <= in.limits.DeferredTime {
				i++
				continue
			}
			in.stats.DeferredLate++
			in.giveUp(s, &e.message, ErrTooLate)
			s.deferred.remove(i)
		}
		if s.listed = s.deferred.count > 0; s.listed {
			kept = append(kept, s)
		}
	}
	clear(in.waiting[len(kept):])
	in.waiting = kept
}

// releaseAll hands on the deferred messages of a stage that need no longer wait. It returns false after a panic, to be
// called again.
func (in *Inbound) releaseAll(stage tick.Stage) (done bool) {
	if len(in.waiting) == 0 {
		return true
	}
	ctx := &in.contexts[0]
	defer in.recovered(ctx)
	in.depth = 1
	for _, s := range in.waiting {
		for i := 0; i < s.deferred.count; {
			e := &s.deferred.list[i]
			if e.message.Stage != stage {
				i++
				continue
			}
			switch in.verdict(s, &e.message, i) {
			case NotYet:
				i++
			case Never:
				in.stats.Undeliverable++
				s.freed += e.message.Cost
				s.deferred.remove(i)
			default:
				in.release(ctx, s, i)
			}
		}
	}
	in.depth = 0
	return true
}

// release hands on one deferred message.
func (in *Inbound) release(ctx *Context, s *Source, i int) {
	e := s.deferred.list[i]
	o := origin{source: s, peer: s.id, tick: e.tick, received: e.received}
	in.buffer = append(in.buffer[:0], e.payload...)
	s.deferred.remove(i)
	in.stats.Handled++
	if in.config.History > 0 {
		in.rememberReleased(&o, &e.message, in.buffer)
	}
	in.describe(ctx, &o, e.message.Stage)
	in.deliver(ctx, s, &e.message, in.buffer)
}

// rememberReleased keeps a deferred message for the history, if there is room: it lies in no frame yet.
func (in *Inbound) rememberReleased(o *origin, m *Message, payload []byte) {
	f := in.cur
	room, grown := f.room(len(payload), in.limits.Bytes)
	if room == nil {
		return
	}
	in.grew(grown)
	copy(room, payload)
	it := in.itemOf(m).at(len(f.bytes), len(payload), len(f.origins))
	f.bytes = f.bytes[:len(f.bytes)+len(payload)]
	f.origins = append(f.origins, *o)
	in.remember(it, m.Stage)
}

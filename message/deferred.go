package message

import (
	"time"

	"github.com/arche-netcode/netcode/tick"
)

// deferred is what of one source waits: for a tick, for an entity, or for an earlier message of its ordered channel. It is
// kept in the order in which it was put aside, payloads too. What leaves it makes room when sweep is called.
type deferred struct {
	list       []deferredMessage
	payloads   []byte
	count      int // that wait
	bytes      int
	loose      int // of them, unreliable ones
	looseBytes int
	stages     [tick.NumStages]int
}

// deferredMessage is one message that waits.
type deferredMessage struct {
	message     Message
	tick        tick.Tick
	received    time.Duration
	start, size int // of its payload
	gone        bool
}

// add puts a message aside.
func (d *deferred) add(o *origin, m *Message, payload []byte) {
	d.list = append(d.list, deferredMessage{message: *m, tick: o.tick, received: o.received, start: len(d.payloads), size: len(payload)})
	d.payloads = append(d.payloads, payload...)
	d.tally(&d.list[len(d.list)-1], +1)
}

// remove takes a message out.
func (d *deferred) remove(e *deferredMessage) {
	e.gone = true
	d.tally(e, -1)
}

// tally counts a message that comes (+1) or goes (-1).
func (d *deferred) tally(e *deferredMessage, by int) {
	d.count += by
	d.bytes += by * e.size
	d.stages[e.message.Stage] += by
	if !e.message.Channel.Delivery().Reliable() {
		d.loose += by
		d.looseBytes += by * e.size
	}
}

// payload is that of a message that waits.
func (d *deferred) payload(e *deferredMessage) []byte { return d.payloads[e.start : e.start+e.size] }

// sweep closes the gaps of what left: once for many, so that a source with much that waits is no more work than others.
func (d *deferred) sweep() {
	if d.count == len(d.list) {
		return
	}
	kept, payloads := d.list[:0], d.payloads[:0]
	for i := range d.list {
		e := d.list[i]
		if e.gone {
			continue
		}
		payload := d.payload(&e)
		e.start = len(payloads)
		payloads = append(payloads, payload...)
		kept = append(kept, e)
	}
	d.list, d.payloads = kept, payloads
}

// stale is what verdict says of a message that a newer one of its channel has overtaken.
const stale = Never + 1

// verdict says whether a message may be handled now; aside, of one that was put aside. Order comes first, so that of an
// ordered channel nothing is dropped before its turn.
func (in *Inbound) verdict(s *Source, m *Message, aside bool) Existence {
	if inOrder(m.Channel.Delivery()) {
		if !s.turn(m) {
			return NotYet
		}
		if s.overtaken(m, aside) {
			return stale
		}
	}
	answer := Exists
	if !m.Entity.IsZero() && in.config.Exists != nil {
		answer = in.config.Exists(m.Entity)
	}
	if answer == Exists && m.NotBefore > in.due {
		return NotYet
	}
	return answer
}

// drop gives up a message for good, for what verdict said.
func (in *Inbound) drop(s *Source, m *Message, why Existence) {
	if why == stale {
		in.stats.Superseded++
	} else {
		in.stats.Undeliverable++
	}
	s.done(m)
}

// deferMessage puts a message aside, or drops it where that is too much. A reliable one of another process always finds
// room: the credit of its sender bounds them, so that none that was taken has to be dropped.
func (in *Inbound) deferMessage(o *origin, m *Message, payload []byte) {
	s := o.source
	d := &s.deferred
	full := false
	switch {
	case !m.Channel.Delivery().Reliable():
		full = d.loose >= in.limits.Deferred || d.looseBytes+len(payload) > in.limits.DeferredBytes
	case m.Cost == 0:
		full = d.count >= in.limits.PerStage || d.bytes+len(payload) > in.limits.Bytes
	}
	if full {
		in.stats.DeferredFull++
		s.done(m)
		if m.Channel.Delivery().Reliable() {
			s.fail(ErrDeferredFull)
		}
		return
	}
	in.stats.Deferred++
	d.add(o, m, payload)
	if !s.listed {
		s.listed = true
		in.waiting = append(in.waiting, s)
	}
}

// Forget drops what of a source is deferred: its connection ended. What waits in the queues is handled all the same.
func (in *Inbound) Forget(s *Source) { s.deferred = deferred{} }

// expire drops what was deferred for too long: unreliable messages, and reliable ones about an entity that has not come.
// A reliable one that waits for a tick, or for its turn, waits on, as its sender was promised.
func (in *Inbound) expire() {
	kept := in.waiting[:0]
	for _, s := range in.waiting {
		d := &s.deferred
		for i := range d.list {
			e := &d.list[i]
			if in.now-e.received <= in.limits.DeferredTime {
				continue
			}
			m := &e.message
			if m.Channel.Delivery().Reliable() {
				if !s.turn(m) || !in.missing(m) {
					continue
				}
				in.stats.Undeliverable++
			}
			in.stats.DeferredLate++
			s.done(m)
			d.remove(e)
		}
		d.sweep()
		if s.listed = d.count > 0; s.listed {
			kept = append(kept, s)
		}
	}
	clear(in.waiting[len(kept):])
	in.waiting = kept
}

// missing reports whether a message speaks of an entity that is not here.
func (in *Inbound) missing(m *Message) bool {
	return !m.Entity.IsZero() && in.config.Exists != nil && in.config.Exists(m.Entity) != Exists
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
		d := &s.deferred
		if d.stages[stage] == 0 {
			continue
		}
		for i := 0; i < len(d.list); i++ { // a handler may have all of it forgotten
			e := &d.list[i]
			if e.gone || e.message.Stage != stage {
				continue
			}
			switch why := in.verdict(s, &e.message, true); why {
			case NotYet:
			case Exists:
				in.release(ctx, s, e)
			default:
				in.drop(s, &e.message, why)
				d.remove(e)
			}
		}
		d.sweep()
	}
	in.depth = 0
	return true
}

// release hands on one deferred message.
func (in *Inbound) release(ctx *Context, s *Source, e *deferredMessage) {
	m := e.message
	o := origin{source: s, peer: s.id, tick: e.tick, received: e.received}
	in.buffer = append(in.buffer[:0], s.deferred.payload(e)...)
	s.deferred.remove(e)
	in.stats.Handled++
	if in.config.History > 0 {
		in.rememberReleased(&o, &m, in.buffer)
	}
	in.describe(ctx, &o, m.Stage)
	in.deliver(ctx, s, &m, in.buffer)
}

// rememberReleased keeps a deferred message for the history, if there is room: it lies in no frame yet.
func (in *Inbound) rememberReleased(o *origin, m *Message, payload []byte) {
	f := in.cur
	room := in.room(o.source, len(payload))
	if room == nil {
		return
	}
	copy(room, payload)
	it := in.itemOf(m).at(len(f.bytes), len(payload), len(f.origins))
	in.use(o.source, len(payload))
	f.origins = append(f.origins, *o)
	in.remember(it, m.Stage)
}

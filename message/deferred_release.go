package message

import "github.com/arche-netcode/netcode/tick"

// expire drops what was deferred for too long: unreliable messages, and reliable ones about an entity that has not come.
// A reliable one that waits for a tick, or for its turn, waits on, as its sender was promised.
func (in *Inbound) expire() {
	kept := in.waiting[:0]
	for _, s := range in.waiting {
		in.expireLoose(s)
		for again := true; again; { // to drop one gives others their turn
			again = false
			for i := range s.deferred.stages {
				room := &s.deferred.stages[i]
				room.rest()
				again = in.expireReady(s, room) || again
			}
		}
		in.sweep(s)
		if s.listed = s.deferred.count > 0; s.listed {
			kept = append(kept, s)
		}
	}
	clear(in.waiting[len(kept):])
	in.waiting = kept
}

// expireLoose drops the unreliable messages of a source that wait for too long.
func (in *Inbound) expireLoose(s *Source) {
	d := &s.deferred
	for ; d.fifoHead < len(d.fifo); d.fifoHead++ {
		e := &d.list[d.fifo[d.fifoHead]]
		if e.gone {
			continue
		}
		in.asked++
		if in.now-e.aside <= in.limits.DeferredTime {
			return
		}
		in.stats.DeferredLate++
		s.done(&e.message)
		d.remove(e)
	}
	d.fifo, d.fifoHead = d.fifo[:0], 0
}

// expireReady drops the reliable messages that wait for nothing but their entity, and for too long. One whose entity is here,
// and only its state is late, waits no longer. It reports whether it dropped any.
func (in *Inbound) expireReady(s *Source, room *waitingRoom) (dropped bool) {
	for i := 0; i < len(room.ready); i++ {
		e := &s.deferred.list[room.ready[i].at]
		m := &e.message
		if e.gone || !m.Channel.Delivery().Reliable() {
			continue
		}
		in.asked++
		if in.now-e.received <= in.limits.DeferredTime || m.NotBefore > in.due {
			continue
		}
		if in.early(s, m) {
			in.stats.StateLate++
			m.State = tick.None
		}
		if !in.missing(m) {
			continue
		}
		in.stats.Undeliverable++
		in.stats.DeferredLate++
		s.deferred.remove(e)
		s.done(m)
		dropped = true
	}
	return dropped
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
		if s.deferred.stages[stage].mayBeDue(in.due) {
			in.releaseOf(ctx, s, stage)
		}
	}
	in.depth = 0
	return true
}

// mayBeDue reports whether any message has to be asked.
func (r *waitingRoom) mayBeDue(due tick.Tick) bool {
	return len(r.ready) > 0 || len(r.again) > 0 || len(r.ticks) > 0 && r.ticks[0].key <= int64(due)
}

// releaseOf is releaseAll for one source. A handler may have all that is deferred forgotten.
func (in *Inbound) releaseOf(ctx *Context, s *Source, stage tick.Stage) {
	d := &s.deferred
	room := &d.stages[stage]
	room.rest()
	for len(room.ticks) > 0 && room.ticks[0].key <= int64(in.due) {
		at := room.ticks.pop().at
		room.ready.push(waiter{int64(at), at})
	}
	for len(room.ready) > 0 {
		at := room.ready.pop().at
		e := &d.list[at]
		if e.gone {
			continue
		}
		in.asked++
		switch why := in.verdict(s, &e.message, true); {
		case why == Exists:
			in.release(ctx, s, e)
		case why != NotYet:
			d.remove(e)
			in.drop(s, &e.message, why)
		case e.message.NotBefore > in.due:
			room.ticks.push(waiter{int64(e.message.NotBefore), at})
		default:
			room.again = append(room.again, at)
		}
	}
	room.rest()
	in.sweep(s)
}

// release hands on one deferred message.
func (in *Inbound) release(ctx *Context, s *Source, e *deferredMessage) {
	m := e.message
	o := origin{source: s, peer: s.id, tick: e.tick, received: e.received}
	in.buffer = append(in.buffer[:0], s.deferred.payload(e)...)
	s.deferred.remove(e)
	in.count(&m)
	if in.config.History > 0 {
		in.rememberBody(&o, &m, in.buffer, false)
	}
	in.describe(ctx, &o, m.Stage)
	in.deliver(ctx, s, &m, in.buffer)
}

// rememberBody keeps a message that lies in no frame yet for the history, if there is room.
func (in *Inbound) rememberBody(o *origin, m *Message, payload []byte, nested bool) {
	f := in.cur
	room := in.reserve(o.source, len(payload))
	if room == nil {
		in.stats.Unrecorded++
		return
	}
	copy(room, payload)
	it := in.itemOf(m).at(len(f.bytes), len(payload), len(f.origins))
	in.commit(o.source, len(payload))
	f.origins = append(f.origins, *o)
	f.past = append(f.past, pastItem{item: it, stage: m.Stage, nested: nested})
}

// room makes room for size bytes of a source in the frame, nil if there is none for it. Of half of what a frame holds everyone
// has an equal part to himself; the other half is for whoever comes first.
func (in *Inbound) reserve(s *Source, size int) []byte {
	if in.common+in.excess(s, size) > in.limits.Bytes-in.limits.Sources*in.share {
		return nil
	}
	room, grown := in.cur.room(size, in.limits.Bytes)
	if grown {
		in.stats.Grown++
	}
	return room
}

// use gives the first size bytes of the room to the frame.
func (in *Inbound) commit(s *Source, size int) {
	in.common += in.excess(s, size)
	s.held += size
	in.cur.bytes = in.cur.bytes[:len(in.cur.bytes)+size]
}

// above returns how much of size more bytes a source takes of what is everyone's.
func (in *Inbound) excess(s *Source, size int) int {
	if s.filling != in.filling {
		s.filling, s.held = in.filling, 0
	}
	return max(s.held+size-in.share, 0) - max(s.held-in.share, 0)
}

// empty begins with a frame's bytes anew.
func (in *Inbound) empty() {
	in.cur.clear(in.number)
	in.filling++
	in.common = 0
}

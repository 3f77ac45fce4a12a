package message

import (
	"time"

	"github.com/arche-netcode/netcode/tick"
)

// deferred stores the messages of one source that wait for a tick, for an entity, or for an earlier message of their
// ordered channel. Messages and payloads are stored in the order of deferral. Each message is also in one index, so
// that only messages that may be due are checked:
//   - the queue of its channel, if it waits for its turn;
//   - the heap of its stage, if it waits for a tick;
//   - else the ready list, which is checked whenever its stage runs.
type deferred struct {
	list            []deferredMessage
	payloads        []byte
	count           int // number of waiting messages
	bytes           int
	unreliable      int // number of unreliable ones among them
	unreliableBytes int
	fifo            []int // places of the unreliable ones, oldest first
	fifoHead        int
	stages          [tick.NumStages]stageWaiters
	woken           []int // places of messages whose turn has come since the frame began; while expireReliable runs those it looks at
}

// stageWaiters has the messages that wait for one stage, except those that wait for their turn.
type stageWaiters struct {
	ticks   waitHeap // by tick
	ready   waitHeap // in the order of deferral
	recheck []int    // checked in this Drain; still waiting
}

// deferredMessage is one message that waits.
type deferredMessage struct {
	message     Message
	tick        tick.Tick
	received    time.Duration
	since       time.Duration // time of deferral
	start, size int           // of the payload
	gone        bool
}

// addDeferred defers a message. due is the newest tick that messages need not wait for.
func (s *Source) addDeferred(o *origin, m *Message, payload []byte, now time.Duration, due tick.Tick) {
	d, at := &s.deferred, len(s.deferred.list)
	d.list = append(d.list, deferredMessage{
		message: *m, tick: o.tick, received: o.received, since: now, start: len(d.payloads), size: len(payload),
	})
	d.payloads = append(d.payloads, payload...)
	d.tally(&d.list[at], +1)
	if !m.Channel.Delivery().Reliable() {
		d.fifo = append(d.fifo, at)
	}
	switch {
	case !s.inTurn(m):
		l := &s.order.ordered[m.Channel.Number()]
		l.waiting.push(waiter{int64(m.order), at})
	case m.NotBefore > due:
		d.stages[m.Stage].ticks.push(waiter{int64(m.NotBefore), at})
	default:
		d.stages[m.Stage].ready.push(waiter{int64(at), at})
	}
}

// wake moves messages of a channel to their stage's index once their turn has come.
func (d *deferred) wake(l *orderedChannel) {
	for len(l.waiting) > 0 && l.waiting[0].key <= int64(l.done)+1 {
		at := l.waiting.pop().at
		d.stages[d.list[at].message.Stage].ready.push(waiter{int64(at), at})
		d.woken = append(d.woken, at)
	}
}

// remove deletes a message from the store.
func (d *deferred) remove(e *deferredMessage) {
	e.gone = true
	d.tally(e, -1)
}

// tally adds a message to the counters (+1) or subtracts it (-1).
func (d *deferred) tally(e *deferredMessage, by int) {
	d.count += by
	d.bytes += by * e.size
	if !e.message.Channel.Delivery().Reliable() {
		d.unreliable += by
		d.unreliableBytes += by * e.size
	}
}

// payload returns the payload of a waiting message.
func (d *deferred) payload(e *deferredMessage) []byte { return d.payloads[e.start : e.start+e.size] }

// compactDeferred closes the gaps that removed messages left, once they are as many or as large as the waiting ones. Removal thus
// costs no more than deferral.
func (in *Inbound) compactDeferred(s *Source) {
	d := &s.deferred
	if d.count > 0 && len(d.list) < 2*d.count+16 && len(d.payloads) < 2*d.bytes+sweptBytes {
		return
	}
	kept, payloads, places := d.list[:0], d.payloads[:0], in.newPlaces[:0]
	for i := range d.list {
		e := d.list[i]
		if e.gone {
			places = append(places, -1)
			continue
		}
		places = append(places, len(kept))
		payload := d.payload(&e)
		e.start = len(payloads)
		payloads = append(payloads, payload...)
		kept = append(kept, e)
	}
	d.list, d.payloads, in.newPlaces = kept, payloads, places
	for i := range d.stages {
		room := &d.stages[i]
		room.requeue()
		room.ticks.move(places)
		room.ready.move(places)
		for k := range room.ready {
			room.ready[k].key = int64(room.ready[k].at)
		}
	}
	if s.order != nil {
		for i := range s.order.ordered {
			s.order.ordered[i].waiting.move(places)
		}
	}
	waits := d.fifo[:0]
	for _, at := range d.fifo[d.fifoHead:] {
		if at = places[at]; at >= 0 {
			waits = append(waits, at)
		}
	}
	d.fifo, d.fifoHead = waits, 0
}

// sweptBytes is the gap size below which payloads are not moved.
const sweptBytes = 16 << 10

// requeue moves the messages that were checked and still wait back to the ready list.
func (r *stageWaiters) requeue() {
	for _, at := range r.recheck {
		r.ready.push(waiter{int64(at), at})
	}
	r.recheck = r.recheck[:0]
}

// stale is the verdict for a message of a sequenced channel after a newer one was handled.
const stale = Never + 1

// verdict reports whether a message may be handled now. deferred tells that it waited before. Order is checked
// first, so that an ordered channel drops nothing before its turn. A message that waits for a tick is checked for
// nothing else before that tick.
func (in *Inbound) verdict(s *Source, m *Message, deferred bool) Existence {
	if inOrder(m.Channel.Delivery()) && !s.inTurn(m) || deferred && m.NotBefore > in.due {
		return NotYet
	}
	if s.overtaken(m, deferred) {
		return stale
	}
	if in.lacksState(s, m) {
		return NotYet
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

// lacksState reports whether a message waits for a state of its entity that has not arrived.
func (in *Inbound) lacksState(s *Source, m *Message) bool {
	return m.State != tick.None && in.config.Ready != nil && !in.config.Ready(s.id, m.Entity, m.State)
}

// drop removes a message for good and counts it by its verdict.
func (in *Inbound) drop(s *Source, m *Message, why Existence) {
	if why == stale {
		in.stats.Superseded++
	} else {
		in.stats.Undeliverable++
	}
	s.done(m)
}

// deferMessage defers a message, or drops it beyond the limits. A reliable one from another process always has room:
// its sender's credit bounds them.
func (in *Inbound) deferMessage(o *origin, m *Message, payload []byte) {
	s := o.source
	d := &s.deferred
	full := false
	switch {
	case !m.Channel.Delivery().Reliable():
		full = d.unreliable >= in.limits.Deferred || d.unreliableBytes+len(payload) > in.limits.DeferredBytes
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
	s.addDeferred(o, m, payload, in.now, in.due)
	if !s.listed {
		s.listed = true
		in.waiting = append(in.waiting, s)
	}
}

// Forget drops the deferred messages of a source whose connection ended. Its queued messages are still handled.
func (in *Inbound) Forget(s *Source) {
	s.deferred = deferred{}
	if s.order != nil {
		for i := range s.order.ordered {
			s.order.ordered[i].waiting = nil
		}
	}
}

// waiter is a deferred message: its place in the list, and its heap key.
type waiter struct {
	key int64
	at  int
}

// waitHeap is a min-heap of waiters by key.
type waitHeap []waiter

func (h *waitHeap) push(w waiter) {
	*h = append(*h, w)
	list := *h
	for at := len(list) - 1; at > 0 && list[at].key < list[(at-1)/2].key; at = (at - 1) / 2 {
		list[at], list[(at-1)/2] = list[(at-1)/2], list[at]
	}
}

func (h *waitHeap) pop() waiter {
	list := *h
	first, last := list[0], len(list)-1
	list[0] = list[last]
	list = list[:last]
	for at := 0; ; {
		child := 2*at + 1
		if child+1 < last && list[child+1].key < list[child].key {
			child++
		}
		if child >= last || list[child].key >= list[at].key {
			break
		}
		list[at], list[child] = list[child], list[at]
		at = child
	}
	*h = list
	return first
}

// move applies the new places of messages; a negative place means removed.
func (h *waitHeap) move(places []int) {
	list := *h
	*h = list[:0]
	for _, w := range list {
		if w.at = places[w.at]; w.at >= 0 {
			h.push(w)
		}
	}
}

// expire drops messages that waited too long: unreliable ones, and reliable ones whose entity has not come. A reliable
// one that waits for a tick or its turn is kept.
func (in *Inbound) expire() {
	kept := in.waiting[:0]
	for _, s := range in.waiting {
		in.expireUnreliable(s)
		in.expireReliable(s)
		in.compactDeferred(s)
		if s.listed = s.deferred.count > 0; s.listed {
			kept = append(kept, s)
		}
	}
	clear(in.waiting[len(kept):])
	in.waiting = kept
}

// expireUnreliable drops the unreliable messages of a source that waited too long.
func (in *Inbound) expireUnreliable(s *Source) {
	d := &s.deferred
	for ; d.fifoHead < len(d.fifo); d.fifoHead++ {
		e := &d.list[d.fifo[d.fifoHead]]
		if e.gone {
			continue
		}
		in.checks++
		if in.now-e.since <= in.limits.DeferredTime {
			return
		}
		in.stats.DeferredLate++
		s.done(&e.message)
		d.remove(e)
	}
	d.fifo, d.fifoHead = d.fifo[:0], 0
}

// expireReliable ends the wait of reliable messages of a source that waited too long. A drop wakes the next message of a channel, which
// is looked at too.
func (in *Inbound) expireReliable(s *Source) {
	d := &s.deferred
	d.woken = d.woken[:0]
	for i := range d.stages {
		d.stages[i].requeue()
		for _, w := range d.stages[i].ready {
			d.woken = append(d.woken, w.at)
		}
	}
	for i := 0; i < len(d.woken); i++ {
		if e := &d.list[d.woken[i]]; !e.gone && e.message.Channel.Delivery().Reliable() {
			in.checks++
			in.expireOne(s, e)
		}
	}
}

// expireOne drops a reliable message whose entity is missing for too long. If only the entity's state is missing the message is released.
func (in *Inbound) expireOne(s *Source, e *deferredMessage) {
	m := &e.message
	switch waited := in.now - e.received; {
	case m.NotBefore > in.due:
	case in.lacksEntity(m):
		if waited > in.limits.EntityTime {
			in.stats.Undeliverable++
			in.stats.DeferredLate++
			s.deferred.remove(e)
			s.done(m)
		}
	case waited > in.limits.DeferredTime && in.lacksState(s, m):
		in.stats.StateLate++
		m.State = tick.None
	}
}

// lacksEntity reports whether a message names an entity that does not exist here.
func (in *Inbound) lacksEntity(m *Message) bool {
	return !m.Entity.IsZero() && in.config.Exists != nil && in.config.Exists(m.Entity) != Exists
}

// releaseAll handles the deferred messages of a stage that need not wait any longer. It returns false after a panic;
// the caller calls it again.
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

// mayBeDue reports whether any message must be checked.
func (r *stageWaiters) mayBeDue(due tick.Tick) bool {
	return len(r.ready) > 0 || len(r.recheck) > 0 || len(r.ticks) > 0 && r.ticks[0].key <= int64(due)
}

// releaseOf is releaseAll for one source. A handler may call Forget meanwhile.
func (in *Inbound) releaseOf(ctx *Context, s *Source, stage tick.Stage) {
	d := &s.deferred
	room := &d.stages[stage]
	room.requeue()
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
		in.checks++
		switch why := in.verdict(s, &e.message, true); {
		case why == Exists:
			in.release(ctx, s, e)
		case why != NotYet:
			d.remove(e)
			in.drop(s, &e.message, why)
		case e.message.NotBefore > in.due:
			room.ticks.push(waiter{int64(e.message.NotBefore), at})
		default:
			room.recheck = append(room.recheck, at)
		}
	}
	room.requeue()
	in.compactDeferred(s)
}

// release handles one deferred message.
func (in *Inbound) release(ctx *Context, s *Source, e *deferredMessage) {
	m := e.message
	o := origin{source: s, peer: s.id, tick: e.tick, received: e.received}
	in.buffer = append(in.buffer[:0], s.deferred.payload(e)...)
	s.deferred.remove(e)
	in.count(&m)
	in.describe(ctx, &o, m.Stage)
	in.deliver(ctx, s, &m, in.buffer)
}

// reserve returns room for size bytes of a source in this frame, nil if there is none. Half of a frame's bytes is
// divided equally among the sources; the other half is first come, first served.
func (in *Inbound) reserve(s *Source, size int) []byte {
	if in.sharedBytes+in.excess(s, size) > in.limits.Bytes-in.limits.Sources*in.sourceBytes {
		return nil
	}
	room, grown := in.cur.room(size, in.limits.Bytes)
	if grown {
		in.stats.Grown++
	}
	return room
}

// commit adds the first size bytes of the reserved room to the frame.
func (in *Inbound) commit(s *Source, size int) {
	in.sharedBytes += in.excess(s, size)
	s.used += size
	in.cur.bytes = in.cur.bytes[:len(in.cur.bytes)+size]
}

// excess returns how many of size further bytes come from the half that is not divided.
func (in *Inbound) excess(s *Source, size int) int {
	if s.emptied != in.emptied {
		s.emptied, s.used = in.emptied, 0
	}
	return max(s.used+size-in.sourceBytes, 0) - max(s.used-in.sourceBytes, 0)
}

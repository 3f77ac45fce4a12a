package message

import (
	"time"

	"github.com/arche-netcode/netcode/tick"
)

// deferred stores the messages of one source that wait for a tick, for an entity, or for an earlier message of their ordered
// channel. Messages and payloads are in the order of deferral. Each message is in one index more, so that only those that
// may be due are looked at: for its turn, in the line of its channel; for a tick, in the heap of its stage; else in the ready
// list, which is checked each time that its stage comes.
type deferred struct {
	list       []deferredMessage
	payloads   []byte
	count      int // that wait
	bytes      int
	loose      int // of them, unreliable ones
	looseBytes int
	fifo       []int // places of the unreliable ones, of which the first waits longest
	fifoHead   int
	stages     [tick.NumStages]waitingRoom
}

// waitingRoom has the messages that wait for one stage, and not for their turn.
type waitingRoom struct {
	ticks waitHeap // by tick
	ready waitHeap // in the order in which they were put aside
	again []int    // were ready and asked, and wait on
}

// deferredMessage is one message that waits.
type deferredMessage struct {
	message     Message
	tick        tick.Tick
	received    time.Duration
	aside       time.Duration // when it was put aside
	start, size int           // of its payload
	gone        bool
}

// putAside puts a message aside; due is the tick for which nothing waits any more.
func (s *Source) putAside(o *origin, m *Message, payload []byte, now time.Duration, due tick.Tick) {
	d, at := &s.deferred, len(s.deferred.list)
	d.list = append(d.list, deferredMessage{
		message: *m, tick: o.tick, received: o.received, aside: now, start: len(d.payloads), size: len(payload),
	})
	d.payloads = append(d.payloads, payload...)
	d.tally(&d.list[at], +1)
	if !m.Channel.Delivery().Reliable() {
		d.fifo = append(d.fifo, at)
	}
	switch {
	case !s.turn(m):
		l := &s.lines.ordered[m.Channel.Number()]
		l.waiting.push(waiter{int64(m.order), at})
	case m.NotBefore > due:
		d.stages[m.Stage].ticks.push(waiter{int64(m.NotBefore), at})
	default:
		d.stages[m.Stage].ready.push(waiter{int64(at), at})
	}
}

// wake makes ready what waited for its turn on a channel and has it now.
func (d *deferred) wake(l *orderedLine) {
	for len(l.waiting) > 0 && l.waiting[0].key <= int64(l.done)+1 {
		at := l.waiting.pop().at
		d.stages[d.list[at].message.Stage].ready.push(waiter{int64(at), at})
	}
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
	if !e.message.Channel.Delivery().Reliable() {
		d.loose += by
		d.looseBytes += by * e.size
	}
}

// payload is that of a message that waits.
func (d *deferred) payload(e *deferredMessage) []byte { return d.payloads[e.start : e.start+e.size] }

// sweep closes the gaps of what left a source, once they are as many, or as large, as what waits: to leave costs no more
// than to come.
func (in *Inbound) sweep(s *Source) {
	d := &s.deferred
	if d.count > 0 && len(d.list) < 2*d.count+16 && len(d.payloads) < 2*d.bytes+sweptBytes {
		return
	}
	kept, payloads, places := d.list[:0], d.payloads[:0], in.places[:0]
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
	d.list, d.payloads, in.places = kept, payloads, places
	for i := range d.stages {
		room := &d.stages[i]
		room.rest()
		room.ticks.move(places)
		room.ready.move(places)
		for k := range room.ready {
			room.ready[k].key = int64(room.ready[k].at)
		}
	}
	if s.lines != nil {
		for i := range s.lines.ordered {
			s.lines.ordered[i].waiting.move(places)
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

// sweptBytes is the size of gaps below which nothing is moved.
const sweptBytes = 16 << 10

// rest makes ready again what was asked and waits on.
func (r *waitingRoom) rest() {
	for _, at := range r.again {
		r.ready.push(waiter{int64(at), at})
	}
	r.again = r.again[:0]
}

// stale is the verdict of a message that a newer one of its channel has overtaken.
const stale = Never + 1

// verdict reports whether a message may be handled now; aside, of one that was put aside. Order comes first, so that of an
// ordered channel nothing is dropped before its turn; what was put aside for a tick is not asked for anything else before that.
func (in *Inbound) verdict(s *Source, m *Message, aside bool) Existence {
	if inOrder(m.Channel.Delivery()) && !s.turn(m) || aside && m.NotBefore > in.due {
		return NotYet
	}
	if s.overtaken(m, aside) {
		return stale
	}
	if in.early(s, m) {
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

// early reports whether a message has come before the state of its entity that it waits for.
func (in *Inbound) early(s *Source, m *Message) bool {
	return m.State != tick.None && in.config.Ready != nil && !in.config.Ready(s.id, m.Entity, m.State)
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
	s.putAside(o, m, payload, in.now, in.due)
	if !s.listed {
		s.listed = true
		in.waiting = append(in.waiting, s)
	}
}

// Forget drops the deferred messages of a source: its connection ended. Messages in the queues are handled all the same.
func (in *Inbound) Forget(s *Source) {
	s.deferred = deferred{}
	if s.lines != nil {
		for i := range s.lines.ordered {
			s.lines.ordered[i].waiting = nil
		}
	}
}

// waiter is a message that was put aside: its place in the list, and what its heap goes by.
type waiter struct {
	key int64
	at  int
}

// waitHeap has the waiter with the lowest key in front.
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

// move takes over the places that messages have moved to; those below zero have left.
func (h *waitHeap) move(places []int) {
	list := *h
	*h = list[:0]
	for _, w := range list {
		if w.at = places[w.at]; w.at >= 0 {
			h.push(w)
		}
	}
}

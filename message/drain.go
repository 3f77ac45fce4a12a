package message

import (
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// Drain calls the handlers of the messages that are due in a stage and returns how many: first those that were deferred and
// need no longer wait, then those in the queue, oldest first. Messages that are pushed meanwhile wait for the next Drain,
// so that a handler that answers itself cannot hold up the frame; nor can one call Drain, which then does nothing. A
// handler that panics is reported to Config.Panicked, and the others run.
func (in *Inbound) Drain(stage tick.Stage) int {
	if in.draining || in.depth > 0 || !stage.Valid() {
		return 0
	}
	in.stage, in.nested = stage, 0
	q := &in.cur.stages[stage]
	if len(q.items)+len(in.waiting)+len(in.cur.origins)+len(in.cur.bytes) == 0 { // Nothing came since all was emptied.
		return 0
	}
	in.draining = true
	before := in.stats.Handled
	q.end = len(q.items)
	for !in.releaseAll(stage) {
	}
	for q.end > 0 && !in.drainQueue(q, stage) {
	}
	q.end = 0
	if q.live == 0 {
		q.clear()
	}
	if in.config.History == 0 && in.cur.waiting() == 0 {
		in.empty()
		in.fromAt, in.localAt = -1, -1
	}
	in.draining = false
	return int(in.stats.Handled - before)
}

// drainQueue hands on what is left of this Drain's part of a queue. It returns false after a panic, to be called again:
// to recover once costs less than once a message.
func (in *Inbound) drainQueue(q *queue, stage tick.Stage) (done bool) {
	ctx := &in.contexts[0]
	defer in.recovered(ctx)
	at, f := -1, in.cur
	in.depth = 1
	for q.head < q.end {
		it := q.items[q.head]
		if it.dead() {
			q.head++
			continue
		}
		if poisoning || it.origin() != at {
			at = it.origin()
			in.describe(ctx, &f.origins[at], stage)
		}
		ctx.Type, ctx.Channel = it.typ(), it.channel()
		if c := in.codecs[it.typ()]; c != nil && it.simple() {
			c.handleRun(in, ctx, q)
		} else {
			q.head++
			q.live--
			in.drainSpecial(ctx, it)
		}
	}
	in.depth = 0
	return true
}

// recovered contains the panic of a handler.
func (in *Inbound) recovered(ctx *Context) {
	in.depth = 0
	value := recover()
	if value == nil {
		return
	}
	in.stats.Panics++
	in.scratch.afterPanic()
	if in.config.Panicked != nil {
		in.config.Panicked(ctx, value)
	}
}

// describe fills in what the messages of a packet have in common.
func (in *Inbound) describe(ctx *Context, o *origin, stage tick.Stage) {
	ctx.End, ctx.Local, ctx.Stage = in.config.End, in.config.Local, stage
	ctx.Sender, ctx.Tick, ctx.Received = o.peer, o.tick, o.received
	ctx.NotBefore, ctx.Entity, ctx.Call, ctx.HasCall = tick.None, wire.NetworkID{}, 0, false
}

// specify fills in what a message says beyond its type.
func (ctx *Context) specify(m *Message) {
	ctx.NotBefore, ctx.Entity, ctx.Call, ctx.HasCall = m.NotBefore, m.Entity, m.Call, m.HasCall
}

// call hands a payload to its handler.
func (in *Inbound) call(ctx *Context, payload []byte) {
	if c := in.codecs[ctx.Type]; c == nil || ctx.HasCall || !c.Handle(ctx, payload) {
		in.callOther(ctx, c, payload)
	}
}

// callOther hands on what does not go to the handler of a type, and counts what no handler takes.
func (in *Inbound) callOther(ctx *Context, c Codec, payload []byte) {
	switch {
	case !ctx.HasCall && (c != nil || ctx.Type >= wire.FirstUserMessage):
		in.stats.Illegal++
	case in.config.Special != nil:
		in.config.Special(ctx, payload)
	}
}

// drainSpecial hands on a message that may have to wait, or has a cost. The rest of the context is then taken
// back for the next one.
func (in *Inbound) drainSpecial(ctx *Context, it item) {
	f := in.cur
	m := f.extra(it)
	m.Type, m.Stage, m.Channel = it.typ(), ctx.Stage, it.channel()
	o := f.origins[it.origin()]
	switch why := in.verdict(o.source, &m, false); why {
	case Exists:
	case NotYet:
		in.deferMessage(&o, &m, f.payload(it))
		return
	default:
		in.drop(o.source, &m, why)
		return
	}
	in.count(&m)
	if in.config.History > 0 {
		in.remember(it, m.Stage)
	}
	in.deliver(ctx, o.source, &m, f.payload(it))
}

// deliver calls the handler of a message whose time has come. It is done with before, so that a panic holds up nothing.
func (in *Inbound) deliver(ctx *Context, s *Source, m *Message, payload []byte) {
	s.handled(m)
	ctx.Type, ctx.Channel = m.Type, m.Channel
	ctx.specify(m)
	in.call(ctx, payload)
	ctx.specify(&Message{})
	if poisoning {
		poisonContext(ctx)
	}
}

// pass drops the message at the head of a queue, of a type that has no handler.
func (in *Inbound) pass(ctx *Context, q *queue) {
	it := q.items[q.head]
	q.head++
	q.live--
	if in.config.History > 0 {
		in.remember(it, ctx.Stage)
	}
	in.unhandled(it.typ())
}

// count counts a message whose time has come, by whether there is a handler for it.
func (in *Inbound) count(m *Message) {
	if c := in.codecs[m.Type]; c != nil && !m.HasCall && !c.Handled() {
		in.unhandled(m.Type)
		return
	}
	in.stats.Handled++
}

// unhandled counts a message that came for no handler.
func (in *Inbound) unhandled(t wire.MessageType) {
	in.stats.Unhandled++
	if in.config.Unhandled != nil {
		in.config.Unhandled(t)
	}
}

// remember keeps a message that is handled for the history.
func (in *Inbound) remember(it item, stage tick.Stage) {
	in.cur.past = append(in.cur.past, pastItem{item: it, stage: stage})
}

// lines is the progress of one source's channels that promise an order.
type lines struct {
	ordered   [wire.MaxChannels]orderedLine
	sequenced [wire.MaxChannels]uint64 // place of the newest message that was handled
}

// orderedLine is one ReliableOrdered channel. Its messages are numbered from 1 as they are queued, whatever stages they
// name, and each is handled, or dropped for good, after the one before it.
type orderedLine struct {
	queued, done uint64
	waiting      waitHeap // those put aside whose turn it is not, by their places
}

// packetPart is the bit at which the number of the packet begins in the place of an UnreliableSequenced message; below it is
// the message's own number within that packet.
const packetPart = 32

// inOrder reports whether messages of a mode of delivery have places.
func inOrder(d wire.Delivery) bool { return d == wire.ReliableOrdered || d == wire.UnreliableSequenced }

// nextPacket begins the places of a packet.
func (s *Source) nextPacket() { s.place = (s.place>>packetPart + 1) << packetPart }

// placed gives the newest message of a channel its place. It must be queued, or handled now: nothing comes after it
// before it is done with.
func (s *Source) placed(ch wire.Channel) uint64 {
	if s.lines == nil {
		s.lines = new(lines)
	}
	if ch.Delivery() == wire.ReliableOrdered {
		l := &s.lines.ordered[ch.Number()]
		l.queued++
		return l.queued
	}
	s.place++
	return s.place
}

// turn reports whether all messages before this one of its ordered channel are done with. One without a place is about to
// be queued.
func (s *Source) turn(m *Message) bool {
	if m.Channel.Delivery() != wire.ReliableOrdered || s.lines == nil {
		return true
	}
	l := &s.lines.ordered[m.Channel.Number()]
	if m.order == 0 {
		return l.done == l.queued
	}
	return m.order <= l.done+1
}

// overtaken reports whether a newer message of its sequenced channel was handled: one of a later packet or, if this one
// was put aside, any. Within a packet, messages for several stages run as their stages come.
func (s *Source) overtaken(m *Message, aside bool) bool {
	if m.Channel.Delivery() != wire.UnreliableSequenced || m.order == 0 {
		return false
	}
	newest := s.lines.sequenced[m.Channel.Number()]
	return m.order>>packetPart < newest>>packetPart || aside && m.order < newest
}

// handled notes that a message is handled.
func (s *Source) handled(m *Message) {
	if m.order > 0 && m.Channel.Delivery() == wire.UnreliableSequenced {
		newest := &s.lines.sequenced[m.Channel.Number()]
		*newest = max(*newest, m.order)
	}
	s.done(m)
}

// done notes that a message whose turn it is was handled, or dropped for good: what it costs is free again.
func (s *Source) done(m *Message) {
	s.freed += m.Cost
	if m.order > 0 && m.Channel.Delivery() == wire.ReliableOrdered {
		l := &s.lines.ordered[m.Channel.Number()]
		l.done = max(l.done, m.order)
		s.deferred.wake(l)
	}
}

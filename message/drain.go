package message

import (
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// Drain calls the handlers of the messages that are due in a stage and returns their number. Deferred messages that
// need not wait any longer come first, then the queue, oldest first. Messages pushed meanwhile wait for the next Drain,
// so that a handler that answers itself cannot block the frame. Drain does nothing if a handler calls it. A handler
// that panics is reported to Config.Panicked, and the others run.
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
	if in.cur.waiting() == 0 {
		in.empty()
	}
	in.draining = false
	return int(in.stats.Handled - before)
}

// drainQueue handles the rest of this Drain's part of a queue. It returns false after a panic; the caller calls it
// again. One recover per panic costs less than one per message.
func (in *Inbound) drainQueue(q *queue, stage tick.Stage) (done bool) {
	ctx := &in.contexts[0]
	defer in.recovered(ctx)
	described := false
	var at uint32 // origin that ctx describes
	in.depth = 1
	for q.head < q.end {
		it := q.items[q.head]
		if it.dead() {
			q.head++
			continue
		}
		if poisoning || !described || it.origin != at {
			described, at = true, it.origin
			in.describe(ctx, &in.cur.origins[at], stage)
		}
		q.head++
		q.live--
		in.drainOne(ctx, it)
	}
	in.depth = 0
	return true
}

// recovered recovers the panic of a handler and reports it.
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

// describe sets the context's fields that all messages of a packet share.
func (in *Inbound) describe(ctx *Context, o *origin, stage tick.Stage) {
	ctx.End, ctx.Local, ctx.Stage = in.config.End, in.config.Local, stage
	ctx.Sender, ctx.Tick, ctx.Received = o.peer, o.tick, o.received
}

// specify sets the context's fields of a message.
func (ctx *Context) specify(m *Message) {
	ctx.Type, ctx.Channel = m.Type, m.Channel
	ctx.NotBefore, ctx.Entity, ctx.Call, ctx.HasCall = m.NotBefore, m.Entity, m.Call, m.HasCall
}

// call passes a payload to its handler, and adds it to the history.
func (in *Inbound) call(ctx *Context, payload []byte) {
	if in.history != nil {
		in.history.Add(Record{Peer: ctx.Sender, Tick: ctx.Tick, Received: ctx.Received, Payload: payload, Message: Message{
			Type: ctx.Type, Stage: ctx.Stage, Channel: ctx.Channel, NotBefore: ctx.NotBefore, Entity: ctx.Entity, Call: ctx.Call, HasCall: ctx.HasCall,
		}})
	}
	if c := in.codecs[ctx.Type]; c == nil || ctx.HasCall || !c.Handle(ctx, payload) {
		in.callOther(ctx, c, payload)
	}
}

// callOther handles messages without a type handler: it calls Config.Special or counts the message.
func (in *Inbound) callOther(ctx *Context, c Codec, payload []byte) {
	switch {
	case !ctx.HasCall && (c != nil || ctx.Type >= wire.FirstUserMessage):
		in.stats.Illegal++
	case in.config.Special != nil:
		in.config.Special(ctx, payload)
	}
}

// drainOne handles a queued message, defers it or drops it.
func (in *Inbound) drainOne(ctx *Context, it item) {
	f := in.cur
	m := f.options(it)
	m.Type, m.Stage, m.Channel = it.kind, ctx.Stage, it.channel
	o := &f.origins[it.origin]
	s := o.source
	switch why := in.verdict(s, &m, false); why {
	case Exists:
	case NotYet:
		in.deferMessage(o, &m, f.payload(it))
		return
	default:
		in.drop(s, &m, why)
		return
	}
	in.count(&m)
	in.deliver(ctx, s, &m, f.payload(it))
}

// deliver calls the handler of a message. It marks the message as done first, so that a panic cannot block its channel.
func (in *Inbound) deliver(ctx *Context, s *Source, m *Message, payload []byte) {
	s.handled(m)
	ctx.specify(m)
	in.call(ctx, payload)
	if poisoning {
		poisonContext(ctx)
	}
}

// count counts a message as handled or unhandled.
func (in *Inbound) count(m *Message) {
	if c := in.codecs[m.Type]; c != nil && !m.HasCall && !c.Handled() {
		in.unhandled(m.Type)
		return
	}
	in.stats.Handled++
}

// unhandled counts and reports a message without a handler.
func (in *Inbound) unhandled(t wire.MessageType) {
	in.stats.Unhandled++
	if in.config.Unhandled != nil {
		in.config.Unhandled(t)
	}
}

// channelOrder is the progress of one source's ordered and sequenced channels.
type channelOrder struct {
	ordered   [wire.MaxChannels]orderedChannel
	sequenced [wire.MaxChannels]uint64 // order number of the newest handled message
}

// orderedChannel is one ReliableOrdered channel. Its messages are numbered from 1 as they are queued, across all stages.
// Each is handled, or dropped for good, after its predecessor.
type orderedChannel struct {
	queued, done uint64
	waiting      waitHeap // deferred messages whose turn has not come, by number
}

// packetPart splits the order number of an UnreliableSequenced message: the packet's number above this bit, the
// message's number within the packet below.
const packetPart = 32

// inOrder reports whether messages of a mode of delivery have order numbers.
func inOrder(d wire.Delivery) bool { return d == wire.ReliableOrdered || d == wire.UnreliableSequenced }

// nextPacket starts the order numbers of a packet.
func (s *Source) nextPacket() { s.sequenced = (s.sequenced>>packetPart + 1) << packetPart }

// nextOrder returns the order number of a channel's newest message. The caller must queue or handle that message now:
// later ones wait for it.
func (s *Source) nextOrder(ch wire.Channel) uint64 {
	if s.order == nil {
		s.order = new(channelOrder)
	}
	if ch.Delivery() == wire.ReliableOrdered {
		l := &s.order.ordered[ch.Number()]
		l.queued++
		return l.queued
	}
	s.sequenced++
	return s.sequenced
}

// inTurn reports whether all earlier messages of the ordered channel are done. A message without a number is about to be
// queued.
func (s *Source) inTurn(m *Message) bool {
	if m.Channel.Delivery() != wire.ReliableOrdered || s.order == nil {
		return true
	}
	l := &s.order.ordered[m.Channel.Number()]
	if m.order == 0 {
		return l.done == l.queued
	}
	return m.order <= l.done+1
}

// overtaken reports whether a newer message of the sequenced channel was handled: for a deferred message any newer one,
// else only one of a later packet. Within a packet, messages for several stages run in the order of the stages.
func (s *Source) overtaken(m *Message, deferred bool) bool {
	if m.Channel.Delivery() != wire.UnreliableSequenced || m.order == 0 {
		return false
	}
	newest := s.order.sequenced[m.Channel.Number()]
	return m.order>>packetPart < newest>>packetPart || deferred && m.order < newest
}

// handled records that a message is handled.
func (s *Source) handled(m *Message) {
	if m.order > 0 && m.Channel.Delivery() == wire.UnreliableSequenced {
		newest := &s.order.sequenced[m.Channel.Number()]
		*newest = max(*newest, m.order)
	}
	s.done(m)
}

// done records that a message in turn was handled or dropped for good, and frees its credit.
func (s *Source) done(m *Message) {
	s.freed += m.Cost
	if m.order > 0 && m.Channel.Delivery() == wire.ReliableOrdered {
		l := &s.order.ordered[m.Channel.Number()]
		l.done = max(l.done, m.order)
		s.deferred.wake(l)
	}
}

package message

import "github.com/arche-netcode/netcode/wire"

// PostSelf sends a message of an end to itself. In the stage that the end is in, the handler is called at once: it precedes whatever
// waits for that stage. For a later stage it is handled in this frame, for an earlier one in the next. It is queued, too,
// when MaxNested handlers are at work within each other or Limits.Nested were called so in one Drain, when it must wait (for a
// tick, an entity, or an earlier message of its ordered channel), and when it belongs to a call; then it is handled in the
// next Drain of its stage.
//
// The value is encoded and decoded in every stage, so that a handler is given what one at another end would be; where fields are sent as
// they are in memory that is a copy. The context is that of a message from outside, with the end itself as the sender. A handler
// that panics is reported to Config.Panicked. The errors are ErrStage, ErrFull, and those of Encode; after each nothing was sent.
func PostSelf[T any](in *Inbound, t *Type, c *CodecOf[T], m *Message, v *T) error {
	return postFrom(in, in.local, t, c, m, v)
}

// postFrom is PostSelf for a message from any end in this process.
func postFrom[T any](in *Inbound, from *Source, t *Type, c *CodecOf[T], m *Message, v *T) error {
	local := *m
	local.Type = t.id
	if !m.Stage.Valid() {
		in.stats.BadStage++
		return ErrStage
	}
	bound, err := c.SizeBound(&in.scratch, v)
	if err != nil {
		return err
	}
	if bound <= maxPayload && (c.way == bySerialize || in.handlesAtOnce(from, &local)) { // a Serialize method may send, too
		buffer := in.scratch.takeBytes(bound)
		n, err := c.Encode(&in.scratch, buffer, v)
		if err == nil {
			err = in.PushNear(from, &local, buffer[:n])
		}
		in.scratch.giveBytes(buffer)
		return err
	}
	room := in.reserve(from, bound)
	if room == nil || bound > maxPayload {
		in.stats.Bytes++
		return ErrFull
	}
	n, err := c.Encode(&in.scratch, room, v)
	if err != nil {
		return err
	}
	return in.putFrom(from, t.id, m, n)
}

// handlesAtOnce reports whether a message of an end in this process is handled when it is sent.
func (in *Inbound) handlesAtOnce(from *Source, m *Message) bool {
	return m.Stage == in.stage && !in.queues && in.mayNest() && !m.HasCall && in.verdict(from, m, false) == Exists
}

// mayNest reports whether one more handler may be called from within those at work.
func (in *Inbound) mayNest() bool {
	return in.depth <= MaxNested && (in.depth == 0 || in.nested < in.limits.Nested)
}

// putFrom queues a message of an end in this process, whose payload lies behind the frame's bytes.
func (in *Inbound) putFrom(s *Source, t wire.MessageType, m *Message, size int) error {
	s.inside = true
	f := in.cur
	start := len(f.bytes)
	in.commit(s, size)
	from, fromAt := in.from, in.fromAt
	in.from, in.fromAt = origin{source: s, peer: s.id, tick: in.tick, received: in.now}, -1
	if s == in.local {
		in.fromAt = in.localAt
	}
	local := *m
	local.Type = t
	it := in.itemOf(&local)
	err := in.put(it, m.Stage, f.bytes[start:])
	if err == nil {
		in.setPlace(s, it)
	}
	if s == in.local {
		in.localAt = in.fromAt
	}
	in.from, in.fromAt = from, fromAt
	return err
}

// handleAtOnce calls the handler of a message of an end in this process.
func (in *Inbound) handleAtOnce(from *Source, m *Message, payload []byte) {
	if inOrder(m.Channel.Delivery()) {
		now := Message{Channel: m.Channel, order: from.placed(m.Channel)}
		from.handled(&now)
	}
	o := origin{source: from, peer: from.id, tick: in.tick, received: in.now}
	if in.config.History > 0 && !in.redelivering {
		in.rememberBody(&o, m, payload, in.depth > 0)
	}
	if c := in.codecs[m.Type]; c == nil || !c.Handled() {
		in.unhandled(m.Type)
		return
	}
	in.stats.Immediate++
	ctx := &in.contexts[in.depth]
	depth := in.depth
	defer in.recoveredAt(ctx, depth)
	if in.nested++; depth == 0 {
		in.nested = 0
	}
	in.depth++
	in.describe(ctx, &o, m.Stage)
	ctx.Type, ctx.Channel = m.Type, m.Channel
	ctx.specify(m)
	in.call(ctx, payload)
	if poisoning {
		poisonContext(ctx)
	}
}

// recoveredAt contains the panic of a handler that was called at once, and goes back to the depth that it was called from.
func (in *Inbound) recoveredAt(ctx *Context, depth int) {
	in.depth = depth
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

// PostNear hands over a message from an end in the same process, by the rules of PostSelf: where both are in its stage the
// handler is called at once, else it waits for its stage. from is that end, as the
// receiver knows it. It has no quota. The errors are those of PostSelf.
func PostNear[T any](in *Inbound, from *Source, t *Type, c *CodecOf[T], m *Message, v *T) error {
	from.enter(in.number) // so that Drop knows to look for it
	return postFrom(in, from, t, c, m, v)
}

// PushNear is PostNear for a message that is encoded already.
func (in *Inbound) PushNear(from *Source, m *Message, body []byte) error {
	if from != in.local {
		from.enter(in.number)
	}
	if m.Stage.Valid() && len(body) <= maxPayload && in.handlesAtOnce(from, m) {
		in.handleAtOnce(from, m, body)
		return nil
	}
	room := in.reserve(from, len(body))
	if room == nil || len(body) > maxPayload {
		in.stats.Bytes++
		return ErrFull
	}
	copy(room, body)
	return in.putFrom(from, m.Type, m, len(body))
}

package message

import (
	"github.com/arche-netcode/netcode/wire"
)

// PostSelf sends a message of an end to itself. In the stage that the end is in, the handler is called at once, with a copy
// of *v that is not encoded and so not rounded: it precedes whatever waits for that stage. For a later stage it is handled
// in this frame, for an earlier one in the next. It is queued, too, when MaxNested handlers are at work within each other
// or Limits.Nested were called so in one Drain, when it must wait (for a tick, an entity, or an earlier message of its ordered
// channel), and when it belongs to a call; then it is encoded, and handled in the next Drain of its stage.
//
// The context is that of a message from outside, with the end itself as the sender. A handler that panics is reported to
// Config.Panicked. The errors are ErrStage, ErrFull, and those of Encode; after each nothing was sent.
func PostSelf[T any](in *Inbound, t *Type, c *CodecOf[T], m *Message, v *T) error {
	return postFrom(in, in.local, t, c, m, v)
}

// postFrom is PostSelf for a message from any end in this process.
func postFrom[T any](in *Inbound, from *Source, t *Type, c *CodecOf[T], m *Message, v *T) error {
	switch {
	case !m.Stage.Valid():
		in.stats.BadStage++
		return ErrStage
	case m.Stage == in.stage && in.mayNest() && !m.HasCall && in.verdict(from, m, false) == Exists:
		callAtOnce(in, from, t, c, m, v)
		return nil
	}
	bound, err := c.SizeBound(&in.scratch, v)
	if err != nil {
		return err
	}
	if c.way == bySerialize && bound <= maxPayload { // the method may send, too
		buffer := in.scratch.takeBytes(bound)
		n, err := c.Encode(&in.scratch, buffer, v)
		if err == nil {
			local := *m
			local.Type = t.id
			err = in.PushNear(from, &local, buffer[:n])
		}
		in.scratch.bytes = buffer
		return err
	}
	room := in.room(from, bound)
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

// mayNest reports whether one more handler may be called from within those at work.
func (in *Inbound) mayNest() bool {
	return in.depth <= MaxNested && (in.depth == 0 || in.nested < in.limits.Nested)
}

// putFrom queues a message of an end in this process, whose payload lies behind the frame's bytes.
func (in *Inbound) putFrom(s *Source, t wire.MessageType, m *Message, size int) error {
	s.inside = true
	f := in.cur
	start := len(f.bytes)
	in.use(s, size)
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

// callAtOnce calls the handler of a message of an end in this process.
func callAtOnce[T any](in *Inbound, from *Source, t *Type, c *CodecOf[T], m *Message, v *T) {
	if inOrder(m.Channel.Delivery()) {
		now := Message{Channel: m.Channel, order: from.placed(m.Channel)}
		from.handled(&now)
	}
	if in.config.History > 0 && !in.redelivering {
		rememberAtOnce(in, from, t, c, m, v)
	}
	if c.handle == nil {
		in.unhandled(t.id)
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
	o := origin{source: from, peer: from.id, tick: in.tick, received: in.now}
	in.describe(ctx, &o, m.Stage)
	ctx.Type, ctx.Channel = t.id, m.Channel
	ctx.specify(m)
	c.handleCopy(ctx, v)
	if poisoning {
		poisonContext(ctx)
	}
}

// rememberAtOnce keeps a message that is handled at once for the history. For that it is encoded; one that cannot be is handled
// all the same.
func rememberAtOnce[T any](in *Inbound, from *Source, t *Type, c *CodecOf[T], m *Message, v *T) {
	bound, err := c.SizeBound(&in.scratch, v)
	if err != nil || bound > maxPayload {
		in.stats.Unrecorded++
		return
	}
	buffer := in.scratch.takeBytes(bound)
	n, err := c.Encode(&in.scratch, buffer, v)
	if err != nil {
		in.stats.Unrecorded++
	} else {
		local := *m
		local.Type = t.id
		in.rememberBody(&origin{source: from, peer: from.id, tick: in.tick, received: in.now}, &local, buffer[:n], in.depth > 0)
	}
	in.scratch.bytes = buffer
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

package message

import (
	"github.com/arche-netcode/netcode/internal/plain"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// A simple message has a type, a stage and a body, and nothing else. It comes on channel 0 of Unreliable, and its type is one of
// AllowSimple. The functions below handle many of them at once; each names the plain function that it equals.

// AllowSimple declares that a body of this type is legal on channel 0 of Unreliable if Codec.Check says so: nothing else must
// be checked.
func (in *Inbound) AllowSimple(t *Type) { in.simple[t.id] = !plain.On }

// simpleHeader parses the header of a simple message at the start of b, which is the rest of a batch. ok is false for any
// other message, and without a whole one.
func (in *Inbound) simpleHeader(b []byte) (h wire.MessageHeader, ok bool) {
	h, ok = wire.ParsePlainHeader(b)
	return h, ok && in.simple[h.Type]
}

// CheckSimple equals Codec.Check for each simple message at the start of b, the rest of a batch of channel 0 of Unreliable.
// It returns the number of legal ones before any other message, and their bytes with their headers.
func (in *Inbound) CheckSimple(b []byte) (messages, size int) {
	for {
		h, ok := in.simpleHeader(b[size:])
		if !ok {
			return messages, size
		}
		n, bytes := in.codecs[h.Type].checkSimple(in, b[size:])
		if n == 0 {
			return messages, size
		}
		messages, size = messages+n, size+bytes
	}
}

// checkSimple is CheckSimple for messages of this type.
func (c *CodecOf[T]) checkSimple(in *Inbound, b []byte) (messages, size int) {
	for {
		h, ok := wire.ParsePlainHeader(b[size:])
		body := size + wire.MessageHeaderSize
		if !ok || h.Type != c.number {
			return messages, size
		}
		end := body + int(h.Size)
		if legal := c.encoding == byCopy && c.legalCopy(b[body:end]); !legal && !c.Check(&in.scratch, b[body:end]) {
			return messages, size
		}
		messages, size = messages+1, end
	}
}

// checkSimple finds no message: each of a Raw is checked by itself.
func (c *Raw) checkSimple(*Inbound, []byte) (messages, size int) { return 0, 0 }

// PushSimple equals Push for each message that CheckSimple found at the start of b, and returns their bytes with their headers.
func (in *Inbound) PushSimple(b []byte) (size int) {
	for {
		size += in.pushSimple(b[size:])
		h, ok := in.simpleHeader(b[size:])
		if !ok {
			return size
		}
		body := size + wire.MessageHeaderSize
		size = body + int(h.Size)
		_ = in.Push(&Message{Type: h.Type, Stage: h.Stage}, b[body:size]) // A limit is reached. Push counts refusals.
	}
}

// pushSimple is PushSimple up to the first message that reaches a limit. It reserves memory once.
func (in *Inbound) pushSimple(b []byte) (size int) {
	s, f := in.from.source, in.cur
	room := in.reserve(s, len(b))
	if room == nil {
		return 0
	}
	start, stored, from := uint32(len(f.bytes)), 0, uint32(0)
	for {
		h, ok := in.simpleHeader(b[size:])
		n := int(h.Size)
		if !ok || s.messages >= in.limits.PerSender || s.bytes+n > in.limits.SenderBytes {
			break
		}
		q := &f.stages[h.Stage]
		last := len(q.items)
		if q.live >= in.limits.PerStage || last == cap(q.items) {
			break
		}
		if size == 0 {
			from = f.enterOrigin(&in.from)
		}
		size += wire.MessageHeaderSize
		copy(room[stored:], b[size:size+n])
		q.items = q.items[:last+1]
		it := &q.items[last]
		it.start, it.origin, it.options, it.size, it.kind, it.channel = start+uint32(stored), from, 0, h.Size, h.Type, 0
		q.live++
		s.messages++
		s.bytes += n
		in.stats.Queued++
		size, stored = size+n, stored+n
	}
	in.commit(s, stored)
	return size
}

// drainSimple equals drainOne for the message at the head of a queue and for its successors with the same context, if they have
// no options. It reports whether it handled any.
func (c *CodecOf[T]) drainSimple(in *Inbound, ctx *Context, q *queue) bool {
	first := q.items[q.head]
	if plain.On || poisoning || c.handle == nil || first.options != 0 || in.due < tick.None {
		return false
	}
	b, codecs := borrow[T](&in.scratch, c.number), in.codecSets
	for q.head < q.end && codecs == in.codecSets {
		it := &q.items[q.head]
		if it.origin != first.origin || it.kind != first.kind || it.channel != first.channel || it.options != 0 {
			break
		}
		q.head++
		q.live--
		in.stats.Handled++
		if in.config.History > 0 {
			in.remember(*it, ctx.Stage)
		}
		payload, legal := in.cur.payload(*it), true
		ctx.Type, ctx.Channel = first.kind, first.channel
		ctx.NotBefore, ctx.Entity, ctx.Call, ctx.HasCall = tick.None, wire.NetworkID{}, 0, false
		if c.encoding == byCopy && c.legalCopy(payload) {
			c.load(&b.value, payload)
		} else {
			legal = c.Decode(&in.scratch, payload, &b.value)
		}
		if legal {
			c.handle(ctx, &b.value)
		} else {
			in.stats.Illegal++
		}
	}
	b.giveBack()
	return true
}

// drainSimple reports false: each message of a Raw is handled by itself.
func (c *Raw) drainSimple(*Inbound, *Context, *queue) bool { return false }

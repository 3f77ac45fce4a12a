package message

// Handle decodes a payload and calls the handler, with a value that is reused once it returns. It returns false, without a
// call, if the payload is not legal. The context's own memory is used where it has one, so that nothing is allocated once
// warm.
func (c *CodecOf[T]) Handle(ctx *Context, payload []byte) bool {
	s := ctx.scratch
	if s == nil {
		s = &Scratch{}
	}
	b := borrow[T](s, c.number)
	ok := false
	if c.way == byCopy { // here and not in Decode, which is too large to be inlined
		if ok = len(payload) == c.size && c.exact.finite(payload); ok {
			c.load(&b.value, payload)
		}
	} else {
		ok = c.Decode(s, payload, &b.value)
	}
	if ok && c.handle != nil {
		c.handle(ctx, &b.value)
		if poisoning {
			poison(&b.value)
		}
	}
	b.giveBack()
	return ok
}

// handleRun calls the handler for the message at the head of a queue and for all that follow it in this Drain and have the
// same context: so that what a call through an interface costs is paid once a packet. What handlers push may move the
// queue's memory, so nothing of it is kept over a call.
func (c *CodecOf[T]) handleRun(in *Inbound, ctx *Context, q *queue) {
	handle := c.handle
	if handle == nil {
		in.pass(ctx, q)
		return
	}
	b := borrow[T](ctx.scratch, c.number)
	if uint32(q.items[q.head].size()) == c.AlwaysLegal() && c.exact.flip == nil && in.config.History == 0 && !poisoning {
		handleCopies(in, ctx, q, handle, &b.value)
	} else {
		c.handleEach(in, ctx, q, handle, &b.value)
	}
	b.giveBack()
}

// handleCopies is handleRun for a type whose payloads are its memory, and legal if they are as long as the one at the head.
func handleCopies[T any](in *Inbound, ctx *Context, q *queue, handle func(ctx *Context, m *T), value *T) {
	first, bytes := q.items[q.head], in.cur.bytes // Payloads that are queued stay as they are, wherever the frame's bytes move.
	for q.head < q.end {
		it := q.items[q.head]
		if it.what != first.what || it.origin() != first.origin() {
			return
		}
		q.head++
		q.live--
		in.stats.Handled++
		copyIn(value, bytes[it.start():])
		handle(ctx, value)
	}
}

// handleEach is handleRun for any type.
func (c *CodecOf[T]) handleEach(in *Inbound, ctx *Context, q *queue, handle func(ctx *Context, m *T), value *T) {
	first, f, stage, history := q.items[q.head], in.cur, ctx.Stage, in.config.History > 0
	copied, size, legal := c.way == byCopy, c.size, c.AlwaysLegal()
	for q.head < q.end {
		it := q.items[q.head]
		if !it.sameContext(first) {
			return
		}
		q.head++
		q.live--
		in.stats.Handled++
		if history {
			in.remember(it, stage)
		}
		start := it.start()
		payload := f.bytes[start : start+it.size()]
		switch {
		case uint32(len(payload)) == legal:
			c.load(value, payload)
		case copied && len(payload) == size && c.exact.finite(payload):
			c.load(value, payload)
		case copied || !c.Decode(ctx.scratch, payload, value):
			in.stats.Illegal++
			continue
		}
		handle(ctx, value)
		if poisoning {
			poison(value)
			poisonContext(ctx)
			return
		}
	}
}

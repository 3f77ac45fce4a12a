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

// handleCopy calls the handler with a copy of a value that did not travel.
func (c *CodecOf[T]) handleCopy(ctx *Context, m *T) {
	b := borrow[T](ctx.scratch, c.number)
	b.value = *m
	c.handle(ctx, &b.value)
	if poisoning {
		var zero T // what the value refers to is the sender's, and stays as it is
		b.value = zero
	}
	b.giveBack()
}

package netcode

import (
	"context"
	"math/bits"
	"time"

	"github.com/arche-netcode/netcode/wire"
)

// maxCalls is the most calls that one end may have open; a number has 16 bits and the table twice as many places.
const maxCalls = 1 << 12

// calls holds the questions of one end that wait for their answers, by number. A number names a place in the ring and is
// not used again before the others had their turn, so that an answer that comes late finds nothing.
type calls struct {
	ring  []openCall // A power of two, at least twice the limit.
	limit int
	open  int
	next  uint16
	tell  func(w waiter, of wire.ClientID, err error) // Tells a waiter that there is no answer.
}

// openCall is one question that waits.
type openCall struct {
	waiter   waiter // Nil: the place is free.
	number   uint16
	of       wire.ClientID // The end that was asked: nobody else may answer.
	deadline time.Duration
	ctx      context.Context
}

// waiter is told how a call ended.
type waiter interface {
	fail(err error)
}

// newCalls has room for a number of open calls.
func newCalls(limit int) calls {
	limit = min(max(limit, 1), maxCalls)
	tell := func(w waiter, _ wire.ClientID, err error) { w.fail(err) }
	return calls{ring: make([]openCall, 1<<bits.Len(uint(2*limit-1))), limit: limit, tell: tell}
}

// place returns the place of a number.
func (c *calls) place(number uint16) *openCall { return &c.ring[int(number)&(len(c.ring)-1)] }

// openCall opens a call and gives it a number, unless too many are open.
func (c *calls) openCall(call openCall) (number uint16, ok bool) {
	if c.open >= c.limit {
		return 0, false
	}
	for c.place(c.next).waiter != nil {
		c.next++
	}
	call.number = c.next
	c.next++
	*c.place(call.number) = call
	c.open++
	return call.number, true
}

// take ends the call of a number that was put to this end. It says false when there is none: it was answered, given up
// or never made.
func (c *calls) take(number uint16, from wire.ClientID) (waiter, bool) {
	at := c.place(number)
	if at.waiter == nil || at.number != number || at.of != from {
		return nil, false
	}
	w := at.waiter
	c.free(at)
	return w, true
}

// waiter returns the function that waits for an answer of that number from that end, or nil.
func (c *calls) waiter(number uint16, from wire.ClientID) waiter {
	if at := c.place(number); at.waiter != nil && at.number == number && at.of == from {
		return at.waiter
	}
	return nil
}

// free empties a place.
func (c *calls) free(at *openCall) {
	*at = openCall{}
	c.open--
}

// expire ends the calls whose deadline has come or whose context is done.
func (c *calls) expire(now time.Duration) (late, cancelled uint64) {
	if c.open == 0 {
		return 0, 0
	}
	for i := range c.ring {
		at := &c.ring[i]
		if at.waiter == nil {
			continue
		}
		err := at.ctx.Err()
		switch {
		case err != nil:
			cancelled++
		case now >= at.deadline:
			late++
			err = ErrDeadline
		default:
			continue
		}
		w, of := at.waiter, at.of
		c.free(at)
		c.tell(w, of, err)
	}
	return late, cancelled
}

// drop ends the calls that were put to an end that is gone.
func (c *calls) drop(of wire.ClientID, reason error) {
	if c.open == 0 {
		return
	}
	for i := range c.ring {
		at := &c.ring[i]
		if at.waiter != nil && at.of == of {
			w := at.waiter
			c.free(at)
			c.tell(w, of, reason)
		}
	}
}

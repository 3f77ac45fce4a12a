package calls

import (
	"context"
	"math/bits"
	"time"

	"github.com/arche-netcode/netcode/wire"
)

// MaxOpen is the most calls that one end may have open; a number has 16 bits and the table twice as many places.
const MaxOpen = 1 << 12

// Table stores the questions of one end that wait for their answers, by number. A number names a place in the ring and is
// not used again before the others had their turn, so that an answer that comes late finds nothing.
type Table struct {
	Waiting int    // Questions without an answer.
	ring    []Call // A power of two, at least twice the limit.
	limit   int
	next    uint16
	Late    error                                       // Given to a waiter whose deadline has come.
	Tell    func(w Waiter, of wire.ClientID, err error) // Tells a waiter that there is no answer.
}

// Call is one question that waits.
type Call struct {
	Waiter   Waiter // Nil: the place is free.
	number   uint16
	Of       wire.ClientID   // The end that was asked: nobody else may answer.
	Deadline time.Duration   // The call ends with Late then.
	Ctx      context.Context // The call ends with its error when it is done.
}

// Waiter is told how a call ended.
type Waiter interface {
	// Fail tells that there is no answer.
	Fail(err error)
}

// New has room for a number of open calls.
func New(limit int) Table {
	limit = min(max(limit, 1), MaxOpen)
	tell := func(w Waiter, _ wire.ClientID, err error) { w.Fail(err) }
	return Table{ring: make([]Call, 1<<bits.Len(uint(2*limit-1))), limit: limit, Tell: tell}
}

// place returns the place of a number.
func (c *Table) place(number uint16) *Call { return &c.ring[int(number)&(len(c.ring)-1)] }

// Open opens a call and gives it a number, unless too many are open.
func (c *Table) Open(call Call) (number uint16, ok bool) {
	if c.Waiting >= c.limit {
		return 0, false
	}
	for c.place(c.next).Waiter != nil {
		c.next++
	}
	call.number = c.next
	c.next++
	*c.place(call.number) = call
	c.Waiting++
	return call.number, true
}

// Take ends the call of a number that was put to this end. It says false when there is none: it was answered, given up
// or never made.
func (c *Table) Take(number uint16, from wire.ClientID) (Waiter, bool) {
	at := c.place(number)
	if at.Waiter == nil || at.number != number || at.Of != from {
		return nil, false
	}
	w := at.Waiter
	c.free(at)
	return w, true
}

// Waiter returns the function that waits for an answer of that number from that end, or nil.
func (c *Table) Waiter(number uint16, from wire.ClientID) Waiter {
	if at := c.place(number); at.Waiter != nil && at.number == number && at.Of == from {
		return at.Waiter
	}
	return nil
}

// free empties a place.
func (c *Table) free(at *Call) {
	*at = Call{}
	c.Waiting--
}

// Expire ends the calls whose deadline has come or whose context is done.
func (c *Table) Expire(now time.Duration) (late, cancelled uint64) {
	for i := range c.ring {
		at := &c.ring[i]
		if at.Waiter == nil {
			continue
		}
		err := at.Ctx.Err()
		switch {
		case err != nil:
			cancelled++
		case now >= at.Deadline:
			late++
			err = c.Late
		default:
			continue
		}
		w, of := at.Waiter, at.Of
		c.free(at)
		c.Tell(w, of, err)
	}
	return late, cancelled
}

// Drop ends the calls that were put to an end that is gone.
func (c *Table) Drop(of wire.ClientID, reason error) {
	if c.Waiting == 0 {
		return
	}
	for i := range c.ring {
		at := &c.ring[i]
		if at.Waiter != nil && at.Of == of {
			w := at.Waiter
			c.free(at)
			c.Tell(w, of, reason)
		}
	}
}

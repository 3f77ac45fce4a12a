package calls

import (
	"context"
	"math/bits"
	"time"

	"github.com/arche-netcode/netcode/wire"
)

// MaxOpen is the maximum number of open calls of one end. Numbers have 16 bits, and the table has twice as many slots.
const MaxOpen = 1 << 12

// Table stores the unanswered calls of one end by number. A number selects a slot of the ring. It is reused only after all
// others, so that a late answer finds no call.
type Table struct {
	Waiting int    // Number of unanswered calls.
	ring    []Call // Length is a power of two, at least twice the limit.
	limit   int
	next    uint16
	Late    error                                       // Error for a waiter after its deadline.
	Tell    func(w Waiter, of wire.ClientID, err error) // Reports to a waiter that there is no answer.
}

// Call is one unanswered call.
type Call struct {
	Waiter   Waiter // nil: the slot is free.
	number   uint16
	Of       wire.ClientID   // The end that was asked: only it may answer.
	Deadline time.Duration   // At this time the call ends with Late.
	Ctx      context.Context // When it is done the call ends with its error.
}

// Waiter receives the end of a call.
type Waiter interface {
	// Fail reports that there is no answer.
	Fail(err error)
}

// New returns a table for at most limit open calls.
func New(limit int) Table {
	limit = min(max(limit, 1), MaxOpen)
	tell := func(w Waiter, _ wire.ClientID, err error) { w.Fail(err) }
	return Table{ring: make([]Call, 1<<bits.Len(uint(2*limit-1))), limit: limit, Tell: tell}
}

// place returns the slot of a number.
func (c *Table) place(number uint16) *Call { return &c.ring[int(number)&(len(c.ring)-1)] }

// Open adds a call and returns its number. ok is false if too many are open.
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

// Take removes the call with a number that was sent to this end, and returns its waiter. It returns false if there is none: it
// was answered, cancelled or never made.
func (c *Table) Take(number uint16, from wire.ClientID) (Waiter, bool) {
	at := c.place(number)
	if at.Waiter == nil || at.number != number || at.Of != from {
		return nil, false
	}
	w := at.Waiter
	c.free(at)
	return w, true
}

// Waiter returns the waiter for the answer with this number from this end, or nil.
func (c *Table) Waiter(number uint16, from wire.ClientID) Waiter {
	if at := c.place(number); at.Waiter != nil && at.number == number && at.Of == from {
		return at.Waiter
	}
	return nil
}

// free empties a slot.
func (c *Table) free(at *Call) {
	*at = Call{}
	c.Waiting--
}

// Expire ends the calls whose deadline has passed or whose context is done.
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

// Drop ends the calls to an end that has disconnected.
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

package calls

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arche-netcode/netcode/wire"
)

// asker is a waiter that remembers how its call ended.
type asker struct{ ended error }

func (a *asker) Fail(err error) { a.ended = err }

// TestCallsAgainstAMap compares the ring with a map, over several rounds of the 16-bit numbers.
func TestCallsAgainstAMap(t *testing.T) {
	type open struct {
		asker    *asker
		of       wire.ClientID
		deadline time.Duration
		ctx      context.Context
	}
	done, cancel := context.WithCancel(context.Background())
	cancel()
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(1, 40).Draw(t, "limit")
		c := New(limit)
		c.Late = errLate
		c.next = uint16(rapid.IntRange(0, 1<<16-1).Draw(t, "first"))
		model := map[uint16]open{}
		now := time.Duration(0)
		for range rapid.IntRange(1, 300).Draw(t, "steps") {
			number, from := uint16(0), wire.ClientID(rapid.IntRange(0, 2).Draw(t, "from"))
			for n := range model {
				number = max(number, n)
			}
			switch rapid.IntRange(0, 5).Draw(t, "what") {
			case 0, 1:
				o := open{&asker{}, from, now + time.Duration(rapid.IntRange(1, 9).Draw(t, "within")), context.Background()}
				if rapid.IntRange(0, 9).Draw(t, "cancelled") == 0 {
					o.ctx = done
				}
				n, ok := c.Open(Call{Waiter: o.asker, Of: o.of, Deadline: o.deadline, Ctx: o.ctx})
				require.Equal(t, len(model) < limit, ok)
				if ok {
					require.NotContains(t, model, n)
					model[n] = o
				}
			case 2:
				w, ok := c.Take(number, from)
				o, there := model[number]
				require.Equal(t, there && o.of == from, ok)
				if ok {
					require.Same(t, o.asker, w)
					delete(model, number)
				}
			case 3:
				require.Equal(t, model[number].asker != nil && model[number].of == from, c.Waiter(number, from) != nil)
				_, ok := c.Take(number+40000, from)
				require.False(t, ok && model[number+40000].asker == nil)
			case 4:
				now += time.Duration(rapid.IntRange(0, 4).Draw(t, "passed"))
				c.Expire(now)
				for n, o := range model {
					if o.ctx == done {
						require.ErrorIs(t, o.asker.ended, context.Canceled)
						delete(model, n)
					} else if now >= o.deadline {
						require.ErrorIs(t, o.asker.ended, errLate)
						delete(model, n)
					}
				}
			case 5:
				c.Drop(from, errGone)
				for n, o := range model {
					if o.of == from {
						require.ErrorIs(t, o.asker.ended, errGone)
						delete(model, n)
					}
				}
			}
			require.Equal(t, len(model), c.Waiting)
			for _, o := range model {
				require.NoError(t, o.asker.ended)
			}
		}
	})
}

// A number that was used is not used again before the ring went round: a late answer finds nothing.
func TestNumbersOfCallsAreNotReusedAtOnce(t *testing.T) {
	c := New(4)
	seen := map[uint16]bool{}
	for range 1 << 16 {
		n, ok := c.Open(Call{Waiter: &asker{}, Ctx: context.Background()})
		require.True(t, ok)
		require.False(t, seen[n])
		seen[n] = true
		c.Take(n, 0)
	}
}

var errLate, errGone = errors.New("late"), errors.New("gone")

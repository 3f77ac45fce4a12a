package netcode

import (
	"github.com/arche-netcode/netcode/tick"
)

// clearEvents makes the events of a row of each type 0.
func (in *inputs) clearEvents(rows []uint32) {
	if len(rows) == 0 {
		return
	}
	for n, plan := range in.plans {
		plan.ClearEvents(in.of(rows, n))
	}
}

// noteTick makes what is set the input of a tick, the newest that begins in this frame or one before it. The newest takes
// the events, so that each is in one tick. A tick that the clock comes to again keeps the events that it had, and takes
// none: the server may have its input already, and then takes no other.
func (t *inputTail) noteTick(in *inputs, at tick.Tick, newest bool) {
	noted := &t.noted[at%inputReach]
	again := *noted == at
	takes := newest && (at > t.latest || t.latest-at > inputReach)
	for n, plan := range in.plans {
		now, row := in.of(t.now, n), t.row(in, n, at)
		if !plan.Events() {
			copy(row, now)
			continue
		}
		set := in.of(t.scratch, n)
		copy(set, now)
		if !takes {
			plan.ClearEvents(set)
		}
		if again {
			plan.MergeEvents(set, row)
		}
		copy(row, set)
		if takes {
			plan.ClearEvents(now)
		}
	}
	*noted = at
}

// lateEvents are the events of inputs that came when their tick had been simulated: the tick simulated next has them.
type lateEvents struct {
	rows []uint32  // One of each type.
	tick tick.Tick // The tick that has them.
}

// begin makes a tick the one that has late events, and forgets those of an earlier one.
func (l *lateEvents) begin(in *inputs, at tick.Tick) {
	if l.tick == at {
		return
	}
	l.tick = at
	in.clearEvents(l.rows)
}

// postpone moves the events of a tick that was simulated to another one.
func (q *inputQueue) postpone(in *inputs, late, to tick.Tick) {
	q.late.begin(in, to)
	for n, plan := range in.plans {
		if q.types[late%inputSlots]>>n&1 == 0 || !plan.Events() {
			continue
		}
		row := q.row(in, n, late)
		plan.MergeEvents(in.of(q.late.rows, n), row)
		plan.ClearEvents(row)
	}
}

// input makes the input of one type in a tick of the ticks first to at: the state is that of the newest, and the events
// are those of all. The lanes are good until the next call. It is nil where no input stands for the tick.
func (q *inputQueue) input(in *inputs, n int, first, at tick.Tick) []uint32 {
	standing := q.standing(at, n)
	if standing == tick.None {
		return nil
	}
	plan, row := in.plans[n], q.row(in, n, standing)
	if !plan.Events() {
		return row
	}
	v := in.of(q.scratch, n)
	copy(v, row)
	plan.ClearEvents(v)
	for t := max(first, at-inputReach+1); t <= at; t++ {
		if q.window.Holds(t) && q.types[t%inputSlots]>>n&1 != 0 {
			plan.MergeEvents(v, q.row(in, n, t))
		}
		if q.late.tick == t && t != tick.None {
			plan.MergeEvents(v, in.of(q.late.rows, n))
		}
	}
	return v
}

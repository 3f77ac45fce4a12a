package nats

import (
	"sync"
	"time"

	"github.com/arche-netcode/netcode/tick"
)

// item is a message that waits for a loop.
type item struct {
	kind         *kind
	from         string
	player       string
	tick, before tick.Tick
	body         []byte
	came         time.Duration
}

// inbox has the messages that wait for one loop, by stage. Goroutines of NATS push; the loop drains. Every list has a bound, and no sender has more
// than its share, so that one that floods takes nothing from the others.
type inbox struct {
	most, share int
	patience    time.Duration

	mu     sync.Mutex
	stages [tick.NumStages][]item
	by     map[string]int // Waiting messages by sender; none has an entry without one.
	count  int
	bytes  int
	ready  []item // The memory of drain.

	full, greedy, late uint64
}

func newInbox(most int, patience time.Duration) *inbox {
	return &inbox{most: most, share: max(most/4, 1), patience: patience, by: map[string]int{}}
}

// push takes a message. It returns false if there is no room.
func (b *inbox) push(it item) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.by[it.from] >= b.share:
		b.greedy++
		return false
	case b.count >= b.most || b.bytes+len(it.body) > queueBytes:
		b.full++
		return false
	}
	b.by[it.from]++
	b.count++
	b.bytes += len(it.body)
	b.stages[it.kind.stage] = append(b.stages[it.kind.stage], it)
	return true
}

// drain calls f for the messages of a stage whose tick has come, in their order. Of those that wait for a tick it drops what is too patient, or waits for a
// tick that is too far.
func (b *inbox) drain(stage tick.Stage, now tick.Tick, at time.Duration, f func(it *item)) {
	b.mu.Lock()
	all := b.stages[stage]
	if len(all) == 0 {
		b.mu.Unlock()
		return
	}
	kept, ready := all[:0], b.ready[:0]
	for _, it := range all {
		switch {
		case it.before <= now:
			ready = append(ready, it)
			b.forget(&it)
		case at-it.came > b.patience || it.before-now > farthest:
			b.late++
			b.forget(&it)
		default:
			kept = append(kept, it)
		}
	}
	clear(all[len(kept):])
	b.stages[stage], b.ready = kept, nil
	b.mu.Unlock()
	for i := range ready {
		f(&ready[i])
	}
	clear(ready)
	b.mu.Lock()
	b.ready = ready[:0]
	b.mu.Unlock()
}

// forget takes a message out of the counts. The caller holds the lock.
func (b *inbox) forget(it *item) {
	b.count--
	b.bytes -= len(it.body)
	if b.by[it.from]--; b.by[it.from] == 0 {
		delete(b.by, it.from)
	}
}

// add adds what was dropped to the statistics.
func (b *inbox) add(s *Stats) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s.Full, s.Greedy, s.Late = s.Full+b.full, s.Greedy+b.greedy, s.Late+b.late
}

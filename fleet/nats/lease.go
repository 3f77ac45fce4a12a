package nats

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

// lease is the right of a process to simulate. The keeper renews it; loops ask Held in each frame, from any goroutine. Times are on the process's own
// clock, so that no two machines need the same one. A lease is over on the monotonic clock or on the wall clock, whichever comes first: the former
// stands still while a machine sleeps.
type lease struct {
	length time.Duration

	mu    sync.Mutex
	fence uint64 // Rises with each lease of any process. 0: none.
	until moment
}

// moment is a reading of both clocks.
type moment struct{ mono, wall time.Duration }

// grant takes a lease that was asked for at a moment: it counts from the question, not from the answer.
func (l *lease) grant(asked moment, fence uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fence, l.until = fence, moment{asked.mono + l.length, asked.wall + l.length}
}

// drop gives the lease up.
func (l *lease) drop() { l.grant(moment{}, 0) }

// held returns the fence of the lease, 0 if it is over.
func (l *lease) held(now moment) uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.mono >= l.until.mono || now.wall >= l.until.wall {
		return 0
	}
	return l.fence
}

// last returns the fence of the newest lease, over or not.
func (l *lease) last() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.fence
}

// watched is the lease of another process, as this one sees it.
type watched struct {
	name     string
	revision uint64
	seen     time.Duration // When the revision came, which is not before its owner asked for it.
}

// deaths tells which leases of others are over. The owner has stopped by itself a margin earlier. A lease whose owner could not renew it since the
// directory took no writes is not over: the owner gets a grace after that.
type deaths struct {
	length, margin, grace time.Duration
	servers               map[string]*watched
	written               time.Duration // When this process last wrote to the directory.
	since                 time.Duration // When the directory began to take writes, the last time that it did.
}

// newDeaths returns the watch over leases of a length.
func newDeaths(length time.Duration) *deaths {
	return &deaths{length: length, margin: max(length/8, 100*time.Millisecond), grace: length / 2, servers: map[string]*watched{}}
}

// saw notes a revision of a lease.
func (d *deaths) saw(name string, revision uint64, now time.Duration) {
	w := d.servers[name]
	if w == nil {
		w = &watched{name: name}
		d.servers[name] = w
	}
	if revision > w.revision {
		w.revision, w.seen = revision, now
	}
}

// gone forgets a lease that its owner, or somebody else, has ended.
func (d *deaths) gone(name string) { delete(d.servers, name) }

// wrote notes that the directory took a write of this process.
func (d *deaths) wrote(now time.Duration) {
	if d.written == 0 || now-d.written > d.length/2 {
		d.since = now
	}
	d.written = now
}

// due returns the leases that are over, the oldest first. There are none while this process cannot write itself.
func (d *deaths) due(now time.Duration) (list []watched) {
	if d.written == 0 || now-d.written > d.length/2 || now-d.since < d.grace {
		return nil
	}
	for _, w := range d.servers {
		if now-w.seen >= d.length+d.margin {
			list = append(list, *w)
		}
	}
	slices.SortFunc(list, func(a, b watched) int { return cmp.Or(cmp.Compare(a.seen, b.seen), cmp.Compare(a.name, b.name)) })
	return list
}

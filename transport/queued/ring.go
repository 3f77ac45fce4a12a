package queued

import "sync"

// ring is a bounded queue of datagrams in which the newest win. One goroutine puts, another one takes.
type ring struct {
	mu    sync.Mutex
	slots [][]byte // Their memory is reused.
	first int
	n     int
	ready chan struct{} // Has a token if a datagram may wait.
}

func newRing(slots int) *ring {
	return &ring{slots: make([][]byte, slots), ready: make(chan struct{}, 1)}
}

// put copies a datagram in. It reports whether the oldest one was dropped for it.
func (r *ring) put(datagram []byte) (dropped bool) {
	r.mu.Lock()
	if r.n == len(r.slots) {
		r.first = (r.first + 1) % len(r.slots)
		r.n--
		dropped = true
	}
	slot := &r.slots[(r.first+r.n)%len(r.slots)]
	*slot = append((*slot)[:0], datagram...)
	r.n++
	r.mu.Unlock()
	select {
	case r.ready <- struct{}{}:
	default:
	}
	return dropped
}

// take copies the oldest datagram to buf, which is large enough, and returns its length; 0 if none waits.
func (r *ring) take(buf []byte) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.n == 0 {
		return 0
	}
	n := copy(buf, r.slots[r.first])
	r.first = (r.first + 1) % len(r.slots)
	r.n--
	return n
}

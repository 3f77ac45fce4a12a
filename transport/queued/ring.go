package queued

import "sync"

// ring is a bounded queue that drops the oldest datagram. One goroutine calls put, another one take.
type ring struct {
	mu    sync.Mutex
	slots [][]byte // Reused memory.
	first int
	n     int
	ready chan struct{} // Has a token if a datagram may be waiting.
}

func newRing(slots int) *ring {
	return &ring{slots: make([][]byte, slots), ready: make(chan struct{}, 1)}
}

// put adds a copy of the datagram. It reports whether it dropped the oldest one.
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

// take copies the oldest datagram to buf, which must be large enough. It returns the size, 0 if none is waiting.
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

package tick

// Ring keeps one value for each of the newest ticks. Its memory is fixed: the value of a tick lies in
// the slot of its low bits, and a newer tick takes the slot over, with whatever the old value holds, so
// that slices inside it can be reused.
type Ring[T any] struct {
	slots  []slot[T]
	newest Tick
}

// slot is one place of a Ring; tick None means that nothing was put there.
type slot[T any] struct {
	tick  Tick
	value T
}

// NewRing returns a ring for the newest size ticks; size is rounded up to a power of two, at least 1.
func NewRing[T any](size int) Ring[T] {
	n := 1
	for n < size {
		n <<= 1
	}
	return Ring[T]{slots: make([]slot[T], n)}
}

// Len returns how many of the newest ticks the ring can hold.
func (r *Ring[T]) Len() int { return len(r.slots) }

// Newest returns the newest tick that was put; None when there is none.
func (r *Ring[T]) Newest() Tick { return r.newest }

// Put returns the place for t, which from now on is found by Get. A place taken over from an older tick
// still holds that one's value: the caller overwrites it. Put returns nil for a tick that is already
// too old to be held, and for one below 1.
func (r *Ring[T]) Put(t Tick) *T {
	if t <= None || r.newest-t >= Tick(len(r.slots)) {
		return nil
	}
	r.newest = max(r.newest, t)
	s := &r.slots[int(t)&(len(r.slots)-1)]
	s.tick = t
	return &s.value
}

// Get returns the value that was put for t, if t is among the newest Len ticks.
func (r *Ring[T]) Get(t Tick) (*T, bool) {
	if t <= None || r.newest-t >= Tick(len(r.slots)) {
		return nil, false
	}
	s := &r.slots[int(t)&(len(r.slots)-1)]
	if s.tick != t {
		return nil, false
	}
	return &s.value, true
}

package netecs

import "github.com/mlange-42/arche/ecs"

// handle is an entity of this world by its two numbers, as it stands in memory:
// it may be dead, or never have been given out. Number 0 is nil.
type handle struct{ number, generation uint32 }

// handleOf is the handle of an entity, nil for the zero entity.
func handleOf(e ecs.Entity) handle {
	if e.IsZero() {
		return handle{}
	}
	return handle{e.ID(), e.Generation()}
}

// links remembers which handle each of many fields holds, and finds all fields
// that hold one of an entity number. A field is a small number that the caller
// gives a meaning.
//
// Fields hang in lists by the low bits of the entity number, so that numbers
// that game code made up cost no more than others.
type links struct {
	held   []handle
	next   []int32 // by field: 1 + the next field of the list, 0 at its end
	before []int32 // by field: 1 + the field before, or minus (1 + list) at its start
	heads  []int32 // by list: 1 + its first field; a power of two of them
	count  int     // fields that are not nil
}

// get is the handle of a field.
func (l *links) get(field int) handle {
	if field >= len(l.held) {
		return handle{}
	}
	return l.held[field]
}

// set gives a field another handle.
func (l *links) set(field int, h handle) {
	if h.number == 0 {
		h = handle{}
	}
	if l.get(field) == h {
		return
	}
	l.held = extended(l.held, field)
	l.next = extended(l.next, field)
	l.before = extended(l.before, field)
	if l.held[field].number != 0 {
		l.unlink(field)
	}
	l.held[field] = handle{}
	if l.count == len(l.heads) {
		l.grow()
	}
	l.held[field] = h
	if h.number != 0 {
		l.link(field)
	}
}

func (l *links) link(field int) {
	l.count++
	list := l.list(l.held[field].number)
	first := l.heads[list]
	l.next[field], l.before[field] = first, int32(-1-list)
	if first != 0 {
		l.before[first-1] = int32(field + 1)
	}
	l.heads[list] = int32(field + 1)
}

func (l *links) unlink(field int) {
	l.count--
	next, before := l.next[field], l.before[field]
	if next != 0 {
		l.before[next-1] = before
	}
	if before > 0 {
		l.next[before-1] = next
	} else {
		l.heads[-1-before] = next
	}
}

// grow doubles the lists and hangs every field into its new one.
func (l *links) grow() {
	l.heads = make([]int32, max(64, 2*len(l.heads)))
	l.count = 0
	for field := range l.held {
		if l.held[field].number != 0 {
			l.link(field)
		}
	}
}

func (l *links) list(number uint32) int { return int(number) & (len(l.heads) - 1) }

// first is a field whose handle has the number, -1 when there is none. The
// rest follows by after, in no particular order; nothing may be set meanwhile.
func (l *links) first(number uint32) int {
	if l.count == 0 || number == 0 {
		return -1
	}
	return l.match(l.heads[l.list(number)], number)
}

// after is the next field with the same number as this one, or -1.
func (l *links) after(field int) int { return l.match(l.next[field], l.held[field].number) }

func (l *links) match(at int32, number uint32) int {
	for at != 0 && l.held[at-1].number != number {
		at = l.next[at-1]
	}
	return int(at) - 1
}

// clear makes every field nil, keeping the memory.
func (l *links) clear() {
	clear(l.held)
	clear(l.heads)
	l.count = 0
}

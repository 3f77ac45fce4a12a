package snapshot

import (
	"math/bits"

	"github.com/arche-netcode/netcode/tick"
)

// Entities that move together are sent together, and acknowledged together:
// then their slots say the same, but for the rows, which do not change. A cohort
// is such entities of one View, what they have in common kept once, and one bit
// for each. What is sent of 64 of them, or acknowledged, is one operation, and so
// is the question whether another client leans on the same.
//
// For a member, slots has only its mask, which is that of its present rows as
// this client sees them: they have not changed since T. Whatever cannot be said
// of all takes a member out, so that nothing but time depends on who is in one.
type cohort struct {
	commonSlot
	of bitset
	n  int // members
}

// commonSlot is what members have in common: a slot without its mask, and when the
// newest record went out.
type commonSlot struct {
	base              tick.Tick
	went              tick.Tick
	lean, near, after uint16
}

// cohorts are those of a View.
type cohorts struct {
	any  bitset // members of any
	all  [maxCohorts]cohort
	used int // those before it may have members
	last int // where one was moved to last: more are likely to follow
	// next is the tick before which none is made, after one that was of no use.
	next  tick.Tick
	pause tick.Tick // how many ticks were waited then
	least int       // so many make one
}

const (
	// maxCohorts is how many states a View keeps once. Those that move are of one
	// or two in each round trip; what stopped moving stays behind.
	maxCohorts = 8
	// freeCohorts are kept free for the states to come.
	freeCohorts = 2
	// leastCohort is how many make one: below it costs more than it saves.
	leastCohort = 16
	// longestCohortPause is in ticks.
	longestCohortPause = 31
)

// grow follows the store's indexes.
func (g *cohorts) grow(n int) {
	g.any = g.any.grownTo(n)
	for i := range g.all {
		g.all[i].of = g.all[i].of.grownTo(n)
	}
}

// find is the cohort of a member.
func (g *cohorts) find(index uint32) *cohort {
	for i := range g.all[:g.used] {
		if c := &g.all[i]; c.n > 0 && c.of.has(index) {
			return c
		}
	}
	panic("snapshot: a member of no cohort")
}

// slot is what is known of an index, once the newest commit was observed: then a
// member's mask is that of its rows, and no slot is looked at: it is put together in
// room. It is not to be changed.
func (v *View) slot(index uint32, room *slot) *slot {
	if !v.cohorts.any.has(index) {
		return &v.slots[index]
	}
	c := v.cohorts.find(index)
	// Field by field: what is put together elsewhere and copied would wait for its own writes.
	room.base, room.mask = c.base, v.maskOf(index)
	room.lean, room.near, room.after = c.lean, c.near, c.after
	return room
}

// base is T of an index.
func (v *View) base(index uint32) tick.Tick {
	if v.cohorts.any.has(index) {
		return v.cohorts.find(index).base
	}
	return v.slots[index].base
}

// wentAt is when the newest record or despawn of an index went out.
func (v *View) wentAt(index uint32) tick.Tick {
	if v.cohorts.any.has(index) {
		return v.cohorts.find(index).went
	}
	return v.went[index]
}

// alone is the slot of an index that from now on has one of its own, to be
// changed.
func (v *View) alone(index uint32) *slot {
	q := &v.slots[index]
	if g := &v.cohorts; g.any.has(index) {
		c := g.find(index)
		c.of.unset(index)
		g.any.unset(index)
		c.n--
		q.base, q.lean, q.near, q.after = c.base, c.lean, c.near, c.after
		v.went[index] = c.went
	}
	return q
}

// goes takes in that a record goes out at tick t.
func (q *commonSlot) goes(t tick.Tick) {
	if q.went <= q.base {
		q.after = uint16(min(t-q.base, maxSpan))
	}
	q.went = t
}

// to is the cohort of a state, -1 where there is no room for one.
func (g *cohorts) to(s *commonSlot) int {
	if c := &g.all[g.last]; c.n > 0 && c.commonSlot == *s {
		return g.last
	}
	free := -1
	for i := range g.all {
		switch c := &g.all[i]; {
		case c.n == 0:
			if free < 0 {
				free = i
			}
		case c.commonSlot == *s:
			g.last = i
			return i
		}
	}
	if free >= 0 {
		g.all[free].commonSlot = *s
		g.last, g.used = free, max(g.used, free+1)
	}
	return free
}

// moves is who is to be moved by what went out, or was acknowledged, at a tick.
type moves struct {
	tick   tick.Tick
	proves bool   // it was acknowledged,
	span   uint16 // and leant on what lies so far back
	words  []wordOf
	n      int      // of how many entities they are
	rest   []uint64 // of each word, those that are not moved
	alone  uint64   // all of rest in one
}

// change is what becomes of a state. It says false where that is not the same for
// all.
func (m *moves) change(s *commonSlot) bool {
	switch near := m.tick - s.base; {
	case !m.proves:
		s.goes(m.tick)
		return true
	case near <= 0:
		return false // it came late
	case near <= mostNear:
		s.near = uint16(near)
	default:
		s.near = 0
	}
	s.base, s.lean, s.after = m.tick, m.span, 0
	return true
}

// move gives members another state, a cohort at a time, those of words that are
// any. Most often all are of one, and the others are not looked through.
func (g *cohorts) move(m *moves) {
	left := m.n
	for i := 0; i < g.used && left > 0; i++ {
		c := &g.all[i]
		s := c.commonSlot
		switch {
		case c.n == 0 || !m.proves && c.went == m.tick: // of those that went out already nothing goes again
			continue
		case !m.change(&s):
			continue
		case c.n <= left && g.moveAll(c, &s, m):
			left -= c.n
			continue
		}
		var d *cohort
		moved := 0
		for k, w := range m.words {
			members := c.of[w.word] & m.rest[k]
			if members == 0 {
				continue
			}
			if d == nil {
				to := g.to(&s)
				if to < 0 {
					break // no room
				}
				d = &g.all[to]
			}
			m.rest[k] &^= members
			moved += bits.OnesCount64(members)
			c.of[w.word] &^= members
			d.of[w.word] |= members
		}
		if left -= moved; moved > 0 {
			c.n -= moved
			d.n += moved
		}
	}
	if left == 0 {
		return
	}
	for _, rest := range m.rest {
		m.alone |= rest
	}
}

// moveAll gives a cohort another state if all its members are to have it, and no
// other cohort has it: who is in it is then not looked at again.
func (g *cohorts) moveAll(c *cohort, s *commonSlot, m *moves) bool {
	if c.commonSlot != *s && g.has(s) {
		return false
	}
	n := 0
	for k := range m.words {
		n += bits.OnesCount64(c.of[m.words[k].word] & m.rest[k])
	}
	if n < c.n {
		return false
	}
	c.commonSlot = *s
	for k := range m.words {
		m.rest[k] &^= c.of[m.words[k].word]
	}
	return true
}

// together moves as many as are members.
func (v *View) together(m *moves) {
	n := len(m.words)
	v.rest = room(v.rest[:0], n, usualList)[:n]
	for i := range m.words {
		v.rest[i] = m.words[i].of
	}
	m.rest, m.alone = v.rest, 0
	v.cohorts.move(m)
}

// goFrom takes in that records of these n went out, all of which are of one cohort.
// It says false, and does nothing, where there is no room for their state.
func (g *cohorts) goFrom(c *cohort, words []wordOf, n int, t tick.Tick) bool {
	s := c.commonSlot
	s.goes(t)
	if c.n == n && !g.has(&s) {
		c.commonSlot = s
		return true
	}
	to := g.to(&s)
	if to < 0 {
		return false
	}
	d := &g.all[to]
	for k := range words {
		w := &words[k]
		c.of[w.word] &^= w.of
		d.of[w.word] |= w.of
	}
	c.n -= n
	d.n += n
	return true
}

// has reports whether any cohort is of a state.
func (g *cohorts) has(s *commonSlot) bool {
	for i := range g.all[:g.used] {
		if c := &g.all[i]; c.n > 0 && c.commonSlot == *s {
			return true
		}
	}
	return false
}

// goTogether takes in that records of these n went out, of members at once.
func (v *View) goTogether(words []wordOf, n int, t tick.Tick) {
	m := moves{tick: t, words: words, n: n, alone: 1}
	if v.cohorts.used > 0 {
		v.together(&m)
	}
	for k := 0; m.alone != 0 && k < len(words); k++ {
		w := words[k]
		rest := w.of
		if len(m.rest) > 0 {
			rest = m.rest[k]
		}
		for ; rest != 0; rest &= rest - 1 {
			v.goesAlone(w.word<<6+uint32(bits.TrailingZeros64(rest)), t)
		}
	}
}

// proveTogether takes in an acknowledged record of each of these n, for members at
// once. Whose it is not for all to take in, since it came late, is left in rest.
func (v *View) proveTogether(words []wordOf, n int, t tick.Tick, span uint16) moves {
	m := moves{tick: t, words: words, n: n, proves: true, span: span}
	v.together(&m)
	for k, w := range words {
		if of := w.of &^ m.rest[k]; of != 0 {
			v.confirmWord(w.word, of, t)
		}
	}
	return m
}

// confirmWord notes of which of a word the client has the newest there is,
// having one of tick t.
func (v *View) confirmWord(w uint32, of uint64, t tick.Tick) {
	s := v.store
	if v.ties.n > 0 {
		v.ties.untieWord(w, of, t)
	}
	own := len(v.author.newest) > 0
	if t < s.tick && !own {
		of &^= s.changed[w] // what moved now has a newer one
	}
	if t < s.tick || own || len(v.own.touched) > 0 {
		for word := of; word != 0; word &= word - 1 {
			if bit := word & -word; v.moved(w<<6+uint32(bits.TrailingZeros64(bit))) > t {
				of &^= bit
			}
		}
	}
	v.unacked[w] &^= of
	v.unsent[w] &^= of
}

// join makes an index a member of the cohort that others were moved to last, if
// its slot is of that state.
func (v *View) join(index uint32) {
	g := &v.cohorts
	c, q := &g.all[g.last], &v.slots[index]
	if q.base != c.base || q.near != c.near || q.lean != c.lean || q.after != c.after || v.went[index] != c.went ||
		v.store.shape[index] > q.base || v.touchedAt(index) > q.base {
		return
	}
	c.of.set(index)
	g.any.set(index)
	c.n++
}

// gather makes a cohort of entities whose slots are of one state, if they are
// enough. They were in a packet of which others carried the same: who shares
// nothing is as well off without.
func (v *View) gather(a *alike, t tick.Tick) {
	g := &v.cohorts
	if v.store.tick < g.next {
		return
	}
	apart := func(index uint32) bool { return v.slots[index].base == t && !g.any.has(index) }
	first := len(a.entries) / 2 // those at the end joined the list last, and differ
	for ; first < len(a.entries) && !apart(a.entries[first].index); first++ {
	}
	if first == len(a.entries) {
		return
	}
	index := a.entries[first].index
	q := &v.slots[index]
	at := g.to(&commonSlot{base: q.base, went: v.went[index], lean: q.lean, near: q.near, after: q.after})
	if at < 0 {
		return
	}
	c := &g.all[at]
	g.last = at
	for i := range a.entries {
		if index := a.entries[i].index; apart(index) {
			v.join(index)
		}
	}
	if c.n < g.least {
		v.dissolve(c)
		g.wait(v.store.tick)
	}
}

// wait lets some ticks pass until the next one is made.
func (g *cohorts) wait(now tick.Tick) {
	g.pause = min(2*g.pause+1, longestCohortPause)
	g.next = now + 1 + g.pause
}

// dissolve makes members alone.
func (v *View) dissolve(c *cohort) {
	for w := range c.of {
		for word := c.of[w]; word != 0; word &= word - 1 {
			v.alone(uint32(w<<6 + bits.TrailingZeros64(word)))
		}
	}
}

// makeRoom dissolves the smallest cohorts until some are free.
func (v *View) makeRoom() {
	g := &v.cohorts
	for g.used > 0 && g.all[g.used-1].n == 0 {
		g.used--
	}
	for g.used > maxCohorts-freeCohorts {
		free := maxCohorts - g.used
		smallest := &g.all[0]
		for i := range g.all[:g.used] {
			switch c := &g.all[i]; {
			case c.n == 0:
				free++
			case smallest.n == 0 || c.n < smallest.n:
				smallest = c
			}
		}
		if free >= freeCohorts {
			return
		}
		if smallest.n >= g.least {
			g.wait(v.store.tick)
		}
		v.dissolve(smallest)
	}
}

// scatter makes all members alone.
func (v *View) scatter() {
	for i := range v.cohorts.all {
		if c := &v.cohorts.all[i]; c.n > 0 {
			v.dissolve(c)
		}
	}
}

package snapshot

import "math/bits"

// leaning is the cohorts of a View whose members lean on what most records of a
// list lean on.
type leaning struct {
	all [maxCohorts]*cohort
	n   int
}

// leanAlike is those cohorts. Their rows are those of their records, if they are what
// everybody sees.
func (p *packetWriter) leanAlike(m *sharedList) (alike leaning) {
	g := &p.v.cohorts
	for i := range g.all[:g.used] {
		c := &g.all[i]
		q := slot{base: c.base, lean: c.lean, near: c.near}
		if c.n > 0 && c.base == p.listed && c.went != p.s && p.before(&q) == m.lean {
			alike.all[alike.n] = c
			alike.n++
		}
	}
	return alike
}

// without is which of the waiting of a word are not such members, whose records
// lean on that.
func (l *leaning) without(a *wordWaits) uint64 {
	even := a.even
	for _, c := range l.all[:l.n] {
		even &^= c.of[a.word]
	}
	return even | a.wait&^a.even
}

// waitAlike reports whether those of a list wait that waited when it was kept, and which
// of these are no such members.
func (p *packetWriter) waitAlike(m *sharedList, c *listMark, alike *leaning) (same bool, alone uint64) {
	v := p.v
	if alike.n != 1 || v.owes {
		for i := range c.waits {
			a := c.waitsOf(m, i)
			waits := v.unsent[a.word] & a.asked
			if v.owes {
				waits &^= v.owed[a.word]
			}
			if waits != a.wait {
				return false, 0
			}
			alone |= alike.without(a)
		}
		return true, alone
	}
	unsent, of := v.unsent, alike.all[0].of[:len(v.unsent)]
	waits := m.waits[:c.waits-1]
	for i := range waits { // without a branch but that of the first that differs
		a := &waits[i]
		if unsent[a.word]&a.asked != a.wait {
			return false, 0
		}
		alone |= a.wait &^ (a.even & of[a.word])
	}
	a := &c.wait
	return unsent[a.word]&a.asked == a.wait, alone | a.wait&^(a.even&of[a.word])
}

// eachComesTo asks one by one whether a record of those that are not alike leans
// on the same for this client.
func (p *packetWriter) eachComesTo(m *sharedList, c *listMark, alike *leaning) bool {
	var room slot
	v, at, uneven := p.v, 0, 0
	for i := range c.waits {
		a := c.waitsOf(m, i)
		n := bits.OnesCount64(a.wait)
		if alone := alike.without(a); alone != 0 {
			others := m.uneven[uneven:]
			for k := at; k < at+n; k++ {
				e, lean := &m.entries[k], m.lean
				if a.even>>(e.index&63)&1 == 0 {
					lean, others = others[0], others[1:]
				}
				if alone>>(e.index&63)&1 == 0 {
					continue
				}
				q := v.slot(e.index, &room)
				if q.base != p.listed || q.mask != e.mask || p.before(q) != lean || v.wentAt(e.index) == p.s {
					return false
				}
			}
		}
		at += n
		uneven += bits.OnesCount64(a.wait &^ a.even)
	}
	return true
}

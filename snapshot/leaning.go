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

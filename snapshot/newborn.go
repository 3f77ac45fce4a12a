package snapshot

import "github.com/arche-netcode/netcode/tick"

// newborn is what the newest commit made visible. Game code may hide it before anything is sent, and then it has to be as if it had
// never been there: rows that name it said nothing else for a moment, and what had been owed at its index is owed as before. So what
// follows from a birth is taken in once it is certain: before packets are planned or written, and before anything is heard of earlier ones.
type newborn struct {
	list  []uint32  // indexes of them
	of    bitset    // of these, who may still be hidden like that
	heirs bitset    // of these, those before whom somebody's despawn was owed
	idle  bitset    // of these, those whose despawn was on its way
	at    tick.Tick // when they were born
}

// birth is show for what is new in the newest commit.
func (v *View) birth(index uint32) {
	n := &v.newborn
	n.of, n.heirs, n.idle = n.of.grownTo(len(v.slots)), n.heirs.grownTo(len(v.slots)), n.idle.grownTo(len(v.slots))
	n.list, n.at = append(n.list, index), v.store.tick
	n.of.set(index)
	if v.owed.has(index) {
		if n.heirs.set(index); !v.unsent.has(index) {
			n.idle.set(index)
		}
	}
	v.sights++
}

// born takes in what follows from the births of the newest commit: who was not hidden meanwhile is named by those that name it.
func (v *View) born() {
	if len(v.newborn.list) > 0 {
		v.bornAll()
	}
}

// bornAll is born where there are any.
func (v *View) bornAll() {
	n := &v.newborn
	for _, index := range n.list {
		if n.of.has(index) {
			n.of.unset(index)
			v.rename(index, n.at)
		}
		n.heirs.unset(index)
		n.idle.unset(index)
	}
	n.list = n.list[:0]
}

// unborn takes out of sight what was born in the newest commit, if nothing has followed from that.
func (v *View) unborn(index uint32) bool {
	n := &v.newborn
	if !n.of.has(index) {
		return false
	}
	n.of.unset(index)
	v.visible.unset(index)
	p := &v.tenants[index]
	p.began, p.left = p.life, n.at
	p.life = n.at + 1
	v.sights++
	if n.heirs.has(index) {
		v.owed.set(index)
		v.owes = true
	}
	if !n.heirs.has(index) || n.idle.has(index) {
		v.unsent.unset(index)
	}
	return true
}

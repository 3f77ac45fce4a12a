package snapshot

import "math/bits"

// groupSet is the groups of a unit, each once, in the order in which they came. A
// unit may have as many groups as the game has, where entities went from one to
// the next and nothing was acknowledged meanwhile.
type groupSet struct {
	list  []uint32
	slots []groupSlot // a power of two, at least twice as many as the list has; nothing as long as that is short
	round uint32      // in which a slot is taken
}

type groupSlot struct{ group, round uint32 }

// shortList is how many groups are rather gone through than looked up.
const shortList = 16

func (g *groupSet) clear() {
	g.list = g.list[:0]
	if g.round++; g.round == 0 { // gone around
		clear(g.slots)
		g.round = 1
	}
}

// add puts a group in, unless it is there.
func (g *groupSet) add(group uint32) {
	if len(g.list) < shortList {
		for _, other := range g.list {
			if other == group {
				return
			}
		}
		if g.list = append(g.list, group); len(g.list) == shortList {
			g.lookUp()
		}
		return
	}
	if !g.take(group) {
		return
	}
	if g.list = append(g.list, group); 2*len(g.list) > len(g.slots) {
		g.lookUp()
	}
}

// lookUp makes all of the list be found, with room for as many again.
func (g *groupSet) lookUp() {
	if need := 4 * len(g.list); len(g.slots) < need {
		size := 4 * shortList
		for size < need {
			size *= 2
		}
		g.slots = make([]groupSlot, size)
		g.round = 1
	}
	for _, group := range g.list {
		g.take(group)
	}
}

// take takes the slot of a group, and reports whether it was free.
func (g *groupSet) take(group uint32) bool {
	mask := uint32(len(g.slots) - 1)
	for at := group * 0x9E3779B1 >> (33 - bits.Len(uint(len(g.slots)))); ; at = (at + 1) & mask { // the golden ratio's upper bits: numbers are often alike in some of theirs
		switch s := &g.slots[at]; {
		case s.round != g.round:
			*s = groupSlot{group, g.round}
			return true
		case s.group == group:
			return false
		}
	}
}

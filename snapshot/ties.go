package snapshot

import (
	"math/bits"

	"github.com/arche-netcode/netcode/tick"
)

// ties say of what a client lacks that it belongs to a group in which it is no
// more: of entities that died or were hidden there, and of those that went on to
// another group or to none. A tie lasts until a packet that carried the entity is
// acknowledged, since the same packet carried what was lacking of the group.
// docs/adr/0018.
type ties struct {
	n     int // there are; with none, nothing else here is looked at
	nodes []tie
	free  int32   // the first of those that are free, by next
	first []int32 // by index: its ties
	heads []int32 // by group modulo the length, a power of two: the ties of such groups
	parcel
}

// tie is one index and one group. The zeroth is none.
type tie struct {
	index, group     uint32
	at               tick.Tick // since when
	next             int32     // the next one of the index
	before, follower int32     // of the same head
}

// tiesEach is how many ties there may be for each index on average.
const tiesEach = 2

// has reports whether an index is tied to any group.
func (t *ties) has(index uint32) bool { return int(index) < len(t.first) && t.first[index] != 0 }

// tie ties an index to a group from a tick on. Where it is already, the tie
// lasts from then on. It says false when there is no room.
func (t *ties) tie(index, group uint32, at tick.Tick) bool {
	t.changes++
	for n := t.first[index]; n != 0; n = t.nodes[n].next {
		if t.nodes[n].group == group {
			t.nodes[n].at = max(t.nodes[n].at, at)
			return true
		}
	}
	n := t.free
	switch {
	case n != 0:
		t.free = t.nodes[n].next
	case len(t.nodes) > tiesEach*len(t.first):
		return false
	default:
		n = int32(len(t.nodes))
		t.nodes = append(t.nodes, tie{})
	}
	t.nodes[n] = tie{index: index, group: group, at: at, next: t.first[index]}
	t.first[index] = n
	t.lead(n)
	t.n++
	return true
}

// lead puts a tie before the others of its head.
func (t *ties) lead(n int32) {
	head := &t.heads[t.nodes[n].group&uint32(len(t.heads)-1)]
	t.nodes[n].before, t.nodes[n].follower = 0, *head
	if *head != 0 {
		t.nodes[*head].before = n
	}
	*head = n
}

// untie ends the ties that an index has had at a tick.
func (t *ties) untie(index uint32, at tick.Tick) {
	if !t.has(index) {
		return
	}
	t.changes++
	for from := &t.first[index]; *from != 0; {
		n := *from
		d := &t.nodes[n]
		if d.at > at {
			from = &d.next
			continue
		}
		*from = d.next
		if d.before == 0 {
			t.heads[d.group&uint32(len(t.heads)-1)] = d.follower
		} else {
			t.nodes[d.before].follower = d.follower
		}
		if d.follower != 0 {
			t.nodes[d.follower].before = d.before
		}
		d.next, t.free = t.free, n
		t.n--
	}
}

// grow makes room for the ties of n indexes, room for how many there may be.
func (t *ties) grow(n, room int) {
	if len(t.nodes) == 0 {
		t.nodes = append(t.nodes, tie{})
	}
	t.first = grown(t.first, n, room)
	t.marked, t.mine, t.parting = t.marked.grownTo(n), t.mine.grownTo(n), t.parting.grownTo(n)
	if n <= len(t.heads) {
		return
	}
	size := 64
	for size < n {
		size *= 2
	}
	t.heads = make([]int32, size)
	for index := range t.first {
		for n := t.first[index]; n != 0; n = t.nodes[n].next {
			t.lead(n)
		}
	}
}

// bind ties an index to the group that it was in before tick t, of which it is
// as it will be shown. It ties nothing where there was none.
func (v *View) bind(index uint32, t tick.Tick) {
	group := v.groupBefore(index, t)
	if group == 0 {
		return
	}
	if len(v.ties.first) < len(v.slots) {
		v.ties.grow(len(v.slots), cap(v.slots))
	}
	if !v.ties.tie(index, group, t) {
		v.stats.TornGroups++
	}
}

// left ties those that have left a group in the newest commit, as far as the
// client lacks something of them.
func (v *View) left() {
	for _, index := range v.store.groups.left {
		if v.visible.has(index) && v.moved(index) > v.base(index) {
			v.bind(index, v.store.tick)
		}
	}
}

// untieWord is untie of the ties for some of a word, of which a packet of tick t
// was acknowledged.
func (t *ties) untieWord(w uint32, of uint64, at tick.Tick) {
	for ; of != 0; of &= of - 1 {
		t.untie(w<<6+uint32(bits.TrailingZeros64(of)), at)
	}
}

// untie ends all ties of an index.
func (v *View) untie(index uint32) {
	if v.ties.n > 0 {
		v.ties.untie(index, v.store.tick+1)
	}
}

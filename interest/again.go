package interest

import "github.com/arche-netcode/netcode/wire"

// Again collects the entities about which a policy is to be asked again for a client.
type Again struct {
	list   []uint32 // network indexes
	has    set      // those in list
	seen   []wire.ClientID
	blind  blindness
	banded bool // an interest.Bands is part of the policy
}

// blindness tells whether a client sees nothing for want of a viewpoint.
type blindness uint8

const (
	looks  blindness = iota // it has a viewpoint, or needs none
	blind                   // it has none
	astray                  // it follows an entity that never had a position
)

// Add adds the entity at a network index. It may be dead.
func (a *Again) Add(index uint32) {
	if !a.has.has(index) {
		a.has.add(index)
		a.list = append(a.list, index)
	}
}

// Seen adds all entities that a client sees now.
func (a *Again) Seen(client wire.ClientID) { a.seen = append(a.seen, client) }

func (a *Again) reset() {
	for _, index := range a.list {
		a.has[index>>6] = 0
	}
	a.list, a.seen, a.blind, a.banded = a.list[:0], a.seen[:0], looks, false
}

// recent lists what changed since the last network tick but one: what changes after one client was asked in a tick is told in the next.
type recent struct {
	list []uint32
	old  int // the first so many were listed before the newest turn
}

func (r *recent) add(index uint32) { r.list = append(r.list, index) }

// turn begins a network tick.
func (r *recent) turn() {
	r.list = r.list[:copy(r.list, r.list[r.old:])]
	r.old = len(r.list)
}

func (r *recent) addTo(again *Again) {
	for _, index := range r.list {
		again.Add(index)
	}
}

// set is a set of network indexes: bit i of word w is index 64w+i.
type set []uint64

func (s set) has(index uint32) bool {
	w := int(index >> 6)
	return w < len(s) && s[w]>>(index&63)&1 != 0
}

// add adds an index. The set grows if needed.
func (s *set) add(index uint32) {
	if w := int(index >> 6); w >= len(*s) {
		*s = append(*s, make(set, w+1-len(*s))...)
	}
	(*s)[index>>6] |= 1 << (index & 63)
}

func (s set) remove(index uint32) {
	if s.has(index) {
		s[index>>6] &^= 1 << (index & 63)
	}
}

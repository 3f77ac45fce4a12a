package hosts

import "net/netip"

// Table counts by host what is bounded, such as sessions. When there is no more of it, Worst returns the one that makes
// room: the newest, or the oldest, of the host with the most. No call looks at all of them. An address without a limit has a load of 0, and
// what it has weighs as much as the only one of a host.
type Table[T any] struct {
	Counts        // Of all, with those that stay.
	oldest bool   // The oldest makes room.
	n      int    // Number of all.
	looked uint64 // Groups and loads that were looked at, for tests.
	groups map[netip.Prefix]*group[T]
	spare  []*group[T]       // Groups of none, to use again.
	all    ring[Held[T]]     // Those that may end, in order.
	ranks  []*ring[group[T]] // The groups by their load.
	top    int               // The highest load with a group.
}

// Held is one of a Table.
type Held[T any] struct {
	Of   T // The owner's.
	host Host
	all  ring[Held[T]]    // Its place in the table; alone while it stays.
	in   [3]ring[Held[T]] // Its places in the groups of its host and networks.
}

// group is those of a host or network that may end, in order.
type group[T any] struct {
	all  ring[Held[T]]
	rank ring[group[T]] // Its place among those with the same load.
}

// NewTable returns an empty table in which the oldest of a host makes room, or the newest.
func NewTable[T any](oldest bool) *Table[T] {
	return &Table[T]{Counts: Counts{}, oldest: oldest, groups: map[netip.Prefix]*group[T]{}, ranks: []*ring[group[T]]{{}}}
}

// Len returns the number of all.
func (t *Table[T]) Len() int { return t.n }

// LoadOf returns the load of the host behind an address, as Counts.Load does.
func (t *Table[T]) LoadOf(ip netip.Addr) int {
	host, _ := Of(ip)
	return t.Counts.Load(host)
}

// Add adds one of an address.
func (t *Table[T]) Add(ip netip.Addr, of T) *Held[T] {
	h := &Held[T]{Of: of}
	h.host, _ = Of(ip)
	t.n++
	t.Counts.Add(h.host, 1)
	t.Keep(h, false)
	return h
}

// Remove removes one, once.
func (t *Table[T]) Remove(h *Held[T]) {
	t.n--
	t.Counts.Add(h.host, -1)
	t.Keep(h, true)
	h.host.levels(t.order) // Also if it stayed: the load of its host has changed.
}

// Keep tells whether one stays whoever comes. One that stays no more counts as new.
func (t *Table[T]) Keep(h *Held[T], stays bool) {
	if stays == h.all.alone() {
		return
	}
	if h.all.leave(); !stays {
		t.all.add(&h.all, h)
	}
	level := 0
	h.host.levels(func(p netip.Prefix, share int) {
		if h.in[level].leave(); !stays {
			t.groupOf(p).all.add(&h.in[level], h)
		}
		t.order(p, share)
		level++
	})
}

// groupOf returns the group of a host or network, a new one if there is none.
func (t *Table[T]) groupOf(p netip.Prefix) *group[T] {
	g := t.groups[p]
	if n := len(t.spare); g == nil && n > 0 {
		g, t.spare = t.spare[n-1], t.spare[:n-1]
	} else if g == nil {
		g = &group[T]{}
	}
	t.groups[p] = g
	return g
}

// order puts a group behind those of the same load.
func (t *Table[T]) order(p netip.Prefix, share int) {
	g := t.groups[p]
	if g == nil {
		return
	}
	if g.rank.leave(); g.all.alone() {
		delete(t.groups, p)
		t.spare = append(t.spare, g)
	} else {
		load := t.Counts[p] / share
		for ; len(t.ranks) <= load; t.looked++ {
			t.ranks = append(t.ranks, &ring[group[T]]{})
		}
		t.ranks[load].add(&g.rank, g)
		t.top, t.looked = max(t.top, load), t.looked+1
	}
	for ; t.top > 0 && t.ranks[t.top].alone(); t.top-- {
		t.looked++
	}
}

// Worst returns the one that makes room, of the host or network with the highest load; nil if none above a load may end. Where none has
// more than one it is the first of all.
func (t *Table[T]) Worst(above int) *Held[T] {
	switch {
	case t.all.alone() || max(t.top, 1) <= above:
		return nil
	case t.top <= 1:
		return t.all.end(t.oldest)
	}
	return t.ranks[t.top].end(t.oldest).all.end(t.oldest)
}

// WorstNear returns the one of the widest network around the host of an address that makes room, nil if there is none.
func (t *Table[T]) WorstNear(ip netip.Addr) *Held[T] {
	host, _ := Of(ip)
	if g := t.groups[host.Network()]; g != nil {
		return g.all.end(t.oldest)
	}
	return nil
}

// ring is a place in a list, or the list itself.
type ring[T any] struct {
	before, after *ring[T]
	of            *T
}

// alone reports whether a list is empty, or a place in none.
func (r *ring[T]) alone() bool { return r.after == nil || r.after == r }

// add adds a place at the end of a list.
func (r *ring[T]) add(at *ring[T], of *T) {
	if r.after == nil {
		r.before, r.after = r, r
	}
	at.before, at.after, at.of = r.before, r, of
	r.before.after, r.before = at, at
}

// leave takes a place out of its list.
func (r *ring[T]) leave() {
	if r.after != nil {
		r.before.after, r.after.before = r.after, r.before
		r.before, r.after = nil, nil
	}
}

// end returns the oldest or the newest of a list that is not empty.
func (r *ring[T]) end(oldest bool) *T {
	if oldest {
		return r.after.of
	}
	return r.before.of
}

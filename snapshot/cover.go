package snapshot

import (
	"slices"

	"github.com/arche-netcode/netcode/tick"
)

// cover stands for what is new of the lives of a run: it is the same in all of
// them, but for places one behind the other. It is written into each when
// somebody asks about that one. Until then these are what a life has beside it:
// its number at the head of its index, its generation, its rows, and that it is
// not gone. So of a head that is covered nothing changes but newest, applied and
// first; who changes anything else looks for it with head first.
type cover struct {
	run
	tick tick.Tick
}

// covers are in ascending order of index. They do not overlap.
type covers struct {
	list []cover
	at   int // where the last one was found: the next is most likely there or behind
	most int // about how many there may be
}

const (
	// mostCovers is about how many there may be. When packets are lost a run falls
	// apart, and grows together again in a tick of which all arrives.
	mostCovers = 64
	// uncovered is how many lives are written at least when one is asked about.
	uncovered = 64
)

// seek is the number of the first cover that ends behind an index, and whether
// that lies in it.
func (c *covers) seek(index uint32) (i int, in bool) {
	if i = c.at; i >= len(c.list) {
		i = 0 // around
	}
	for tries := 0; tries < 2 && i < len(c.list); tries, i = tries+1, i+1 {
		if i > 0 && c.list[i-1].end() > index {
			break
		}
		if c.list[i].end() > index {
			c.at = i
			return i, c.list[i].index <= index
		}
	}
	i, _ = slices.BinarySearchFunc(c.list, index, func(u cover, index uint32) int {
		if u.end() <= index {
			return -1
		}
		return 1
	})
	c.at = i
	return i, i < len(c.list) && c.list[i].index <= index
}

// put makes u, as of a tick, the cover of what it is about, all of which is in the
// i-th, or in none and in front of that.
func (c *covers) put(i int, in bool, u *run, now tick.Tick) {
	if in {
		old := &c.list[i]
		before := int(u.index - old.index)
		if before > 0 {
			rest := *old
			rest.skip(before + u.n)
			old.n = before
			i++
			if rest.n > 0 {
				c.list = slices.Insert(c.list, i, cover{run: *u, tick: now}, rest)
			} else {
				c.list = slices.Insert(c.list, i, cover{run: *u, tick: now})
			}
			c.at = i + 1
			return
		}
		if old.skip(u.n); old.n == 0 {
			c.list = slices.Delete(c.list, i, i+1)
		}
	}
	c.at = i
	if i > 0 && c.list[i-1].tick == now && c.list[i-1].goesOn(u) {
		c.list[i-1].n += u.n
		return
	}
	c.list = slices.Insert(c.list, i, cover{run: *u, tick: now})
	c.at = i + 1
}

// drop takes away the i-th, where the last one was found.
func (c *covers) drop(i int) { c.list = slices.Delete(c.list, i, i+1) }

// uncover writes what covers stand for into all lives.
func (r *Replica) uncover() {
	for i := range r.covers.list {
		r.write(r.covers.list[i])
	}
	r.covers.list, r.covers.at = r.covers.list[:0], 0
}

// bare writes what a cover stands for into the life of an index, and into those
// of some around it, since whoever asks about one is likely to ask about more.
func (r *Replica) bare(index uint32) {
	i, in := r.covers.seek(index)
	if !in {
		return
	}
	c := &r.covers.list[i]
	from := max(c.index, index/uncovered*uncovered)
	until := min(c.end(), (index/uncovered+1)*uncovered)
	piece, rest := *c, *c
	piece.skip(int(from - c.index))
	piece.n = int(until - from)
	rest.skip(int(until - c.index))
	r.write(piece)
	switch before := int(from - c.index); {
	case before > 0:
		c.n = before
		if rest.n > 0 {
			r.covers.list = slices.Insert(r.covers.list, i+1, rest)
		}
	case rest.n > 0:
		*c = rest
	default:
		r.covers.list = slices.Delete(r.covers.list, i, i+1)
	}
	if len(r.covers.list) > r.covers.most {
		r.uncover()
	}
}

// write writes what a cover stands for into its lives.
func (r *Replica) write(u cover) {
	lives, first, place := r.lives[u.life:][:u.n], int32(u.first), u.place
	for i := range lives {
		l := &lives[i]
		l.newest.tick, l.newest.place, l.applied, l.first = u.tick, place, u.tick, first
		place, first = place+1, first+int32(u.width)
	}
}

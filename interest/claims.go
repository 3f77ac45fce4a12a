package interest

import (
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/wire"
)

// claims is lives for policies to which game code names entities. It may name one that was spawned in a capture that the
// policy has not seen yet.
type claims struct {
	lives
	held []uint32 // by index: the generation that game code spoke of
}

// claim says whether an entity may be spoken of: it is not of a life that is over. taken says that its index was
// somebody else's until now, about whom everything is to be forgotten.
func (c *claims) claim(id wire.NetworkID) (ok, taken bool) {
	if id.Index >= snapshot.MaxEntities || id.Generation == 0 {
		return false, false
	}
	for int(id.Index) >= len(c.held) {
		c.held = append(c.held, 0)
	}
	known := c.held[id.Index]
	if int(id.Index) < len(c.generations) && later(c.generations[id.Index], known) {
		known = c.generations[id.Index]
	}
	if id.Generation == known && (c.is(id) || c.held[id.Index] == known) {
		c.held[id.Index] = known
		return true, false
	}
	if !later(id.Generation, known) {
		return false, false
	}
	taken = c.held[id.Index] != 0
	c.held[id.Index] = id.Generation
	return true, taken
}

// over says whether what was said of an index that is renewed was said of a life that is over, and forgets whose it was.
func (c *claims) over(index uint32) bool {
	if int(index) >= len(c.held) || c.held[index] == 0 {
		return false
	}
	held := wire.NetworkID{Index: index, Generation: c.held[index]}
	if c.is(held) || later(held.Generation, c.generations[index]) {
		return false
	}
	c.held[index] = 0
	return true
}

// later compares generations, which wrap; any is later than 0, which is none.
func later(a, b uint32) bool { return a != 0 && (b == 0 || int32(a-b) > 0) }

// holds reports whether something was said of this very entity.
func (c *claims) holds(id wire.NetworkID) bool {
	return int(id.Index) < len(c.held) && id.Generation != 0 && c.held[id.Index] == id.Generation
}

package interest

import (
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/wire"
)

// Explicit shows a client only the entities that game code names by Show.
type Explicit struct {
	namedEntities
	clients perClient[Set]
}

// NewExplicit returns the policy under which nothing is visible to anybody.
func NewExplicit() *Explicit { return &Explicit{} }

// Show lets a client see an entity until Hide. The client need not be there yet, nor need the capture that spawned the
// entity be over. It returns false of an entity whose life is over.
func (e *Explicit) Show(client wire.ClientID, id wire.NetworkID) bool {
	ok, taken := e.claim(id)
	if taken {
		e.forget(id.Index)
	}
	if ok {
		e.clients.open(client).add(id.Index)
	}
	return ok
}

// Hide takes an entity out of a client's sight. It returns false if the client was not shown it.
func (e *Explicit) Hide(client wire.ClientID, id wire.NetworkID) bool {
	if !e.Shown(client, id) {
		return false
	}
	e.clients.get(client).remove(id.Index)
	return true
}

// Shown reports whether a client was shown an entity that, as far as is known, has not died since.
func (e *Explicit) Shown(client wire.ClientID, id wire.NetworkID) bool {
	set := e.clients.get(client)
	return set != nil && e.holds(id) && set.Has(id.Index)
}

func (e *Explicit) forget(index uint32) {
	for _, set := range e.clients.of {
		set.remove(index)
	}
}

// Prepare implements [Policy]. Entities whose life is over are forgotten.
func (e *Explicit) Prepare(s *snapshot.Store) {
	e.settle(s, e.forget)
}

// Sees implements [Policy].
func (e *Explicit) Sees(client wire.ClientID) Set {
	if set := e.clients.get(client); set != nil {
		return *set
	}
	return nil
}

// Refine implements [Policy].
func (e *Explicit) Refine(wire.ClientID, View, Set, Set) {}

// Leave implements [Policy].
func (e *Explicit) Leave(client wire.ClientID) { e.clients.drop(client) }

// namedEntities is lives for policies to which game code names entities. It may name one that was spawned in a capture that the
// policy has not seen yet.
type namedEntities struct {
	lifetimes
	held  []uint32 // by index: the generation that game code spoke of
	ahead []uint32 // indexes at which it spoke of somebody else than who lived there at the newest Prepare
}

// claim reports whether an entity may be spoken of: it is not of a life that is over. taken tells that its index was
// somebody else's until now, about whom everything is to be forgotten.
func (c *namedEntities) claim(id wire.NetworkID) (ok, taken bool) {
	if id.Index >= snapshot.MaxEntities || id.Generation == 0 {
		return false, false
	}
	for int(id.Index) >= len(c.held) {
		c.held = append(c.held, 0)
	}
	known := c.held[id.Index]
	if uint(id.Index) < uint(len(c.generations)) && later(c.generations[id.Index], known) {
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
	if c.alive.Has(id.Index) {
		c.ahead = append(c.ahead, id.Index)
	}
	c.held[id.Index] = id.Generation
	return true, taken
}

// settle follows the store and calls forget for each index of which something was said that is void: of a life that is
// over, or of one that has not begun while another's goes on.
func (c *namedEntities) settle(s *snapshot.Store, forget func(index uint32)) {
	if !c.follow(s) {
		return
	}
	for index := range c.renewed.All {
		c.check(index, forget)
	}
	for _, index := range c.ahead {
		c.check(index, forget)
	}
	c.ahead = c.ahead[:0]
}

func (c *namedEntities) check(index uint32, forget func(index uint32)) {
	if int(index) >= len(c.held) || c.held[index] == 0 || c.generations[index] == c.held[index] && c.alive.Has(index) {
		return
	}
	if c.alive.Has(index) || !later(c.held[index], c.generations[index]) {
		c.held[index] = 0
		forget(index)
	}
}

// holds reports whether something was said of this very entity.
func (c *namedEntities) holds(id wire.NetworkID) bool {
	return uint(id.Index) < uint(len(c.held)) && id.Generation != 0 && c.held[id.Index] == id.Generation
}

// later compares generations, which wrap; any is later than 0, which is none.
func later(a, b uint32) bool { return a != 0 && (b == 0 || int32(a-b) > 0) }

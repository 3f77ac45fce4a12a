package interest

import (
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/wire"
)

// Explicit shows a client only the entities that the game passes to Show.
type Explicit struct {
	namedEntities
	clients perClient[Set]
}

// NewExplicit returns a policy that shows nothing until Show is called.
func NewExplicit() *Explicit { return &Explicit{} }

// Show makes an entity visible to a client until Hide. The client may connect later, and the entity may be newer than the last
// capture. Show returns false if the entity is dead.
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

// Hide makes an entity invisible to a client. It returns false if Show was not called for it.
func (e *Explicit) Hide(client wire.ClientID, id wire.NetworkID) bool {
	if !e.Shown(client, id) {
		return false
	}
	e.clients.get(client).remove(id.Index)
	return true
}

// Shown reports whether an entity was shown to a client and is not known to be dead.
func (e *Explicit) Shown(client wire.ClientID, id wire.NetworkID) bool {
	set := e.clients.get(client)
	return set != nil && e.holds(id) && set.Has(id.Index)
}

func (e *Explicit) forget(index uint32) {
	for _, set := range e.clients.of {
		set.remove(index)
	}
}

// Prepare implements [Policy]. It removes dead entities.
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

// namedEntities is lifetimes for policies in which the game names entities. The game may name an entity that was spawned after
// the newest Prepare.
type namedEntities struct {
	lifetimes
	held  []uint32 // by index: the generation that the game named, 0 for none
	ahead []uint32 // indexes where the game named another generation than the living one
}

// claim notes that the game names an entity. ok is false if the entity is dead. taken means that the index belonged to an older
// entity: the caller must drop everything about that one.
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

// settle follows the store and calls forget for each index whose named entity is void. It is void if it died, or if it was never
// born while another entity lives at the index.
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

// holds reports whether the game named this entity, with this generation.
func (c *namedEntities) holds(id wire.NetworkID) bool {
	return uint(id.Index) < uint(len(c.held)) && id.Generation != 0 && c.held[id.Index] == id.Generation
}

// later reports whether generation a comes after b. Generations wrap. 0 means none, and every generation comes after it.
func later(a, b uint32) bool { return a != 0 && (b == 0 || int32(a-b) > 0) }

package netecs

import (
	"strconv"

	"github.com/mlange-42/arche/ecs"

	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/wire"
)

// identify says which id an entity has that the scan came upon, given what its
// Replicated says. The answer hangs on the handle: Arche never gives the same
// one to two entities of a world's life, so a row whose Replicated names an id
// is that entity moved, or a copy, and which of the two is known at once.
func (c *Capture) identify(r components.Replicated, e ecs.Entity) (*place, wire.NetworkID) {
	own, has := c.watch.holder(e)
	if r.ID.IsZero() && has {
		return c.watch.at(own), own
	}
	if c.watch.foreign(r) {
		if has {
			return c.putBack(OverwrittenReplicated, own, e)
		}
		c.watch.noteForeign(e, r.World)
		return nil, wire.NetworkID{}
	}
	if r.ID.IsZero() {
		return c.spawn(e)
	}
	kind := StaleReplicated
	if at := c.watch.at(r.ID); at != nil {
		if at.entity == e {
			return at, r.ID
		}
		if !has && !c.watch.stands(at.entity) {
			return c.watch.hold(r.ID, e), r.ID // the id goes on with the copy
		}
		kind = CopiedReplicated
	}
	if has {
		return c.putBack(kind, own, e)
	}
	at, id := c.spawn(e)
	if at != nil {
		c.watch.note(Problem{Kind: kind, Entity: id, Local: e})
	}
	return at, id
}

// spawn gives a new id to an entity, none when the store is full.
func (c *Capture) spawn(e ecs.Entity) (*place, wire.NetworkID) {
	id := c.store.Spawn()
	if id.IsZero() {
		if !c.full {
			c.watch.note(Problem{Kind: StoreFull, Local: e, Detail: strconv.Itoa(c.store.MaxEntities())})
		}
		c.full = true
		return nil, id
	}
	c.full = false
	c.known = extended(c.known, int(id.Index))
	c.known[id.Index] = faults{}
	c.pace.begin(id.Index)
	return c.watch.hold(id, e), id
}

// putBack keeps the id of an entity whose Replicated was overwritten.
func (c *Capture) putBack(kind ProblemKind, own wire.NetworkID, e ecs.Entity) (*place, wire.NetworkID) {
	c.watch.note(Problem{Kind: kind, Entity: own, Local: e})
	return c.watch.at(own), own
}

// stands reports whether an entity that was ours is alive and has a
// Replicated, whatever it says.
func (w *watch) stands(e ecs.Entity) bool {
	return w.world.Alive(e) && w.world.Has(e, w.replicated)
}

// soughtEach is how many ids are looked at in a capture.
const soughtEach = 64

// seekCopies looks at some ids, the next ones each time, whether their entity went and a copy came to lie in its place: then
// whoever names the copy names nobody until that is known, and who named the entity goes on to.
func (c *Capture) seekCopies() {
	w := c.watch
	for range min(soughtEach, len(w.byIndex)) {
		c.sought = (c.sought + 1) % uint32(len(w.byIndex))
		if at := &w.byIndex[c.sought]; at.generation != 0 && !w.world.Alive(at.entity) {
			w.relocate(at, w.idAt(c.sought))
		}
	}
}

// relocate finds the entity of an id whose handle changed without a byte of
// its row changing: the entity was removed, and a copy with the same
// Replicated came to lie in its place.
func (w *watch) relocate(at *place, id wire.NetworkID) bool {
	if at.table < 0 || w.tables[at.table].scattered {
		return false
	}
	w.query = w.world.Query(&w.tables[at.table].filter)
	defer w.query.Close()
	if int(at.slot) >= w.query.Count() {
		return false
	}
	e := w.query.EntityAt(int(at.slot))
	if !w.wears(e, id) {
		return false
	}
	table, slot, stamp := at.table, at.slot, at.stamp
	again := w.hold(id, e)
	again.table, again.slot, again.stamp = table, slot, stamp
	w.moves++
	return true
}

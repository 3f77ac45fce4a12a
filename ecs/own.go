package netecs

import (
	"github.com/mlange-42/arche/ecs"

	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/wire"
)

// Own says which rows of an entity the client writes itself: Apply leaves them as they are. When one is the client's no
// more, Revert brings the server's value.
func (a *Apply) Own(rows func(wire.NetworkID) snapshot.Mask) { a.mine = rows }

// owned is the rows of an entity that the client writes itself.
func (a *Apply) owned(id wire.NetworkID) snapshot.Mask {
	if a.mine == nil {
		return 0
	}
	return a.mine(id)
}

// Revert brings an entity up to date in the next Run, whether or not something arrives.
func (a *Apply) Revert(id wire.NetworkID) {
	if a.watch.at(id) != nil && !a.twins[id.Index].left {
		a.again = append(a.again, id.Index)
	}
}

// Read quantises a component that the client writes, as it is now. Fields that cannot travel keep what lanes has, which is
// reported once per entity. It is false when the entity is not there, or lacks the component.
func (a *Apply) Read(id wire.NetworkID, row int, lanes []uint32) bool {
	e, ok := a.Entity(id)
	if !ok || !a.alive(e) {
		return false
	}
	c := column{id: a.watch.ids[row], plan: a.watch.schema.Plan(row), size: int(a.watch.schema.Plan(row).Size())}
	if !a.watch.world.Has(e, c.id) || !c.aimAt(a.watch.world, e) {
		return false
	}
	fault := c.plan.Quantise(c.at(0), lanes)
	c.release()
	if tw := &a.twins[id.Index]; fault.Reason != wire.NoFault && !tw.faulty {
		tw.faulty = true
		kind := NotFinite
		if fault.Reason != wire.NotFinite {
			kind = OutOfRange
		}
		a.watch.note(Problem{Kind: kind, Entity: id, Local: e, Component: c.plan.Name(), Field: fault.Field()})
		a.watch.flush()
	}
	return true
}

// Write gives a component of an entity the value that a client wrote. The next Run captures it like what game code writes.
// It is false when the entity is not there, or lacks the component.
func (c *Capture) Write(id wire.NetworkID, row int, lanes []uint32) bool {
	e, ok := c.Entity(id)
	if !ok {
		return false
	}
	return write(c.watch.world, e, column{
		id: c.watch.ids[row], plan: c.watch.schema.Plan(row), size: int(c.watch.schema.Plan(row).Size()),
	}, lanes)
}

// write writes one component of an entity.
func write(w *ecs.World, e ecs.Entity, c column, lanes []uint32) bool {
	if !w.Has(e, c.id) || !c.aimAt(w, e) {
		return false
	}
	c.write(0, lanes)
	c.release()
	return true
}

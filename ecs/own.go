package netecs

import (
	"slices"

	"github.com/mlange-42/arche/ecs"

	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/wire"
)

// Own says which rows of an entity the client may write itself. From its first write on Apply leaves a row as it is; until
// then the server's values go on to come, since a new author that has nothing to say must not repeat what it has of the one
// before. When what the client may write changes, Revert begins anew.
func (a *Apply) Own(rows func(wire.NetworkID) snapshot.Mask) { a.mine = rows }

// may tells if the client may write a row.
func (a *Apply) may(id wire.NetworkID, row int) bool { return a.mine != nil && a.mine(id).Has(row) }

// owned is the rows of an entity that the client has written and may write.
func (a *Apply) owned(id wire.NetworkID) snapshot.Mask {
	if a.mine == nil || int(id.Index) >= len(a.twins) || a.twins[id.Index].authored == 0 {
		return 0
	}
	return a.mine(id) & a.twins[id.Index].authored
}

// Revert brings an entity up to date in the next Run, whether or not something arrives, also in the rows that the client
// has written.
func (a *Apply) Revert(id wire.NetworkID) {
	if a.watch.at(id) != nil && !a.twins[id.Index].left {
		a.twins[id.Index].authored = 0
		a.again = append(a.again, id.Index)
	}
}

// Read quantises a component that the client writes, as it is now. Fields that cannot travel keep what lanes has, which is
// reported once per entity. It is false when the entity is not there, or lacks the component, or the
// client has not written it yet: it is what arrived.
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
		a.watch.note(Problem{Kind: kindOf(fault.Reason), Entity: id, Local: e, Component: c.plan.Name(), Field: fault.Field()})
		a.watch.flush()
	}
	if tw := &a.twins[id.Index]; !tw.authored.Has(row) {
		if slices.Equal(lanes, a.replica.Row(id.Index, row)) {
			return false
		}
		tw.authored = tw.authored.With(row)
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
	c.mark(e, snapshot.Mask(0).With(row))
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

package netecs

import (
	"github.com/mlange-42/arche/ecs"

	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/wire"
)

// SetAside leaves rows of an entity to somebody else, as to a prediction: Apply does not write, add, remove or restore them.
// Rows that were set aside before and are not in the mask are Apply's again: the next Run makes them as the server has them.
// An entity with rows set aside is removed in the Run that learns of its despawn, also while a Smooth shows the past. SetAside
// does nothing for an entity that is not there.
func (a *Apply) SetAside(id wire.NetworkID, rows snapshot.Mask) {
	if a.tracker.entry(id) == nil || a.applied[id.Index].left {
		return
	}
	tw := &a.applied[id.Index]
	if back := tw.aside &^ rows; back != tw.back {
		tw.back = back
		a.again = append(a.again, id.Index)
	}
	tw.aside |= rows
	tw.gone &^= rows
}

// takeBack ends the setting aside of rows. The entity may have gained or lost them meanwhile.
func (a *Apply) takeBack(e ecs.Entity, tw *appliedEntity) {
	for m := tw.back; m != 0; m &= m - 1 {
		row := lowestRow(m)
		tw.mask = tw.mask.Without(row)
		if a.alive(e) && a.tracker.world.Has(e, a.tracker.ids[row]) {
			tw.mask = tw.mask.With(row)
		}
	}
	tw.aside, tw.back = tw.aside&^tw.back, 0
}

// Adopt sets a function that is asked for each entity that the server shows anew. An entity of this world that it returns becomes
// the server's: it gets the network id and the server's values. It must not have a network id. OnSpawn hooks are not called for it.
func (a *Apply) Adopt(f func(wire.NetworkID) (ecs.Entity, bool)) { a.adopts = f }

// adopted takes an entity of this world for one that the server shows anew, if there is such.
func (a *Apply) adopted(now snapshot.Entity) bool {
	if a.adopts == nil || now.Mask&a.tracker.relations != 0 {
		return false
	}
	e, ok := a.adopts(now.ID)
	if !ok || !a.alive(e) {
		return false
	}
	a.unsettled = true
	a.expect(now.ID, now.Mask, now.Mask)
	a.born = a.born[:len(a.born)-1]
	a.add = a.add[:0]
	if !a.tracker.world.Has(e, a.tracker.replicated) {
		a.add = append(a.add, a.tracker.replicated)
	}
	for m := now.Mask; m != 0; m &= m - 1 {
		if id := a.tracker.ids[lowestRow(m)]; !a.tracker.world.Has(e, id) {
			a.add = append(a.add, id)
		}
	}
	a.filling = fillMode{id: now.ID, rows: now.Mask, born: true}
	if len(a.add) == 0 {
		a.fillEntity(e)
	} else {
		a.tracker.world.ExchangeFn(e, a.add, nil, a.fill)
	}
	return true
}

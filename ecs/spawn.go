package netecs

import (
	"reflect"

	"github.com/mlange-42/arche/ecs"

	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/wire"
)

// births are the entities to create in this run, those of the same rows
// together, in the order in which the first of them came.
type births struct {
	byMask map[snapshot.Mask]int // index in kinds
	kinds  []kind
}

// kind is the entities to create with the same rows.
type kind struct {
	mask snapshot.Mask
	ids  []wire.NetworkID
}

// add lists an entity to create.
func (b *births) add(id wire.NetworkID, mask snapshot.Mask) {
	n, known := b.byMask[mask]
	if !known {
		n = len(b.kinds)
		b.byMask[mask] = n
		if n < cap(b.kinds) {
			b.kinds = b.kinds[:n+1]
		} else {
			b.kinds = append(b.kinds, kind{})
		}
		k := &b.kinds[n]
		k.mask, k.ids = mask, k.ids[:0]
	}
	b.kinds[n].ids = append(b.kinds[n].ids, id)
}

func (b *births) forget() {
	b.kinds = b.kinds[:0]
	clear(b.byMask)
}

// spawnAll creates the entities that are listed.
func (a *Apply) spawnAll() {
	a.unsettled = true
	batched := unheard(a.watch.world)
	for i := range a.births.kinds {
		k := &a.births.kinds[i]
		rows := a.spawning(k.mask)
		if batched && len(k.ids) >= fewest {
			a.spawnBatch(k, rows)
		} else {
			for _, id := range k.ids {
				a.spawnOne(id, k.mask, rows)
			}
		}
		if lacks := k.mask &^ rows; lacks != 0 {
			for _, id := range k.ids {
				a.leaveOut(id, &a.twins[id.Index], lacks)
			}
		}
	}
	a.births.forget()
}

// spawning lists the components of an entity to create and returns their rows:
// all but a second relation, of which Arche allows none.
func (a *Apply) spawning(mask snapshot.Mask) (rows snapshot.Mask) {
	a.add = append(a.add[:0], a.watch.replicated)
	related := false
	for m := mask; m != 0; m &= m - 1 {
		row := first(m)
		if a.watch.relations.Has(row) {
			if related {
				continue
			}
			related = true
		}
		rows = rows.With(row)
		a.add = append(a.add, a.watch.ids[row])
	}
	return rows
}

// spawnOne creates an entity with all its components at once. A listener of the
// game sees it when its values are written.
func (a *Apply) spawnOne(id wire.NetworkID, mask, rows snapshot.Mask) {
	a.expect(id, mask, rows)
	a.filling = filling{id: id, rows: rows, born: true}
	a.watch.world.NewEntityFn(a.fill, a.add...)
}

// spawnBatch creates the entities of a kind at once, in consecutive rows, and
// writes them column by column. Nobody listens.
func (a *Apply) spawnBatch(k *kind, rows snapshot.Mask) {
	for _, id := range k.ids {
		a.expect(id, k.mask, rows)
	}
	a.watch.query = a.watch.world.Batch().NewQ(len(k.ids), a.add...)
	query := &a.watch.query
	query.Next()
	replicas := column{id: a.watch.replicated, size: replicatedSize}
	replicas.aim(query)
	for i, id := range k.ids {
		a.watch.hold(id, query.EntityAt(i))
		*replicas.replicated(i) = components.Replicated{ID: id, World: a.watch.tag}
	}
	for m := rows; m != 0; m &= m - 1 {
		row := first(m)
		plan := a.watch.schema.Plan(row)
		if plan.Lanes() == 0 {
			continue
		}
		c := column{id: a.watch.ids[row], row: row, plan: plan, size: int(plan.Size())}
		c.aim(query)
		for i, id := range k.ids {
			if lanes := a.value(id.Index, row); lanes != nil {
				c.write(i, lanes)
				a.stats.Rows++
			}
		}
	}
	query.Close()
	for _, id := range k.ids {
		a.revisit(id)
	}
}

// expect notes an entity that is about to be created.
func (a *Apply) expect(id wire.NetworkID, mask, rows snapshot.Mask) {
	tw := &a.twins[id.Index]
	*tw = twin{mask: mask, listed: a.run}
	a.stats.Spawned++
	a.born = append(a.born, id)
	a.writing.form(tw, form{index: id.Index, added: rows, spawned: true})
	if rows&a.aims.rows != 0 {
		a.aims.list = append(a.aims.list, id.Index)
	}
	if rows&(a.refs.rows|a.aims.rows) != 0 {
		tw.changed = rows // its entity fields are known when all entities are there
		a.writing.homeless = append(a.writing.homeless, id.Index)
	} else {
		a.writing.fresh = append(a.writing.fresh, due{index: id.Index, rows: rows})
	}
}

// leaveOut notes that components cannot be added while the entity has another relation.
func (a *Apply) leaveOut(id wire.NetworkID, tw *twin, rows snapshot.Mask) {
	tw.gone |= rows
	tw.out |= rows
	for ; rows != 0; rows &= rows - 1 {
		a.watch.note(Problem{Kind: SecondRelation, Entity: id, Component: a.watch.schema.Plan(first(rows)).Name()})
	}
}

// unheard reports whether it is certain that no listener is set on a world,
// which Arche does not tell. A listener that changes what it is told of would
// spoil a batch: Arche goes on through rows that have moved meanwhile.
func unheard(w *ecs.World) bool {
	listener := reflect.ValueOf(w).Elem().FieldByName("listener")
	return listener.IsValid() && listener.Kind() == reflect.Interface && listener.IsNil()
}

package netecs

import (
	"github.com/mlange-42/arche/ecs"

	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/wire"
)

// Restored is entities that Restore makes: those of a saved game.
type Restored struct {
	Len  int                       // the number of entities
	Rows func(i int) snapshot.Mask // the components of an entity
	// Row appends the lanes of one. An entity that it names by its place stands there as name gives it.
	Row func(dst []uint32, i, row int, name func(place int) wire.NetworkID) []uint32
	// Made is called when all entities are there, with Replicated and zero components, before their values are written.
	Made func(i int, e ecs.Entity)
	// ID is called for fields that hold network ids, after Made.
	ID func(i int) wire.NetworkID
}

// Restore makes entities with a Replicated in a server's world, which must not be locked. Fields that name others, and targets of
// relations, name those that it made.
func Restore(w *ecs.World, schema *snapshot.Schema, r *Restored) []ecs.Entity {
	b := bind(w, schema)
	entities := make([]ecs.Entity, r.Len)
	var ids []ecs.ID
	for i := range entities {
		ids = append(ids[:0], b.replicated)
		for rows := r.Rows(i); !rows.IsZero(); rows = rows.Rest() {
			ids = append(ids, b.ids[rows.Lowest()])
		}
		entities[i] = w.NewEntity(ids...)
	}
	for i, e := range entities {
		r.Made(i, e)
	}
	var lanes, handles []uint32
	byHandle := func(place int) wire.NetworkID {
		h := handleOf(entities[place])
		return wire.NetworkID{Index: h.number, Generation: h.generation}
	}
	for i, e := range entities {
		for rows := r.Rows(i); !rows.IsZero(); rows = rows.Rest() {
			row := rows.Lowest()
			plan := schema.Plan(row)
			lanes = r.Row(lanes[:0], i, row, r.ID)
			if target, ok := plan.Target(); ok || len(plan.Handles()) > 0 {
				handles = r.Row(handles[:0], i, row, byHandle)
				for _, at := range plan.Handles() {
					lanes[at], lanes[at+1] = handles[at], handles[at+1]
				}
				if ok {
					restoreTarget(w, e, b.ids[row], entities, r, i, row, target)
				}
			}
			if plan.Lanes() > 0 {
				write(w, e, column{id: b.ids[row], plan: plan, size: int(plan.Size())}, lanes)
			}
		}
	}
	return entities
}

// restoreTarget sets the target of a relation, if it has one.
func restoreTarget(w *ecs.World, e ecs.Entity, id ecs.ID, entities []ecs.Entity, r *Restored, i, row, lane int) {
	places := r.Row(nil, i, row, func(place int) wire.NetworkID { return wire.NetworkID{Index: uint32(place), Generation: 1} })
	if places[lane+1] != 0 {
		w.Relations().Set(e, id, entities[places[lane]])
	}
}

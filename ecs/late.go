package netecs

import (
	"github.com/mlange-42/arche/ecs"

	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// late is the entities that are gone at the server and still shown, because what is presented lies before their end.
type late struct {
	on        bool
	shown     tick.Time
	lives     uint32 // Of the world: entities of an earlier one may have the same handles.
	departing []departing
}

// departing is an entity without a network id that is removed when its end is presented.
type departing struct {
	id     wire.NetworkID
	entity ecs.Entity
	ends   tick.Tick
	state  smoothState
}

// linger keeps an entity that was condemned until its end is presented. It says false when that is past already, and
// where nothing is presented.
func (a *Apply) linger(id wire.NetworkID, e ecs.Entity) bool {
	if !a.late.on || a.replica == nil || !a.alive(e) {
		return false
	}
	_, ends := a.replica.Latest(id)
	if ends <= a.late.shown.Tick {
		return false
	}
	if r := replicatedOf(a.watch.world, e, a.watch.replicated); r != nil {
		*r = components.Replicated{} // the id may soon be another entity's
	}
	a.late.departing = append(a.late.departing, departing{id: id, entity: e, ends: ends, state: smoothState{entity: e}})
	a.unsettled = true
	return true
}

// vanish removes the entities whose end is presented.
func (a *Apply) vanish(at tick.Time) {
	a.late.shown = at
	kept := a.late.departing[:0]
	for _, d := range a.late.departing {
		if d.ends > at.Tick {
			kept = append(kept, d)
			continue
		}
		a.condemned = append(a.condemned, condemned{id: d.id, entity: d.entity})
	}
	a.late.departing = kept
	if len(a.condemned) > 0 {
		a.running = true
		a.removeCondemned()
		a.running = false
	}
}

// hurry condemns at once what is still shown.
func (a *Apply) hurry() {
	for _, d := range a.late.departing {
		a.condemned = append(a.condemned, condemned{id: d.id, entity: d.entity})
	}
	a.late.departing = a.late.departing[:0]
}

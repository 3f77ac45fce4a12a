package netecs

import (
	"github.com/mlange-42/arche/ecs"

	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// late is the entities that are gone at the server and still shown, because what is presented lies before their end. Their
// Replicated has the tag and no id: nobody takes them for new ones, whoever else captures or applies to the world.
type late struct {
	on        bool
	shown     tick.Time
	lives     uint32 // Of the world: entities of an earlier one may have the same handles.
	departing []departing
	stays     []uint32 // by entity number: 1 + generation of the entity that was kept last
	names     []lateName
}

// lateName is an entity field, or the target, of one that is kept. It is followed as long as the one it names is there, as that of
// an entity with an id is by refs.
type lateName struct {
	holder, target ecs.Entity
	id             wire.NetworkID // of target
	row, lane      int
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
		*r = a.gone() // the id may soon be another entity's
	}
	a.late.stays = extended(a.late.stays, int(e.ID()))
	a.late.stays[e.ID()] = e.Generation() + 1
	a.follow(id.Index, e)
	a.late.departing = append(a.late.departing, departing{id: id, entity: e, ends: ends, state: smoothState{entity: e}})
	a.unsettled = true
	return true
}

// gone is the Replicated of an entity that is kept until its end is presented.
func (a *Apply) gone() components.Replicated { return components.Replicated{World: a.watch.tag} }

// has reports whether an entity is kept until its end is presented, or was. No other ever has its handle in this life of the world.
func (l *late) has(e ecs.Entity) bool {
	return int(e.ID()) < len(l.stays) && l.stays[e.ID()] == e.Generation()+1
}

// forget is for a new life of the world, and for when nothing is kept any more.
func (l *late) forget() {
	l.departing, l.names = l.departing[:0], l.names[:0]
	clear(l.stays)
}

// remain looks at the Replicated of an entity that is kept, which game code may have written.
func (a *Apply) remain(r *components.Replicated, e ecs.Entity) {
	if *r != a.gone() {
		a.watch.note(Problem{Kind: OverwrittenReplicated, Local: e})
		*r, a.unsettled = a.gone(), true
	}
}

// follow notes whom the rows of an entity name that is about to lose its id.
func (a *Apply) follow(index uint32, e ecs.Entity) {
	if int(index) >= len(a.refs.from) {
		return
	}
	for n := a.refs.from[index]; n != 0; n = a.refs.links[n-1].sibling {
		if l := &a.refs.links[n-1]; !l.target.IsZero() {
			a.late.names = append(a.late.names, lateName{
				holder: e, target: a.local(l.target), id: l.target, row: int(l.row), lane: int(l.lane),
			})
		}
	}
}

// unname makes those fields of entities that are kept name nobody whose entity is not there any more.
func (a *Apply) unname() {
	kept := a.late.names[:0]
	for _, n := range a.late.names {
		switch {
		case !a.alive(n.holder):
		case n.target.IsZero() || a.local(n.id) != n.target:
			a.clearName(n)
		default:
			kept = append(kept, n)
		}
	}
	a.late.names = kept
}

// clearName makes one field name nobody.
func (a *Apply) clearName(n lateName) {
	w, plan := a.watch.world, a.watch.schema.Plan(n.row)
	c := column{id: a.watch.ids[n.row], plan: plan, size: int(plan.Size())}
	if !w.Has(n.holder, c.id) {
		return // game code has removed it
	}
	if lane, aimed := plan.Target(); aimed && lane == n.lane {
		if !w.Relations().Get(n.holder, c.id).IsZero() {
			a.unsettled = true
			w.Relations().Set(n.holder, c.id, ecs.Entity{})
		}
		return
	}
	if c.aimAt(w, n.holder) {
		c.clearHandle(n.lane, a.refs.lanes)
		c.release()
	}
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

package snapshot

import (
	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// Interest decides what each client may see. The server calls it once a network tick, after the capture and before the packets. So no
// byte about an entity is sent to a client that may not see it.
type Interest interface {
	// Prepare is called once a network tick, after the capture.
	Prepare(s *Store)
	// Update is called for each client after Prepare. It changes what the client sees by See, Hide, Keep and SetWeight of the view. Entities that are new since the last call are visible, unless ShowNew(false) was called.
	Update(client wire.ClientID, v *View)
	// Leave is called when a client has left.
	Leave(client wire.ClientID)
}

// sightCall is a call about the client's sight.
type sightCall struct {
	do   func(v *View, c sightCall)
	id   wire.NetworkID
	rows Mask
	n    uint16
}

// decide executes a call about sight. Between Begin and Commit it takes effect with the commit.
func (v *View) decide(c sightCall) {
	if v.store.open {
		v.deferred = append(v.deferred, c)
		return
	}
	v.Observe()
	c.do(v, c)
}

// See sets the components of an entity that the client sees, whether the entity has them or not. None hides the entity. The first
// record of an entity that comes into sight is full, whatever the client had before. The client removes components that it sees no
// more. Between Begin and Commit the call takes effect with the commit, as all calls about sight do.
func (v *View) See(id wire.NetworkID, components Mask) {
	v.SetSight(id, v.store.schema.Unfold(components))
}

// SetSight is See with bands: of a component with distance bands the client gets the finest row in rows. This mask is all that a view
// knows of the client's sight of an entity.
func (v *View) SetSight(id wire.NetworkID, rows Mask) {
	v.decide(sightCall{do: (*View).see, id: id, rows: rows})
}

// Show lets the client see a hidden entity, with all components.
func (v *View) Show(id wire.NetworkID) {
	v.decide(sightCall{do: func(v *View, c sightCall) {
		if !v.Visible(c.id) {
			v.see(c)
		}
	}, id: id, rows: AllRows()})
}

// Hide takes an entity out of the client's sight. From then on only its despawn is sent, and only if a record of it was sent.
//
// An entity that is hidden before the first packet of its first tick was never shown: not even its existence leaks. Between Begin and
// Commit, Visible still returns the state before the call.
func (v *View) Hide(id wire.NetworkID) { v.SetSight(id, Mask{}) }

// see executes SetSight.
func (v *View) see(c sightCall) {
	index := c.id.Index
	switch visible := v.Visible(c.id); {
	case !c.rows.IsZero():
		if !visible && v.store.Alive(c.id) {
			v.show(c.id, v.next())
		} else if !visible {
			return
		}
		v.changeRows(index, v.sendable(c.rows).Minus(v.ownedByOthers(index)))
	case visible:
		v.noteHidden(index, true)
		v.end(index, v.next())
	case v.Keeps(c.id):
		v.scheduleWithGroup(index, v.next())
	}
}

// hiddenAt has two ticks: the newest tick in which the entity was hidden, and the newest one in which one of its components was.
type hiddenAt struct{ entityAt, rowsAt tick.Tick }

// noteHidden notes that an entity, or a component of it, is hidden from the next tick on. It does nothing if no payload of the
// lifetime was written.
func (v *View) noteHidden(index uint32, all bool) {
	if v.life(index).firstTick > v.wrote {
		return
	}
	v.lastHidden = v.next()
	if e := v.life(index); all {
		e.hidden.entityAt = v.lastHidden
	} else {
		e.hidden.rowsAt = v.lastHidden
	}
}

// Keep takes an entity out of the client's sight as Hide does, but the client keeps its last state. Nothing more is sent until it
// comes into sight again. The client removes the entity when it despawns or Hide is called.
func (v *View) Keep(id wire.NetworkID) { v.decide(sightCall{do: (*View).keep, id: id}) }

// keep executes Keep.
func (v *View) keep(c sightCall) {
	index := c.id.Index
	if !v.Visible(c.id) {
		return
	}
	v.noteHidden(index, true)
	if v.ack(index).base == tick.None {
		v.end(index, v.next()) // the client may have no state of this lifetime, and must not keep one of an earlier lifetime
		return
	}
	v.leave(index, v.next())
	v.page(index).unsent &^= bitOf(index)
	v.endAllLinks(index)
	v.page(index).retained |= bitOf(index)
	v.vacate(index)
}

// ShowNew sets whether the client sees new entities at once, which is the default, or only after See. Between Begin and Commit, new
// entities of that tick are seen only if both the old and the new setting are true.
func (v *View) ShowNew(show bool) {
	v.hideNew = v.hideNew || v.store.open && !show
	do := func(v *View, _ sightCall) { v.hideNew = true }
	if show {
		do = func(v *View, _ sightCall) { v.hideNew = false }
	}
	v.decide(sightCall{do: do})
}

// ShowAll resets the client's sight: it sees every entity, also later ones, with all components and the normal weight.
func (v *View) ShowAll() {
	v.decide(sightCall{do: func(v *View, _ sightCall) {
		v.hideNew = false
		for id := range v.store.All {
			v.SetSight(id, AllRows())
			v.SetWeight(id, NormalWeight)
		}
	}})
}

// Visible reports whether the client may see an entity. It is false for entities that are not alive.
func (v *View) Visible(id wire.NetworkID) bool {
	return v.page(id.Index).visible&bitOf(id.Index) != 0 && v.life(id.Index).generation == id.Generation
}

// Seen yields every entity that the client may see, in ascending order of index.
func (v *View) Seen(yield func(wire.NetworkID) bool) {
	for w := v.seenFrom(0); w < len(v.pages); w = v.seenFrom(w + 1) {
		for word := v.pages[w].visible; word != 0; word &= word - 1 {
			index := firstOf(uint32(w), word)
			if !yield(wire.NetworkID{Index: index, Generation: v.life(index).generation}) {
				return
			}
		}
	}
}

// Keeps reports whether an entity is out of the client's sight and the client keeps its last state.
func (v *View) Keeps(id wire.NetworkID) bool {
	return v.page(id.Index).retained&bitOf(id.Index) != 0 && v.life(id.Index).generation == id.Generation
}

// next returns the first tick whose packets can show a change of sight that is made now. It is the tick after the present one if a
// packet of the present one was written.
func (v *View) next() tick.Tick {
	if v.wrote >= v.store.tick {
		return v.store.tick + 1
	}
	return v.store.tick
}

// show begins a lifetime at tick t, without a baseline (rule 7). A despawn that is due is dropped: the full record that follows
// replaces every lower generation. Rows that name the entity are sent again.
func (v *View) show(id wire.NetworkID, t tick.Tick) {
	v.enter(id, t)
	v.renamed(id.Index, t)
}

// enter begins a lifetime at tick t: it forgets the baseline (rule 7). Unlike show, it does not send the rows that name the entity.
func (v *View) enter(id wire.NetworkID, t tick.Tick) {
	v.reach(id.Index)
	v.forget(id.Index)
	p := v.life(id.Index)
	if p.generation != id.Generation {
		p.lastFirst, p.lastEnd = tick.None, tick.None
	}
	p.generation = id.Generation
	p.firstTick = t
	g := v.pages[id.Index/format.PageEntities]
	g.rowsChangedAt = max(g.rowsChangedAt, t)
	p.sightState = sightState{shapedAt: v.store.shapedAt[id.Index]}
	v.hideRows(id.Index, v.overrides.usual.Union(v.ownedByOthers(id.Index)))
	v.page(id.Index).despawnOwed &^= bitOf(id.Index)
	v.page(id.Index).retained &^= bitOf(id.Index)
	v.page(id.Index).visible |= bitOf(id.Index)
	v.wait(id.Index)
	if v.shares {
		v.noteMet(id.Index)
	}
}

// died ends the lifetime of an entity that despawned in the store.
func (v *View) died(id wire.NetworkID) {
	switch {
	case v.Visible(id):
		v.end(id.Index, v.store.tick)
	case v.Keeps(id):
		v.scheduleWithGroup(id.Index, v.store.tick)
	}
}

// end ends the lifetime of an index at tick t (rule 7). A despawn is due if any record of it was sent, acknowledged or not.
func (v *View) end(index uint32, t tick.Tick) {
	defer v.vacate(index)
	if v.cancelSpawn(index) {
		return
	}
	unseen := v.unseen(index, t)
	v.leave(index, t)
	if v.life(index).shownGeneration == 0 {
		v.page(index).unsent &^= bitOf(index)
		v.endAllLinks(index)
		return
	}
	if unseen {
		v.scheduleDespawn(index, t)
		return
	}
	v.scheduleWithGroup(index, t)
}

// unseen reports whether an entity that leaves sight at tick t came into sight too late to be sent, and was out of sight before. The
// client has then not seen it in its present group.
func (v *View) unseen(index uint32, t tick.Tick) bool {
	p := v.life(index)
	return p.firstTick >= t && p.lastEnd < t && p.lastEnd <= p.endedAt
}

// leave takes an index out of sight at tick t.
func (v *View) leave(index uint32, t tick.Tick) {
	v.page(index).visible &^= bitOf(index)
	v.page(index).unacked &^= bitOf(index)
	v.page(index).oversize &^= bitOf(index)
	v.forget(index)
	p := v.life(index)
	if p.firstTick < t { // otherwise no tick showed the lifetime
		p.lastFirst, p.lastEnd = p.firstTick, t
	}
	p.firstTick = t + 1
	v.renamed(index, t)
}

// forget drops the baseline of an index.
func (v *View) forget(index uint32) {
	v.leavePage(index).dropBase()
}

// scheduleWithGroup makes a despawn due. It must share a packet with everything that the client lacks of the entity's group.
func (v *View) scheduleWithGroup(index uint32, t tick.Tick) {
	v.scheduleDespawn(index, t)
	v.bind(index, t)
}

// scheduleDespawn makes a despawn due, without its group.
func (v *View) scheduleDespawn(index uint32, t tick.Tick) {
	v.page(index).retained &^= bitOf(index)
	v.life(index).endedAt = t
	v.page(index).despawnOwed |= bitOf(index)
	v.anyDespawnOwed = true
	v.wait(index)
}

// renamed notes that the visibility of an entity changed at tick t. Rows that name it change for this client: they read nil while it
// is not visible.
func (v *View) renamed(target uint32, t tick.Tick) {
	v.sights++
	v.rename(target, t)
}

// rename notes a change at tick t of visible rows that name target.
func (v *View) rename(target uint32, t tick.Tick) {
	for _, index := range v.store.refs.to(target) {
		if v.page(index).visible&bitOf(index) != 0 && v.names(index, target) {
			v.touch(index, t)
		}
	}
}

// pendingSpawns is the entities that became visible in the newest commit. The game may still hide them before the next packet, and
// hiding must leave no trace: rows that name them still read nil, and a despawn already due at the same index stays due. flushSpawns
// applies the side effects of the spawns; Plan, Write and Acked call it first.
type pendingSpawns struct {
	list         []uint32  // their indexes
	of           bitset    // those of them that can still be hidden without a trace
	replacesOwed bitset    // those of them whose index had a despawn due
	replacesSent bitset    // those of them whose index had a despawn on its way
	at           tick.Tick // the tick of the commit
}

// addSpawn adds a new entity of the newest commit to the pending spawns.
func (v *View) addSpawn(index uint32) {
	n := &v.spawns
	n.of, n.replacesOwed, n.replacesSent = n.of.grownTo(v.indexes), n.replacesOwed.grownTo(v.indexes), n.replacesSent.grownTo(v.indexes)
	n.list, n.at = append(n.list, index), v.store.tick
	n.of.set(index)
	if v.page(index).despawnOwed&bitOf(index) != 0 {
		if n.replacesOwed.set(index); v.page(index).unsent&bitOf(index) == 0 {
			n.replacesSent.set(index)
		}
	}
	v.sights++
}

// flushSpawns applies the side effects of the pending spawns: rows that name them are sent.
func (v *View) flushSpawns() {
	if len(v.spawns.list) > 0 {
		v.flushAllSpawns()
	}
}

// flushAllSpawns does what flushSpawns does. It is separate so that the test for an empty list is inlined.
func (v *View) flushAllSpawns() {
	n := &v.spawns
	for _, index := range n.list {
		if n.of.has(index) {
			n.of.unset(index)
			v.rename(index, n.at)
		}
		n.replacesOwed.unset(index)
		n.replacesSent.unset(index)
	}
	n.list = n.list[:0]
}

// cancelSpawn hides an entity of the newest commit without a trace. It returns false if the entity is no pending spawn.
func (v *View) cancelSpawn(index uint32) bool {
	n := &v.spawns
	if !n.of.has(index) {
		return false
	}
	n.of.unset(index)
	v.page(index).visible &^= bitOf(index)
	p := v.life(index)
	p.lastFirst, p.lastEnd = p.firstTick, n.at
	p.firstTick = n.at + 1
	v.sights++
	if n.replacesOwed.has(index) {
		v.page(index).despawnOwed |= bitOf(index)
		v.anyDespawnOwed = true
	}
	if !n.replacesOwed.has(index) || n.replacesSent.has(index) {
		v.page(index).unsent &^= bitOf(index)
	}
	return true
}

// applyDeferred executes the calls about sight that were made between Begin and Commit.
func (v *View) applyDeferred() {
	for _, c := range v.deferred {
		c.do(v, c)
	}
	v.deferred = v.deferred[:0]
}

// SawAt reports whether the client saw an entity at tick t. It knows the present lifetime and the one before it. Ticks before the view
// was made count as the first one. known is false if the client was never shown the entity, or if another entity has its index now.
// Package rewind uses it.
func (v *View) SawAt(id wire.NetworkID, t tick.Tick) (saw, known bool) {
	if uint(id.Index) >= uint(v.indexes) {
		return false, false
	}
	if _, held := v.page(id.Index).place(id.Index); !held {
		return false, true // it was not seen in the last W ticks
	}
	if v.life(id.Index).generation != id.Generation {
		return false, false
	}
	p, t := v.life(id.Index), max(t, v.start)
	return v.page(id.Index).visible&bitOf(id.Index) != 0 && t >= p.firstTick || t >= p.lastFirst && t < p.lastEnd, true
}

// Sights returns how often an entity came into the client's sight or left it.
func (v *View) Sights() uint64 { return v.sights }

package predict

import (
	"slices"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	netecs "github.com/arche-netcode/netcode/ecs"
	"github.com/arche-netcode/netcode/internal/world"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
)

// slot is the state of one predicted entity.
type slot struct {
	used      bool
	id        netcode.NetworkID // Zero: spawned here, and not yet matched with an entity of the server.
	entity    netecs.Entity
	origin    components.SpawnOf
	spawned   netcode.Tick // The tick of the step that spawned it; None: spawned by the server.
	absent    netcode.Tick // Spawned here: the first known tick in which the server has it no more, or not yet; None: none is known.
	hidden    bool         // Spawned here and hidden: the server should have shown it by now, and has not.
	late      bool         // It begins with the server's state: the server's entity arrived before its step was replayed, or while it was hidden.
	ended     netcode.Tick // The server has removed it as of this tick; None: it has not. See retain.
	spawnedIn uint32       // The value of spawns.rollbacks when a step spawned it last.
	added     world.Mask   // Components that this step added, beside predicted and local ones.
	asked     netcode.Tick // The tick at which its local components were last requested.
	show      showing
}

// progress tells how far an entity is compared. It is separate from slot and small, since each arriving record reads
// it.
type progress struct {
	known      netcode.Tick // The newest tick with a known server state.
	generation uint32       // The generation of the network id.
	begun      bool         // The entity has a first state: the server's, or the state of its spawn here.
}

// Predicts reports whether this client predicts an entity.
func (s *Simulation) Predicts(entity netcode.NetworkID) bool {
	return s.client != nil && s.client.slotOf(entity) >= 0
}

// followChanges updates the set of predicted entities from the changes of this frame.
func (c *client) followChanges() {
	moved := c.order.refresh(c.sim.step.World, len(c.slots))
	if n := c.replica.Stats().Despawns; n != c.despawns && c.group.Apply.Applied() {
		c.despawns, moved = n, true
	}
	if moved || c.order.count < c.used {
		c.dropGone()
	}
	if !c.group.Apply.Applied() {
		return
	}
	var ownership snapshot.Mask // The rows that decide which client predicts an entity.
	for _, row := range [...]int{c.sim.all.owner, c.sim.all.predicted} {
		if row >= 0 {
			ownership = ownership.With(row)
		}
	}
	if !c.group.Apply.Bridge().Touched(ownership) {
		return
	}
	for change := range c.group.Changes {
		if change.Spawned || change.Rows.Union(change.Added).Union(change.Removed).Overlaps(ownership) {
			c.startOrStop(change.ID)
		}
	}
}

// dropGone frees the slots of removed entities.
func (c *client) dropGone() {
	for i := range c.slots {
		s := &c.slots[i]
		if !s.used {
			continue
		}
		if !c.sim.step.World.Alive(s.entity) {
			c.remove(i)
		} else if s.ended != tick.None {
			continue
		} else if e, ok := c.group.Entity(s.id); !s.id.IsZero() && (!ok || e != s.entity) {
			c.strip(s.entity)
			c.free(i)
		}
	}
}

// retain reports whether a predicted entity that the server has removed stays in the world: until the simulation has reached
// the tick of its end. Otherwise a step before that, a first one with an input delay or a replay, would lack it.
func (c *client) retain(id netcode.NetworkID) bool {
	n := c.slotOf(id)
	if n < 0 || c.now == tick.None || c.replica != c.end.Replica() {
		return false
	}
	_, ended := c.replica.Latest(id)
	if ended <= c.history.oldest || ended-c.now >= Window {
		return false
	}
	c.slots[n].ended, c.byIndex[id.Index], c.comparison.spansVersion = ended, 0, 0
	c.ended++
	return true
}

// stripEnded removes from the simulation the entities that the server has removed up to a tick.
func (c *client) stripEnded(t netcode.Tick) {
	for i := 0; i < len(c.slots) && c.ended > 0; i++ {
		if s := &c.slots[i]; s.ended != tick.None && s.ended <= t {
			c.strip(s.entity)
		}
	}
}

// dropEnded removes the entities whose end the simulation has reached.
func (c *client) dropEnded() {
	for i := 0; i < len(c.slots) && c.ended > 0; i++ {
		if s := &c.slots[i]; s.ended != tick.None && s.ended <= c.now {
			c.remove(i)
		}
	}
}

// remove frees a slot, and removes its entity if the server has removed it.
func (c *client) remove(n int) {
	e, ended := c.slots[n].entity, c.slots[n].ended != tick.None
	c.strip(e)
	if c.free(n); ended {
		c.group.Apply.Bridge().RemoveRetained(e)
	}
}

// startOrStop starts or stops the prediction of an entity, or leaves it as it is.
func (c *client) startOrStop(id netcode.NetworkID) {
	if c.replica == nil || c.group.Apply.Bridge() == nil {
		return
	}
	want, n := c.wants(id), c.slotOf(id)
	switch {
	case want && n < 0:
		if e, ok := c.group.Entity(id); ok {
			s := slot{entity: e}
			if origin := c.originOf(id); origin.Client == c.end.ID() && origin.Client != 0 && c.now > tick.None {
				s.origin, s.spawned, s.late = origin, tick.Near(origin.Tick, c.now), true
			}
			n = c.newSlot(s)
			c.dropLocal(e)
			c.setNetworkID(id, n)
			c.wantLocals(n)
			c.sim.stats.Started++
			c.group.Apply.Bridge().SetAside(id, c.sim.all.mask)
			c.start(n)
		}
	case want && n >= 0 && c.progress[n].known == tick.None:
		c.group.Apply.Bridge().SetAside(id, c.sim.all.mask) // Apply has just written the server's state into the world.
		c.start(n)
	case !want && n >= 0:
		c.sim.stats.Stopped++
		c.leave(n)
		c.group.Apply.Bridge().SetAside(id, snapshot.Mask{})
		c.stopSimulating(c.slots[n].entity)
		c.free(n)
	}
}

// wants reports whether an entity should be predicted. A choice by Predict overrides Owner and Predicted.
func (c *client) wants(id netcode.NetworkID) bool {
	if c.replica.Entity(id.Index).ID != id {
		return false
	}
	if on, ok := c.choices.wanted[id]; ok {
		return on
	}
	return c.given(id)
}

// given reports whether components.Owner or components.Predicted make this client predict an entity.
func (c *client) given(id netcode.NetworkID) bool {
	if c.sim.all.owner >= 0 {
		if lanes := c.replica.Row(id.Index, c.sim.all.owner); lanes != nil {
			var o components.Owner
			dequantise(c.end.Protocol().Schema().Plan(c.sim.all.owner), lanes, &o)
			if o.Client == c.end.ID() {
				return true
			}
		}
	}
	if c.sim.all.predicted >= 0 {
		if lanes := c.replica.Row(id.Index, c.sim.all.predicted); lanes != nil {
			var p components.Predicted
			dequantise(c.end.Protocol().Schema().Plan(c.sim.all.predicted), lanes, &p)
			return p.By(c.end.ID())
		}
	}
	return false
}

// start schedules the first state of a newly predicted entity. The next comparison takes it from the server's newest
// known state. An entity that was spawned here keeps its own state.
func (c *client) start(n int) {
	s, m := &c.slots[n], &c.progress[n]
	c.checked[n] = tick.None
	c.setKnown(n, c.knownOf(s))
	c.comparison.spansVersion = 0
	if m.begun = s.spawned != tick.None && !s.late; m.begun {
		c.comparison.overwritten = true // Apply has written the server's state into the world.
		return
	}
	s.show = showing{enters: true}
	c.comparison.awaitsState = true
	c.setKnown(n, max(m.known, c.history.oldest))
	if _, there := c.firstTick(n); !there {
		c.strip(s.entity) // The entity does not exist at tick now. advance adds it at tick known.
	}
}

// firstTick returns the tick of the first state of a newly predicted entity: the newest known one that is not after tick
// now. ok is false if there is none: with an input delay, the simulation may be behind the known state.
func (c *client) firstTick(n int) (t netcode.Tick, ok bool) {
	s, m := &c.slots[n], &c.progress[n]
	if m.known <= c.now {
		return m.known, true
	}
	from, there := c.replica.AsOf(s.id, c.now)
	if t = from.Tick; c.isKnown(s, c.now) {
		t = c.now
	}
	return max(t, c.history.oldest), there
}

// setKnown sets the newest tick with a known server state of an entity.
func (c *client) setKnown(n int, t netcode.Tick) {
	c.progress[n].known = t
	c.ahead = max(c.ahead, t)
}

// takeNewestState writes the server's newest state of an entity into the world and into the history of tick now.
func (c *client) takeNewestState(n int) {
	c.progress[n].begun, c.checked[n], c.comparison.spansVersion = true, c.now, 0
	c.setKnown(n, c.now)
	c.correct(n, c.now)
	c.history.restore(&c.structure, c.sim.step.World, c.slots[n].entity, c.sim.simulateID, c.now, n)
}

// idOf returns the network id of a predicted entity, also of one that the server has removed; zero without one.
func (c *client) idOf(e netecs.Entity) (id netcode.NetworkID) {
	if w := c.sim.step.World; world.Has(w, e, c.placeID) {
		if n := int(placeOf(w, e, c.placeID).number) - 1; n >= 0 && n < len(c.slots) && c.slots[n].entity == e {
			id = c.slots[n].id
		}
	}
	return id
}

// slotOf returns the slot of an entity, -1 if it is not predicted.
func (c *client) slotOf(id netcode.NetworkID) int {
	if uint(id.Index) < uint(len(c.byIndex)) {
		if n := int(c.byIndex[id.Index]) - 1; n >= 0 && c.slots[n].id == id {
			return n
		}
	}
	return -1
}

// setNetworkID gives a slot its network id.
func (c *client) setNetworkID(id netcode.NetworkID, n int) {
	for len(c.byIndex) <= int(id.Index) {
		c.byIndex = append(c.byIndex, 0)
	}
	if before := int(c.byIndex[id.Index]) - 1; before >= 0 && before != n { // The slot of an earlier lifetime.
		c.strip(c.slots[before].entity)
		c.free(before)
	}
	c.byIndex[id.Index] = int32(n) + 1
	if c.slots[n].id.IsZero() {
		c.unnamed--
	}
	c.slots[n].id, c.progress[n], c.checked[n], c.comparison.spansVersion = id, progress{generation: id.Generation}, tick.None, 0
}

// newSlot puts an entity into a free slot. The slot has no network id yet.
func (c *client) newSlot(s slot) int {
	s.used = true
	n := slices.IndexFunc(c.slots, func(s slot) bool { return !s.used })
	if n < 0 {
		n = len(c.slots)
		c.slots, c.progress, c.checked = append(c.slots, slot{}), append(c.progress, progress{}), append(c.checked, tick.None)
		c.history.grow(len(c.slots))
	}
	c.slots[n], c.progress[n], c.checked[n], c.comparison.spansVersion = s, progress{begun: true}, tick.None, 0
	c.used++
	c.unnamed++
	if w := c.sim.step.World; !world.Has(w, s.entity, c.placeID) {
		c.structure.with(w, s.entity, c.placeID)
	}
	placeOf(c.sim.step.World, s.entity, c.placeID).number = int32(n) + 1
	for t := range netcode.Tick(Window) {
		c.history.setMask(t, n, 0)
	}
	return n
}

// free frees a slot. The entity stays in the world.
func (c *client) free(n int) {
	s := &c.slots[n]
	if s.id.IsZero() {
		c.unnamed--
	}
	if id := s.id; !id.IsZero() && uint(id.Index) < uint(len(c.byIndex)) && int(c.byIndex[id.Index]) == n+1 {
		c.byIndex[id.Index] = 0
	}
	if w := c.sim.step.World; w.Alive(s.entity) && world.Has(w, s.entity, c.placeID) {
		c.structure.without(w, s.entity, c.placeID)
	}
	if s.ended != tick.None {
		c.ended--
	}
	c.slots[n], c.progress[n], c.checked[n], c.comparison.spansVersion = slot{}, progress{}, tick.None, 0
	c.used--
}

// dropLocal removes the local components of an entity, since their values are not known here.
func (c *client) dropLocal(e netecs.Entity) {
	if w := c.sim.step.World; w.Alive(e) {
		c.structure.change(&c.history, w, e, c.sim.simulateID, c.history.maskOf(w, e, c.sim.simulateID)&c.replicatedBits())
	}
}

// stopSimulating removes an entity from the simulation. Its components stay.
func (c *client) stopSimulating(e netecs.Entity) {
	if w := c.sim.step.World; w.Alive(e) && world.Has(w, e, c.sim.simulateID) {
		c.structure.without(w, e, c.sim.simulateID)
	}
}

// strip removes an entity from the simulation, with its predicted, local and Smooth components.
func (c *client) strip(e netecs.Entity) {
	w := c.sim.step.World
	if !w.Alive(e) {
		return
	}
	c.structure.change(&c.history, w, e, c.sim.simulateID, 0)
	for k := range c.history.components {
		if p := &c.history.components[k]; p.shown != nil && world.Has(w, e, p.shown.id) {
			c.structure.without(w, e, p.shown.id)
		}
	}
}

package predict

import (
	"fmt"
	"time"

	"github.com/mlange-42/arche/ecs"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
)

// Spawn makes an entity in a step, for a player: a bullet. On the server it is replicated, and owned by the player. On the player's own
// client the entity is there at once, and stays the same entity when the server's arrives. On other clients, and for other
// players, ok is false: the entity comes from the server alone. It has components.Owner and components.Simulate; the system
// adds the others:
//
//	if e, ok := s.Spawn(owner.Client); ok {
//		bullets.Assign(e, &Position{at.X, at.Y}, &Velocity{X: 40})
//	}
//
// In a replay the entity of the first run comes back as it was returned then: without its predicted and local components, and without all
// that the step added. A component that was added outside of steps stays, such as a sprite. So does one that a later step added: such a
// step asks World.Has, or the component is given to predict.Local. A system spawns at most 255 entities for a player in a step. Spawn
// panics where the protocol has no predict.Spawns. A client panics behind a step that added a component that is replicated and not
// predicted: its server's value would be there before a replay adds it. The world must not be locked by a query.
func (s *Step) Spawn(owner netcode.ClientID) (e ecs.Entity, ok bool) {
	sim := s.simulation
	if !sim.all.spawns {
		panic("netcode: predict: Step.Spawn: call predict.Spawns(protocol) on both sides")
	}
	origin := components.SpawnOf{Client: owner, Tick: s.Tick.Low(), Ordinal: s.ordinal(owner)}
	if sim.server != nil {
		return sim.server.spawn(owner, origin), true
	}
	if owner != sim.client.end.ID() {
		return ecs.Entity{}, false
	}
	return sim.client.spawn(s.Tick, origin), true
}

// ordinal counts the spawns for a player in this step.
func (s *Step) ordinal(owner netcode.ClientID) uint8 {
	for i := range s.spawns {
		if n := &s.spawns[i]; n.owner == owner {
			if n.count++; n.count == 0 {
				panic(fmt.Sprintf("netcode: predict: Step.Spawn: more than 255 entities for client %d in one step", owner))
			}
			return n.count
		}
	}
	s.spawns = append(s.spawns, spawnCount{owner, 1})
	return 1
}

// Despawn removes an entity in a step. On a client it goes out of the simulation at once, without its predicted components, and is
// removed when the server confirms it. It does nothing at a client for an entity that is not predicted.
func (s *Step) Despawn(e ecs.Entity) {
	w := s.World
	switch {
	case !w.Alive(e):
	case s.simulation.server != nil:
		w.RemoveEntity(e)
	case w.Has(e, s.simulation.tagged):
		s.simulation.client.strip(e)
	}
}

// spawn makes an entity, or takes the one that this step spawned when it was taken before.
func (c *client) spawn(t netcode.Tick, origin components.SpawnOf) ecs.Entity {
	w := c.step.World
	for i := range c.slots {
		s := &c.slots[i]
		if s.used && s.spawned == t && s.origin == origin && w.Alive(s.entity) {
			s.spawnIn = c.returns
			c.strip(s.entity)
			w.Add(s.entity, c.tagged)
			c.removeAdded(s)
			c.made = append(c.made, i)
			return s.entity
		}
	}
	e := w.NewEntity(c.owner, c.spawnOf, c.tagged, c.placed)
	ownerAt(w, e, c.owner).Client = origin.Client
	*spawnOfAt(w, e, c.spawnOf) = origin
	n := c.newSlot(slot{entity: e, origin: origin, spawned: t, spawnIn: c.returns})
	c.slots[n].added = w.Mask(e)
	c.made = append(c.made, n)
	return e
}

// removeAdded removes what the step that spawned an entity added to it. Until the step ends, added is what is there without that.
func (c *client) removeAdded(s *slot) {
	w := c.step.World
	if !s.added.IsZero() {
		for _, id := range w.Ids(s.entity) {
			if s.added.Get(id) {
				w.Remove(s.entity, id)
			}
		}
	}
	s.added = w.Mask(s.entity)
}

// noteAdded notes what the step added to the entities that it spawned, beside predicted and local components.
func (c *client) noteAdded() {
	w := c.step.World
	for _, n := range c.made {
		s := &c.slots[n]
		if !w.Alive(s.entity) {
			continue
		}
		for k := range c.history.components {
			s.added.Set(c.history.components[k].id, true)
		}
		given, now := s.added.Not(), w.Mask(s.entity)
		if s.added = now.And(&given); !s.added.IsZero() {
			c.mustNotTravel(s.added)
		}
	}
}

// mustNotTravel panics for a component that is replicated.
func (c *client) mustNotTravel(added ecs.Mask) {
	schema := c.end.Protocol().Schema()
	for row := range schema.Rows() {
		if t := schema.Plan(row).Type(); added.Get(ecs.TypeID(c.step.World, t)) {
			panic(fmt.Sprintf("netcode: predict: a step gave an entity of Step.Spawn the component %s, which is replicated and not predicted: "+
				"call predict.Register[%s](protocol) on both sides, or add it at the server alone (Step.OnServer)", t, t.Name()))
		}
	}
}

// adopt finds the entity that was spawned here for one that the server shows anew.
func (c *client) adopt(id netcode.NetworkID) (ecs.Entity, bool) {
	origin := c.originOf(id)
	if origin.Client == 0 {
		return ecs.Entity{}, false
	}
	for i := range c.slots {
		s := &c.slots[i]
		if s.used && s.id.IsZero() && s.origin == origin && origin.Client == c.end.ID() {
			c.number(id, i)
			if s.hidden {
				s.hidden, s.late = false, true
			}
			return s.entity, true
		}
	}
	return ecs.Entity{}, false
}

// originOf is the step that spawned the server's entity, zero if none did.
func (c *client) originOf(id netcode.NetworkID) (origin components.SpawnOf) {
	if c.replica == nil || c.all.spawnOf < 0 {
		return origin
	}
	if lanes := c.replica.Row(id.Index, c.all.spawnOf); lanes != nil {
		dequantise(c.end.Protocol().Schema().Plan(c.all.spawnOf), lanes, &origin)
	}
	return origin
}

// dropNotRespawned removes the entities that a step has spawned, and that its replay has not. It hides again those that are hidden.
func (c *client) dropNotRespawned(t netcode.Tick) {
	for i := 0; i < len(c.slots) && c.unnamed > 0; i++ {
		switch s := &c.slots[i]; {
		case !s.used || s.spawned != t || !s.id.IsZero():
		case s.spawnIn != c.returns:
			c.unspawn(i)
		case s.hidden:
			c.hide(i)
		}
	}
}

const (
	// repeatTicks is the time beyond a round trip after which a server has repeated what was lost: three packets of later ticks tell it, and the next one repeats it.
	repeatTicks = 4
	// lateTicks is the time that a server may take to send a spawn, for lack of room or since the repeat was lost too.
	lateTicks = 8
)

// settled is the newest tick of which the server has told that all own spawns have come. While state is held back they may not be there yet.
func (c *client) settled() netcode.Tick {
	if t, held := c.end.CompleteTick(); held {
		return min(t, c.rested.settled)
	}
	return c.rested.settled
}

// dropUnconfirmed hides the entities that the server should have shown by now: where it tells so, or every packet of their tick has come,
// that is at once, else after the time of a repeat. The server may still show them, late: it removes them when that time is over too.
func (c *client) dropUnconfirmed() {
	if c.unnamed == 0 {
		return
	}
	rtt, jitter := c.end.RTT()
	trip := min(Window/2, netcode.Tick((rtt+jitter)*time.Duration(c.end.TickRate())/time.Second)+1)
	settled := c.settled()
	for i := range c.slots {
		s := &c.slots[i]
		if !s.used || !s.id.IsZero() {
			continue
		}
		known := func(t netcode.Tick) bool { return settled >= t || c.replica.Complete(s.spawned, t) }
		heard := c.replica.Heard() - s.spawned
		switch {
		case known(s.spawned+lateTicks) || heard >= 2*trip+lateTicks:
			c.stats.Unconfirmed++
			c.unspawn(i)
		case !s.hidden && (known(s.spawned) || heard >= trip+repeatTicks):
			c.hide(i)
		}
	}
}

// hide takes an entity that was spawned here out of the simulation and off the screen, and out of the history.
func (c *client) hide(n int) {
	s := &c.slots[n]
	s.hidden = true
	c.strip(s.entity)
	for t := range netcode.Tick(Window) {
		c.history.setMask(t, n, 0)
	}
}

// unspawn removes an entity that the server does not have.
func (c *client) unspawn(n int) {
	e := c.slots[n].entity
	c.free(n)
	if !c.step.World.Alive(e) {
		return
	}
	for _, f := range c.unspawned {
		c.end.Contain("OnUnspawn", func() { f(e) })
	}
	if c.step.World.Alive(e) {
		c.step.World.RemoveEntity(e)
	}
}

package predict

import (
	"fmt"
	"slices"
	"time"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	netecs "github.com/arche-netcode/netcode/ecs"
	"github.com/arche-netcode/netcode/extend"
	"github.com/arche-netcode/netcode/internal/world"
	"github.com/arche-netcode/netcode/tick"
)

// Spawn spawns an entity for a player in a step: a bullet. On the server the entity is replicated and owned by the
// player. On the player's own client the entity exists at once, and remains the same entity when the server's record
// arrives. On other clients, and for other players, ok is false: the entity comes from the server alone.
//
// The entity has components.Owner and components.Simulate. The system adds further components:
//
//	if e, ok := s.Spawn(owner.Client); ok {
//		bullets.Assign(e, &Position{at.X, at.Y}, &Velocity{X: 40})
//	}
//
// A replay reuses the entity of the first run as Spawn returned it then: without its predicted and local components, and
// without the components that the step added. A component that was added outside of steps stays, such as a sprite. So
// does one that a later step added: such a step asks World.Has, or the component is given to predict.Local. A system
// spawns at most 255 entities for a player in a step.
//
// Spawn panics on a protocol without predict.Spawns. A client panics after a step that added a component that is
// replicated and not predicted. The world must not be locked by a query.
func (s *Step) Spawn(owner netcode.ClientID) (e netecs.Entity, ok bool) {
	sim := s.simulation
	if !sim.all.spawns {
		panic("netcode: predict: Step.Spawn: call predict.Spawns(protocol) on both sides")
	}
	origin := components.SpawnOf{Client: owner, Tick: s.Tick.Low(), Ordinal: s.ordinal(owner)}
	if sim.server != nil {
		return sim.server.spawn(owner, origin), true
	}
	if owner != sim.client.end.ID() {
		return netecs.Entity{}, false
	}
	return sim.client.spawn(s.Tick, origin), true
}

// spawns has a client's own spawns.
type spawns struct {
	inStep    []int  // Slots of the entities that the present step spawned.
	rollbacks uint32 // Counts rollbacks: an entity whose count is older was not spawned again.
}

// ordinal returns the number of this spawn among the player's spawns of the step, 1 to 255.
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

// Despawn removes an entity in a step. A client removes it from the simulation at once, with its predicted components,
// and from the world when the server confirms. At a client, Despawn ignores an entity that is not predicted.
func (s *Step) Despawn(e netecs.Entity) {
	w := s.World
	switch {
	case !w.Alive(e):
	case s.simulation.server != nil:
		w.RemoveEntity(e)
	case world.Has(w, e, s.simulation.simulateID):
		s.simulation.client.strip(e)
	}
}

// spawn makes an entity, or reuses the entity that this step spawned in an earlier run.
func (c *client) spawn(t netcode.Tick, origin components.SpawnOf) netecs.Entity {
	w := c.sim.step.World
	for i := range c.slots {
		s := &c.slots[i]
		if s.used && s.spawned == t && s.origin == origin && w.Alive(s.entity) {
			s.spawnedIn = c.spawns.rollbacks
			c.strip(s.entity)
			c.structure.with(w, s.entity, c.sim.simulateID)
			c.removeAdded(s)
			c.spawns.inStep = append(c.spawns.inStep, i)
			return s.entity
		}
	}
	c.structure.add = append(c.structure.add[:0], c.sim.ownerID, c.sim.spawnOfID, c.sim.simulateID, c.placeID)
	e := world.Spawn(w, nil, c.structure.add...)
	ownerAt(w, e, c.sim.ownerID).Client = origin.Client
	*spawnOfAt(w, e, c.sim.spawnOfID) = origin
	n := c.newSlot(slot{entity: e, origin: origin, spawned: t, spawnedIn: c.spawns.rollbacks})
	c.slots[n].added = world.MaskOf(w, e)
	c.spawns.inStep = append(c.spawns.inStep, n)
	return e
}

// removeAdded removes what the step that spawned an entity added to it. Until the step ends, added is what is there without that.
func (c *client) removeAdded(s *slot) {
	w := c.sim.step.World
	if !s.added.IsZero() {
		for _, id := range world.IDs(w) {
			if s.added.Get(id) && world.Has(w, s.entity, id) {
				c.structure.without(w, s.entity, id)
			}
		}
	}
	s.added = world.MaskOf(w, s.entity)
}

// noteAdded notes what the step added to the entities that it spawned, beside predicted and local components.
func (c *client) noteAdded() {
	w := c.sim.step.World
	for _, n := range c.spawns.inStep {
		s := &c.slots[n]
		if !w.Alive(s.entity) {
			continue
		}
		for k := range c.history.components {
			s.added.Set(c.history.components[k].id, true)
		}
		given, now := s.added.Not(), world.MaskOf(w, s.entity)
		if s.added = now.And(&given); !s.added.IsZero() {
			c.mustNotTravel(s.added)
		}
	}
}

// mustNotTravel panics for a component that is replicated.
func (c *client) mustNotTravel(added world.Mask) {
	schema := c.end.Protocol().Schema()
	for row := range schema.Rows() {
		if t := schema.Plan(row).Type(); added.Get(world.TypeID(c.sim.step.World, t)) {
			panic(fmt.Sprintf("netcode: predict: a step gave an entity of Step.Spawn the component %s, which is replicated and not predicted: "+
				"call predict.Register[%s](protocol) on both sides, or add it at the server alone (Step.OnServer)", t, t.Name()))
		}
	}
}

// adopt returns the entity that was spawned here for a newly shown entity of the server.
func (c *client) adopt(id netcode.NetworkID) (netecs.Entity, bool) {
	origin := c.originOf(id)
	if origin.Client == 0 {
		return netecs.Entity{}, false
	}
	for i := range c.slots {
		s := &c.slots[i]
		if s.used && s.id.IsZero() && s.origin == origin && origin.Client == c.end.ID() {
			c.setNetworkID(id, i)
			if s.hidden {
				s.hidden, s.late = false, true
			}
			return s.entity, true
		}
	}
	return netecs.Entity{}, false
}

// originOf returns the step that spawned the server's entity, zero without one.
func (c *client) originOf(id netcode.NetworkID) (origin components.SpawnOf) {
	if c.replica == nil || c.sim.all.spawnOf < 0 {
		return origin
	}
	if lanes := c.replica.Row(id.Index, c.sim.all.spawnOf); lanes != nil {
		dequantise(c.end.Protocol().Schema().Plan(c.sim.all.spawnOf), lanes, &origin)
	}
	return origin
}

// dropNotRespawned removes entities that a step spawned in an earlier run and not in its replay. It hides the hidden
// entities again.
func (c *client) dropNotRespawned(t netcode.Tick) {
	for i := 0; i < len(c.slots) && c.unnamed > 0; i++ {
		switch s := &c.slots[i]; {
		case !s.used || s.spawned != t || !s.id.IsZero():
		case s.spawnedIn != c.spawns.rollbacks:
			c.unspawn(i)
		case s.hidden:
			c.hide(i)
		}
	}
}

const (
	// repeatTicks is added to a round trip: by then a server has repeated a lost spawn. It detects the loss by three
	// packets of later ticks and repeats the spawn in the next packet.
	repeatTicks = 4
	// lateTicks is the number of ticks by which a server may send a spawn late: packets were full, or the repeat was lost
	// too.
	lateTicks = 8
)

// spawnsArrived returns the newest tick up to which all own spawns have arrived, as the server reported. While state is
// held back, it is at most the newest complete tick.
func (c *client) spawnsArrived() netcode.Tick {
	if t, held := extend.OfClient(c.end).CompleteTick(); held {
		return min(t, c.received.spawnsArrived)
	}
	return c.received.spawnsArrived
}

// dropUnconfirmed hides entities that the server should have shown by now. It hides them at once if the server or
// complete ticks prove their absence, else after the time of a repeat. It removes them when the server can no longer show
// them late. An entity that ends here before the tick of its absence is not hidden: it may have ended at the server too.
func (c *client) dropUnconfirmed() {
	if c.unnamed == 0 {
		return
	}
	rtt, jitter := c.end.RTT()
	trip := min(Window/2, netcode.Tick((rtt+jitter)*time.Duration(c.end.TickRate())/time.Second)+1)
	arrived := c.spawnsArrived()
	for i := range c.slots {
		s := &c.slots[i]
		if !s.used || !s.id.IsZero() {
			continue
		}
		known := func(t netcode.Tick) bool { return arrived >= t || c.replica.Complete(s.spawned, t) }
		heard := c.replica.NewestKnown() - s.spawned
		if s.absent == tick.None && (known(s.spawned) || heard >= trip+repeatTicks) {
			s.absent = max(s.spawned, arrived, c.replica.NewestKnown())
		}
		switch {
		case s.absent == tick.None || c.now < s.absent: // Until then it may be that it ends as at the server.
		case known(s.spawned+lateTicks) || heard >= 2*trip+lateTicks:
			c.sim.stats.Unconfirmed++
			c.unspawn(i)
		case !s.hidden && (!c.history.holds(s.absent) || c.history.mask(s.absent, i)&alive != 0):
			c.hide(i)
		}
	}
}

// hide removes an entity that was spawned here from the simulation, the screen and the history. The entity stays in the
// world.
func (c *client) hide(n int) {
	s := &c.slots[n]
	s.hidden = true
	c.strip(s.entity)
	for t := range netcode.Tick(Window) {
		c.history.setMask(t, n, 0)
	}
}

// unspawn removes an entity that the server did not spawn.
func (c *client) unspawn(n int) {
	e := c.slots[n].entity
	c.free(n)
	if !c.sim.step.World.Alive(e) {
		return
	}
	for _, f := range c.sim.unspawned {
		extend.Contain(extend.OfClient(c.end), "OnUnspawn", func() { f(e) })
	}
	if c.sim.step.World.Alive(e) {
		c.sim.step.World.RemoveEntity(e)
	}
}

// unackedSpawns lists entities that steps of the server spawned for a client and that it has not acknowledged.
type unackedSpawns []netecs.Entity

// acked reports whether the client has acknowledged all entities. It removes the acknowledged ones.
func (u *unackedSpawns) acked(c extend.Session, w *netecs.World, replicated world.ID) bool {
	*u = slices.DeleteFunc(*u, func(e netecs.Entity) bool {
		if !w.Alive(e) || !world.Has(w, e, replicated) {
			return true
		}
		id, v := replicatedAt(w, e, replicated).ID, c.View()
		return !id.IsZero() && (v == nil || !v.Visible(id) || v.Held(id))
	})
	return len(*u) == 0
}

// spawn makes an entity for Step.Spawn.
func (s *server) spawn(owner netcode.ClientID, origin components.SpawnOf) netecs.Entity {
	w := s.sim.step.World
	e := world.Spawn(w, nil, s.sim.replicatedID, s.sim.ownerID, s.sim.spawnOfID, s.sim.simulateID)
	if c := extend.OfServer(s.end).Session(owner); c != nil {
		if state, ok := extend.ExtensionOf[*sessionState](c); ok {
			state.spawns.acked(c, w, s.sim.replicatedID)
			state.spawns = append(state.spawns, e)
		}
	}
	ownerAt(w, e, s.sim.ownerID).Client = owner
	*spawnOfAt(w, e, s.sim.spawnOfID) = origin
	return e
}

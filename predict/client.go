package predict

import (
	"github.com/arche-netcode/netcode"
	netecs "github.com/arche-netcode/netcode/ecs"
	"github.com/arche-netcode/netcode/extend"
	"github.com/arche-netcode/netcode/internal/replica"
	"github.com/arche-netcode/netcode/internal/world"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/tick"
)

// client is the simulation of a client.
type client struct {
	sim      *Simulation
	end      *netcode.Client
	group    *systems.ClientSystems
	replica  *replica.Replica // The replica of the connection; another replica restarts the simulation.
	received *clientState     // Reports of the server and ticks with new records.

	now    netcode.Tick // The tick of the world's predicted entities; None: nothing is predicted yet.
	newest netcode.Tick // The newest tick that was ever simulated: a later tick is a first run.
	ahead  netcode.Tick // No entity has a known or compared tick after this one.

	// The predicted entities, in slots.
	slots    []slot
	progress []progress     // By slot.
	checked  []netcode.Tick // By slot: the newest compared tick. Separate from progress, since each arriving record reads it.
	byIndex  []int32        // By network index: 1 + slot; 0: not predicted here.
	placeID  world.ID       // The id of component place.
	used     int            // Slots in use.
	ended    int            // Slots whose entity the server has removed.
	unnamed  int            // Slots in use without a network id.
	despawns uint64         // The count of despawns of the replica when followChanges last looked.

	// The prediction history, and the scratch memory for its writes to the world.
	history   history
	order     order
	structure structure
	restoring []int32 // Slots that are restored one by one.

	comparison comparison
	choices    choices
	spawns     spawns
	locals     locals
	smoothing  smoothing
	claimed    claims // Scratch.

	determinism determinism
	names       []string // Of the systems.
	stood       int      // Frames of the connection in which the prediction stood.
}

func newClient(s *Simulation, g *systems.ClientSystems) *client {
	received, _ := extend.ExtensionOf[*clientState](g.Client)
	c := &client{sim: s, received: received, end: g.Client, group: g, choices: choices{wanted: map[netcode.NetworkID]bool{}}, names: namesOf(s.systems)}
	g.Apply.Adopt, g.Apply.Retain = c.adopt, c.retain
	return c
}

// learn looks up the ids of the components and prepares the history.
func (c *client) learn(w *netecs.World) {
	h := &c.history
	h.components = h.components[:0]
	for _, r := range c.sim.all.rows {
		n := component{predictedRow: r, id: world.TypeID(w, r.of), size: int(r.of.Size()), lanes: make([]uint32, r.plan.Lanes())}
		n.plain, n.compare = r.plan.Plain(), quantize.NewRows(4*r.plan.Lanes())
		n.rounds = !r.unrounded && !n.plain && r.plan.Lanes() > 0
		n.packed = n.rounds && n.plan.Dense()
		n.shown = newShown(w, c.end.Protocol(), &r)
		c.smoothing.shows, c.comparison.tolerant = c.smoothing.shows || n.shown != nil, c.comparison.tolerant || r.tolerance > 0
		h.components = append(h.components, n)
	}
	for i := range c.sim.all.local {
		t := c.sim.all.local[i].of
		h.components = append(h.components, component{predictedRow: predictedRow{row: -1}, id: world.TypeID(w, t), size: int(t.Size())})
	}
	c.placeID = world.ComponentID[place](w)
	c.order = newOrder(w, h, c.placeID, c.sim.simulateID)
	h.columns = make([][]byte, len(h.components))
	h.saved = make([][]byte, Window)
	h.grow(16)
}

// update runs one frame of a client: it compares, rolls back and replays.
func (c *client) update() {
	if c.end.Replica() != c.replica {
		c.forgetConnection()
	}
	bridge := c.group.Apply.Bridge()
	if bridge == nil || c.replica == nil || c.end.State() != netcode.Connected {
		return
	}
	c.sendChoices()
	c.followChanges()
	at := c.end.Time()
	target := c.target(at)
	if target <= tick.None {
		return // The server began less than InputDelay ticks ago.
	}
	if c.now == tick.None {
		c.begin(min(target-1, c.replica.NewestKnown()))
	}
	if target-c.now >= Window || c.now-target >= Window {
		c.restartHistory(max(c.replica.NewestKnown(), target-Window/2))
	}
	if c.sim.all.askLocals != nil {
		c.sim.all.askLocals(c)
	}
	if t := earliest(c.rollbackTick(), c.repeatedTick(target)); t > tick.None {
		c.rememberShown()
		c.rollBack(t)
	}
	c.judge()
	c.replay(target)
	c.dropEnded()
	c.dropUnconfirmed()
	c.sendClaims()
	c.show(at, target)
}

// stoodFrames is the number of frames of a connection in which the prediction stands before that is reported.
const stoodFrames = 8

// target returns the tick up to which the client predicts. Window bounds the distance from the newest tick that it knows of the server.
func (c *client) target(at tick.Time) netcode.Tick {
	target, most := at.Tick-netcode.Tick(c.sim.config.InputDelay), c.replica.NewestKnown()+Window-1
	if target <= most {
		return target
	}
	c.sim.stats.Stood++
	if c.stood++; c.stood == stoodFrames {
		c.end.Report(&StoodError{Ahead: int(target - most + Window - 1), TickRate: c.end.TickRate()})
	}
	return most
}

// repeatedTick returns the tick before target if the clock went back to it, None else: the ticks from target on repeat, with newer inputs.
func (c *client) repeatedTick(target netcode.Tick) netcode.Tick {
	if target < c.now && c.history.holds(target-1) {
		return target - 1
	}
	return tick.None
}

// forgetConnection forgets a connection. It removes its own spawns; Apply removes the server's entities.
func (c *client) forgetConnection() {
	c.replica = c.end.Replica()
	c.now, c.newest = tick.None, tick.None
	for i := range c.slots {
		if s := &c.slots[i]; s.used {
			if s.id.IsZero() && c.sim.step.World.Alive(s.entity) {
				c.sim.step.World.RemoveEntity(s.entity)
			}
			c.free(i)
		}
	}
	c.slots, c.progress, c.checked = c.slots[:0], c.progress[:0], c.checked[:0]
	clear(c.byIndex)
	c.locals, c.determinism, c.stood = locals{}, determinism{}, 0
	c.sim.effects.forget()
	c.ahead, c.comparison.awaitsState, c.despawns, c.comparison.counts = tick.None, false, 0, [Window]comparedCount{}
	clear(c.choices.wanted)
	c.choices.unsent = c.choices.unsent[:0]
	c.smoothing = smoothing{shows: c.smoothing.shows, leaving: c.smoothing.leaving[:0]}
}

// begin starts the history at a tick, with the world as it is.
func (c *client) begin(t netcode.Tick) {
	c.now, c.newest, c.history.oldest, c.history.newest = t, t, t, t
	c.keep(t)
}

// restartHistory restarts the history of a client that fell behind. Each entity takes the server's newest state.
func (c *client) restartHistory(t netcode.Tick) {
	c.sim.stats.Restarts++
	c.begin(t)
	for i := range c.slots {
		if c.slots[i].ended != tick.None {
			c.remove(i)
		} else if c.slots[i].used && !c.slots[i].id.IsZero() {
			c.dropLocal(c.slots[i].entity)
			c.takeNewestState(i)
			c.wantLocals(i)
		}
	}
}

// rollBack restores the predicted entities and the resources of an earlier tick.
func (c *client) rollBack(t netcode.Tick) {
	c.sim.stats.Rollbacks++
	c.spawns.rollbacks++
	h := &c.history
	c.now, h.newest = t, t
	c.order.refresh(c.sim.step.World, len(c.slots))
	c.restoring = c.order.restore(h, t, c.restoring[:0])
	if c.order.count < c.used {
		for i := range c.slots {
			if c.slots[i].used && !c.order.in[i] {
				c.restoring = append(c.restoring, int32(i))
			}
		}
	}
	for _, n := range c.restoring {
		if e := c.slots[n].entity; c.sim.step.World.Alive(e) {
			h.restore(&c.structure, c.sim.step.World, e, c.sim.simulateID, t, int(n))
		}
	}
	saved := c.history.saved[t%Window]
	for _, r := range c.sim.resources {
		if len(saved) < 3 {
			break // The resource was added after that tick.
		}
		size := int(saved[0]) | int(saved[1])<<8 | int(saved[2])<<16
		r.Load(saved[3 : 3+size])
		saved = saved[3+size:]
	}
}

// replay runs the steps up to a tick, first or repeated ones. The steps beyond Config.MaxReplay follow in the next
// frames.
func (c *client) replay(to netcode.Tick) {
	for n := 0; c.now < to; n++ {
		if n == c.sim.config.MaxReplay {
			c.sim.stats.Postponed++
			return
		}
		c.advance()
	}
}

// advance runs the next step. A known server state of its tick replaces the result.
func (c *client) advance() {
	t := c.now + 1
	c.spawns.inStep = c.spawns.inStep[:0]
	c.sim.run(t, t > c.newest)
	c.now, c.newest = t, max(c.newest, t)
	c.noteAdded()
	c.dropNotRespawned(t)
	c.stripEnded(t)
	c.keep(t)
	if len(c.locals.taken) > 0 {
		c.retakeLocals(t)
	}
	if t > c.ahead {
		return
	}
	for i := range c.slots {
		s, m := &c.slots[i], &c.progress[i]
		if !s.used || s.id.IsZero() {
			continue
		}
		if c.checked[i] != t {
			if c.checked[i] > t || m.known < t || !c.isKnown(s, t) {
				continue
			}
			m.begun, c.checked[i], c.comparison.spansVersion = true, t, 0
		}
		c.correct(i, t)
		c.history.restore(&c.structure, c.sim.step.World, s.entity, c.sim.simulateID, t, i)
	}
}

// keep stores the predicted entities and the resources as of a tick.
func (c *client) keep(t netcode.Tick) {
	h := &c.history
	h.newest = t
	h.oldest = max(h.oldest, t-Window+1)
	c.order.refresh(c.sim.step.World, len(c.slots))
	c.order.keep(h, t)
	if c.order.count < c.used {
		c.keepOthers(t)
	}
	saved := h.saved[t%Window][:0]
	for _, r := range c.sim.resources {
		from := len(saved)
		saved = r.Save(append(saved, 0, 0, 0))
		size := len(saved) - from - 3
		saved[from], saved[from+1], saved[from+2] = byte(size), byte(size>>8), byte(size>>16)
	}
	h.saved[t%Window] = saved
}

// keepOthers stores the entities that have a slot and are not in the simulation.
func (c *client) keepOthers(t netcode.Tick) {
	for i := range c.slots {
		s := &c.slots[i]
		switch {
		case !s.used || c.order.in[i]:
		case c.sim.step.World.Alive(s.entity):
			c.history.keep(c.sim.step.World, s.entity, c.sim.simulateID, t, i)
		default:
			c.history.setMask(t, i, 0)
		}
	}
}

package predict

import (
	"github.com/mlange-42/arche/ecs"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/tick"
)

// client is the simulation of a client.
type client struct {
	*Simulation
	end     *netcode.Client
	group   *systems.ClientSystems
	replica *netcode.Replica // The replica of the connection; another replica restarts the simulation.

	history       history
	order         order
	spans         []span // By slot.
	spanned       int    // The order.version of spans; 0: spans are out of date.
	structure     structure
	slots         []slot
	marks         []mark         // By slot.
	checked       []netcode.Tick // By slot: the newest compared tick. Separate from mark, since each arriving record reads it.
	byIndex       []int32        // By network index: 1 + slot; 0: not predicted here.
	placed        ecs.ID         // The id of component place.
	used          int            // Slots in use.
	unnamed       int            // Slots in use without a network id.
	shows         bool           // A component has components.Smooth.
	tolerant      bool           // A component has a Tolerance.
	chosen        map[netcode.NetworkID]bool
	unsentChoices []chosen // Choices that were not yet sent to the server.

	now         netcode.Tick // The tick of the world's predicted entities; None: nothing is predicted yet.
	newest      netcode.Tick // The newest tick that was ever simulated: a later tick is a first run.
	ahead       netcode.Tick // No entity has a known or compared tick after this one.
	begins      bool         // Some entity waits for its first state.
	ended       uint64       // The count of despawns of the replica when follow last looked.
	seen        [Window]seen // By tick modulo Window.
	others      []int32      // Scratch: slots.
	made        []int        // Slots of the entities that the present step spawned.
	unlike      []uint64     // Scratch: a bit for each entity of a range.
	locals      locals
	leaving     []leaving    // Components that blend from the prediction back to the interpolated past.
	received    *clientState // Reports of the server and ticks with new records.
	returns     uint32       // Counts rollbacks.
	overwritten bool         // The world differs from the history of tick now: Apply wrote the server's state.
	otherInputs netcode.Tick // Later ticks were simulated with other inputs than the server's; None: no tick was.
}

func newClient(s *Simulation, g *systems.ClientSystems) *client {
	received, _ := netcode.ExtensionOf[*clientState](g.Client)
	c := &client{Simulation: s, received: received, end: g.Client, group: g, chosen: map[netcode.NetworkID]bool{}}
	g.Apply.Adopt = c.adopt
	return c
}

// learn looks up the ids of the components and prepares the history.
func (c *client) learn(w *ecs.World) {
	h := &c.history
	h.components = h.components[:0]
	for _, r := range c.all.rows {
		n := component{predictedRow: r, id: ecs.TypeID(w, r.of), size: int(r.of.Size()), lanes: make([]uint32, r.plan.Lanes())}
		n.plain, n.compare = r.plan.Plain(), quantize.NewRows(4*r.plan.Lanes())
		n.rounds = !r.unrounded && !n.plain && r.plan.Lanes() > 0
		n.packed = n.rounds && n.plan.Dense()
		n.shown = newShown(w, c.end.Protocol(), &r)
		c.shows, c.tolerant = c.shows || n.shown != nil, c.tolerant || r.tolerance > 0
		h.components = append(h.components, n)
	}
	for i := range c.all.local {
		t := c.all.local[i].of
		h.components = append(h.components, component{predictedRow: predictedRow{row: -1}, id: ecs.TypeID(w, t), size: int(t.Size())})
	}
	c.placed = ecs.ComponentID[place](w)
	c.order = newOrder(w, h, c.placed, c.tagged)
	h.columns = make([][]byte, len(h.components))
	h.saved = make([][]byte, Window)
	h.grow(16)
}

// update runs one frame of a client: it compares, rolls back and replays.
func (c *client) update() {
	if c.end.Replica() != c.replica {
		c.restart()
	}
	bridge := c.group.Apply.Bridge()
	if bridge == nil || c.replica == nil || c.end.State() != netcode.Connected {
		return
	}
	c.sendChoices()
	at := c.end.Time()
	target := min(at.Tick-netcode.Tick(c.config.InputDelay), c.replica.NewestKnown()+Window-1)
	if target <= tick.None {
		return
	}
	if c.now == tick.None {
		c.begin(min(target-1, c.replica.NewestKnown()))
	}
	c.follow()
	if target-c.now >= Window || c.now-target >= Window {
		c.beginAgain(max(c.replica.NewestKnown(), target-Window/2))
	}
	if c.all.askLocals != nil {
		c.all.askLocals(c)
	}
	if t := c.rollbackTick(); t > tick.None {
		c.rememberShown()
		c.rollBack(t)
	}
	c.replay(target)
	c.dropUnconfirmed()
	c.show(at, c.now >= target)
	c.showLeaving(at)
}

// restart forgets a connection. It removes its own spawns; Apply removes the server's entities.
func (c *client) restart() {
	c.replica = c.end.Replica()
	c.now, c.newest = tick.None, tick.None
	for i := range c.slots {
		if s := &c.slots[i]; s.used {
			if s.id.IsZero() && c.step.World.Alive(s.entity) {
				c.step.World.RemoveEntity(s.entity)
			}
			c.free(i)
		}
	}
	c.slots, c.marks, c.checked = c.slots[:0], c.marks[:0], c.checked[:0]
	clear(c.byIndex)
	c.locals = locals{}
	c.ahead, c.begins, c.ended, c.seen = tick.None, false, 0, [Window]seen{}
	clear(c.chosen)
	c.unsentChoices = c.unsentChoices[:0]
	c.leaving = c.leaving[:0]
}

// begin starts the history at a tick, with the world as it is.
func (c *client) begin(t netcode.Tick) {
	c.now, c.newest, c.history.oldest, c.history.newest = t, t, t, t
	c.keep(t)
}

// beginAgain restarts the history of a client that fell behind. Each entity takes the server's newest state.
func (c *client) beginAgain(t netcode.Tick) {
	c.stats.Restarts++
	c.begin(t)
	for i := range c.slots {
		if c.slots[i].used && !c.slots[i].id.IsZero() {
			c.dropLocal(c.slots[i].entity)
			c.take(i)
			c.wantLocals(i)
		}
	}
}

// rollBack restores the predicted entities and the resources of an earlier tick.
func (c *client) rollBack(t netcode.Tick) {
	c.stats.Rollbacks++
	c.returns++
	h := &c.history
	c.now, h.newest = t, t
	c.order.look(c.step.World, len(c.slots))
	c.others = c.order.restore(h, t, c.others[:0])
	if c.order.count < c.used {
		for i := range c.slots {
			if c.slots[i].used && !c.order.in[i] {
				c.others = append(c.others, int32(i))
			}
		}
	}
	for _, n := range c.others {
		if e := c.slots[n].entity; c.step.World.Alive(e) {
			h.restore(&c.structure, c.step.World, e, c.tagged, t, int(n))
		}
	}
	saved := c.history.saved[t%Window]
	for _, r := range c.resources {
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
		if n == c.config.MaxReplay {
			c.stats.Postponed++
			return
		}
		c.advance()
	}
}

// advance runs the next step. A known server state of its tick replaces the result.
func (c *client) advance() {
	t := c.now + 1
	c.made = c.made[:0]
	c.run(t, t > c.newest)
	c.now, c.newest = t, max(c.newest, t)
	c.noteAdded()
	c.dropNotRespawned(t)
	c.keep(t)
	if len(c.locals.taken) > 0 {
		c.retakeLocals(t)
	}
	if t > c.ahead {
		return
	}
	for i := range c.slots {
		s, m := &c.slots[i], &c.marks[i]
		if !s.used || s.id.IsZero() {
			continue
		}
		if c.checked[i] != t {
			if c.checked[i] > t || m.known < t || !c.isKnown(s, t) {
				continue
			}
			m.begun, c.checked[i], c.spanned = true, t, 0
		}
		c.correct(i, t)
		c.history.restore(&c.structure, c.step.World, s.entity, c.tagged, t, i)
	}
}

// keep stores the predicted entities and the resources as of a tick.
func (c *client) keep(t netcode.Tick) {
	h := &c.history
	h.newest = t
	h.oldest = max(h.oldest, t-Window+1)
	c.order.look(c.step.World, len(c.slots))
	c.order.keep(h, t)
	if c.order.count < c.used {
		c.keepOthers(t)
	}
	saved := h.saved[t%Window][:0]
	for _, r := range c.resources {
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
		case c.step.World.Alive(s.entity):
			c.history.keep(c.step.World, s.entity, c.tagged, t, i)
		default:
			c.history.setMask(t, i, 0)
		}
	}
}

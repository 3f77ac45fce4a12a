package predict

import (
	"slices"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/input"
	"github.com/arche-netcode/netcode/internal/plain"
	"github.com/arche-netcode/netcode/replica"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
)

// rollbackTick compares the newly known server state with the prediction and corrects the history. It returns the tick to roll
// back to, None if nothing differs.
func (c *client) rollbackTick() netcode.Tick {
	c.inputsAs = earliest(c.correctedInputs(), c.guessedInputs())
	return earliest(c.inputsAs, c.takeFirstStates(), c.compareRecords(), c.compareResting(), c.takeLocals(), c.takeWorld())
}

// earliest returns the earliest of some ticks, None without any.
func earliest(ticks ...netcode.Tick) (first netcode.Tick) {
	for _, t := range ticks {
		if t != tick.None && (first == tick.None || t < first) {
			first = t
		}
	}
	return first
}

// correctedInputs returns the tick before the first one for which the server used another input of this client.
func (c *client) correctedInputs() netcode.Tick {
	t, ok := input.Corrected(c.end)
	return c.inputsSince(t, ok, &c.sim.stats.Corrected)
}

// guessedInputs returns the tick before the first one for which an input of another player was guessed wrongly.
func (c *client) guessedInputs() netcode.Tick {
	t, ok := input.Guessed(c.end)
	return c.inputsSince(t, ok, &c.sim.stats.Guessed)
}

// inputsSince counts a rollback to the tick before t, and returns that tick. It returns None if it is not stored.
func (c *client) inputsSince(t netcode.Tick, ok bool, count *uint64) netcode.Tick {
	if !ok || t > c.now || !c.history.holds(t-1) {
		return tick.None
	}
	*count++
	return t - 1
}

// takeFirstStates takes the first states of newly predicted entities. It returns the earliest tick of one.
func (c *client) takeFirstStates() (first netcode.Tick) {
	if !c.begins {
		return tick.None
	}
	c.begins = false
	for i := range c.set.slots {
		s := &c.set.slots[i]
		switch {
		case !s.used || s.id.IsZero() || s.begun:
		case s.known <= c.now:
			s.begun, s.compared = true, s.known
			c.correct(i, s.known)
			first = earliest(first, s.known)
		default:
			c.begins = true // advance takes the state when the simulation reaches its tick.
		}
	}
	return first
}

// takeWorld returns tick now if the world differs from its history.
func (c *client) takeWorld() netcode.Tick {
	if !c.dirty {
		return tick.None
	}
	c.dirty = false
	return c.now
}

// seen is the number of records of a tick that were compared.
type seen struct {
	tick  netcode.Tick
	count int
}

// compareRecords compares the newly read records, the newest tick first: of each entity, only its newest record is compared. It
// returns the earliest mispredicted tick.
func (c *client) compareRecords() (first netcode.Tick) {
	list := c.rested.read
	slices.SortFunc(list, func(a, b netcode.Tick) int { return int(b - a) })
	for _, t := range list {
		s := &c.seen[t%Window]
		if s.tick != t {
			if t < s.tick {
				continue
			}
			*s = seen{tick: t}
		}
		records := c.replica.Records(t)
		for n := records.Len(); s.count < n; {
			e := records.Range(s.count)
			s.count += int(e.Count)
			first = earliest(first, c.compareRange(&e))
		}
	}
	c.rested.read = list[:0]
	return first
}

// compareRange compares records of entities with consecutive indexes. It returns the tick of the records if one was mispredicted.
func (c *client) compareRange(e *replica.EntityRange) (wrong netcode.Tick) {
	inColumns := !plain.On && c.history.holds(e.Tick) && !e.Mask.Overlaps(c.replica.Schema().Coarse)
	truth, count := c.serverMask(e.Mask), 0
	for n, most := 0, min(int(e.Count), len(c.set.byIndex)-int(e.Index)); n < most; n += max(count, 1) {
		slot := int(c.set.byIndex[int(e.Index)+n]) - 1
		if count = 0; slot < 0 || c.set.slots[slot].id.Generation != e.Generation {
			continue
		}
		if inColumns {
			count = c.alike(e, n, slot, truth)
		}
		if count > 0 {
			wrong = max(wrong, c.compareColumns(e, n, slot, count))
		} else {
			wrong = max(wrong, c.compareEntity(slot, e.Tick))
		}
	}
	return wrong
}

// alike counts the entities, from the n-th of the range on, that compareColumns can compare at once, at most 64: their slots are
// consecutive, they have the components of the records, and they were not compared in that tick.
func (c *client) alike(e *replica.EntityRange, n, slot int, truth uint64) (count int) {
	most := min(int(e.Count)-n, len(c.set.byIndex)-int(e.Index)-n, len(c.set.slots)-slot, 64)
	numbers, slots := c.set.byIndex[int(e.Index)+n:][:most], c.set.slots[slot:][:most]
	masks, sent := c.history.masksOf(e.Tick, slot, most), c.sentBits()
	for count < most {
		s := &slots[count]
		if int(numbers[count]) != slot+count+1 || s.id.Generation != e.Generation || !s.begun || s.compared >= e.Tick || masks[count]&sent != truth {
			break
		}
		count++
	}
	return count
}

// compareColumns is the fast path of compareEntity, for count entities with consecutive slots: it compares their records component
// by component. Where a difference must be described, compareEntity follows for each entity that differs.
func (c *client) compareColumns(e *replica.EntityRange, n, slot, count int) netcode.Tick {
	lanes, width := c.replica.Lanes(e.Tick)[int(e.First)+n*int(e.Width):], int(e.Width)
	differ := uint64(0)
	for k := range c.history.components {
		if p := &c.history.components[k]; p.row >= 0 && e.Mask.Has(p.row) && len(p.lanes) > 0 {
			first, _ := c.replica.Place(e.Mask, p.row)
			differ |= c.history.differing(e.Tick, slot, count, k, lanes[first:], width)
		}
	}
	describe, wrong := c.tolerant || len(c.sim.mispredicted) > 0 || c.sim.all.explain != nil, tick.None
	c.ahead = max(c.ahead, e.Tick)
	for i := range count {
		s := &c.set.slots[slot+i]
		if differ>>i&1 != 0 && describe {
			wrong = max(wrong, c.compareEntity(slot+i, e.Tick))
			continue
		}
		if s.known, s.compared = max(s.known, e.Tick), e.Tick; differ>>i&1 != 0 {
			wrong = e.Tick
			c.reportMisprediction(slot+i, Misprediction{Tick: e.Tick}, tick.None)
		}
	}
	for k := range c.history.components {
		if p := &c.history.components[k]; !describe && differ != 0 && p.row >= 0 && e.Mask.Has(p.row) && len(p.lanes) > 0 {
			first, _ := c.replica.Place(e.Mask, p.row)
			c.history.write(e.Tick, slot, differ, k, lanes[first:], width)
		}
	}
	return wrong
}

// compareEntity compares an entity with the server's state of a tick. It returns the tick if the prediction was wrong, else None.
func (c *client) compareEntity(n int, t netcode.Tick) netcode.Tick {
	s := &c.set.slots[n]
	if t <= s.compared || !s.begun {
		return tick.None
	}
	c.know(n, max(s.known, t))
	if t > c.now || !c.history.holds(t) {
		return tick.None
	}
	before := s.compared
	s.compared = t
	state, there := c.replica.AsOf(s.id, t)
	if !there {
		return tick.None
	}
	d, differs := c.differs(n, t, &state)
	if !differs {
		return tick.None
	}
	c.reportMisprediction(n, d, before)
	c.write(n, t, &state)
	return t
}

// reportMisprediction counts a misprediction and tells the game. before is the tick that was compared before. A difference in a
// tick with other inputs than the server's is expected, and not reported.
func (c *client) reportMisprediction(n int, d Misprediction, before netcode.Tick) {
	if c.inputsAs != tick.None && d.Tick > c.inputsAs {
		return
	}
	c.sim.stats.Mispredictions++
	if c.set.slots[n].asked+Window < c.now {
		c.wantLocals(n)
	}
	for _, f := range c.sim.mispredicted {
		c.end.Contain("OnMisprediction", func() { f(d) })
	}
	if c.sim.all.explain != nil {
		c.sim.all.explain(c, d, before)
	}
}

// compareResting compares the resting entities that the server reported since the last comparison. It returns the earliest
// mispredicted tick.
func (c *client) compareResting() (first netcode.Tick) {
	for _, index := range c.rested.news {
		if int(index) < len(c.set.byIndex) && c.set.byIndex[index] > 0 {
			first = earliest(first, c.compareEntity(int(c.set.byIndex[index])-1, c.rested.of(index)))
		}
	}
	c.rested.news = c.rested.news[:0]
	return first
}

// knownOf returns the newest tick with a known server state of an entity: its newest record, or a tick in which the
// server reported it as resting.
func (c *client) knownOf(s *slot) netcode.Tick {
	newest, _ := c.replica.Latest(s.id)
	return max(newest, c.restedAt(s.id.Index))
}

// restedAt returns the newest tick in which an entity is known to equal its newest record. While a client holds state
// back until a tick is complete, only the newest complete tick counts: the reported rest may refer to a record that is
// held back.
func (c *client) restedAt(index uint32) netcode.Tick {
	if t, held := c.end.CompleteTick(); held && c.end.Newest().Tick() != c.replica.Tick() {
		return t
	}
	return c.rested.of(index)
}

// isKnown reports whether the server's state of an entity in a tick is known.
func (c *client) isKnown(s *slot, t netcode.Tick) bool {
	from, there := c.replica.AsOf(s.id, t)
	return there && (from.Tick == t || c.restedAt(s.id.Index) == t)
}

// serverMask returns the predicted components of a server's entity, as a mask of the history.
func (c *client) serverMask(rows snapshot.Mask) (mask uint64) {
	mask = alive
	for k := range c.history.components {
		if row := c.history.components[k].row; row >= 0 && rows.Has(row) {
			mask |= 1 << k
		}
	}
	return mask
}

// sentBits returns the bits of a mask that the server's state also has: alive and the predicted components.
func (c *client) sentBits() (mask uint64) {
	return alive | 1<<len(c.sim.all.rows) - 1
}

// differs compares an entity in a tick with the server's state and returns the first difference.
func (c *client) differs(n int, t netcode.Tick, state *replica.Version) (m Misprediction, differs bool) {
	mask, truth := c.history.mask(t, n)&c.sentBits(), c.serverMask(state.Mask)
	if mask != truth {
		return c.structureDiffers(c.mispredictionOf(n, t), mask, truth), true
	}
	for k := range c.history.components {
		p := &c.history.components[k]
		if p.row < 0 || mask>>k&1 == 0 || p.plan.Lanes() == 0 {
			continue
		}
		if d, deviates := p.plan.Deviates(c.history.lanesOf(t, n, k), state.Row(p.row), p.tolerance); deviates {
			m = c.mispredictionOf(n, t)
			m.Component, m.Field, m.Predicted, m.True = p.plan.Name(), d.Field, d.From, d.To
			return m, true
		}
	}
	return m, false
}

// mispredictionOf returns a misprediction of an entity without the difference.
func (c *client) mispredictionOf(n int, t netcode.Tick) Misprediction {
	s := &c.set.slots[n]
	return Misprediction{Tick: t, Entity: s.entity, ID: s.id, Owner: c.sim.step.Owner(s.entity)}
}

// structureDiffers describes a component, or an entity, that exists on one side only.
func (c *client) structureDiffers(m Misprediction, mask, truth uint64) Misprediction {
	m.Predicted, m.True = float64(mask>>63), float64(truth>>63)
	for k := range c.sim.all.rows {
		if (mask^truth)&alive == 0 && (mask^truth)>>k&1 != 0 {
			m.Component = c.history.components[k].plan.Name()
			m.True, m.Predicted = float64(truth>>k&1), float64(mask>>k&1)
			break
		}
	}
	return m
}

// correct writes the server's state of an entity as of a tick into the history of that tick. If the first state is of a later
// tick, it writes that one.
func (c *client) correct(n int, t netcode.Tick) {
	id := c.set.slots[n].id
	state, there := c.replica.AsOf(id, t)
	if newest, _ := c.replica.Latest(id); !there && newest > t {
		state, there = c.replica.AsOf(id, newest)
	}
	if there {
		c.write(n, t, &state)
	}
}

// write writes the server's state of an entity into the history of a tick. Local components stay as they were.
func (c *client) write(n int, t netcode.Tick, state *replica.Version) {
	s, w := &c.set.slots[n], c.sim.step.World
	had := c.history.mask(t, n)
	local := had &^ c.sentBits()
	if had&alive == 0 { // No local components are stored for t: take the present ones.
		local = c.history.maskOf(w, s.entity, c.sim.tagged) &^ c.sentBits()
	}
	now := c.serverMask(state.Mask) | local
	c.history.setMask(t, n, now)
	for k := range c.history.components {
		p := &c.history.components[k]
		if now>>k&1 == 0 {
			continue
		}
		to := c.history.bytes(t, n, k)
		if p.keepsLanes() {
			copy(wordsOf(to), state.Row(p.row))
			continue
		}
		if had>>k&1 == 0 {
			clear(to)
			if w.Alive(s.entity) && w.Has(s.entity, p.id) { // Fields that are not replicated stay.
				copy(to, bytesOf(w, s.entity, p.id, p.size))
			}
		}
		if p.row >= 0 && p.plan.Lanes() > 0 {
			p.plan.Dequantise(state.Row(p.row), pointerTo(to))
		}
	}
}

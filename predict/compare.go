package predict

import (
	"math/bits"
	"slices"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/extend"
	"github.com/arche-netcode/netcode/input"
	"github.com/arche-netcode/netcode/internal/plain"
	"github.com/arche-netcode/netcode/internal/replica"
	"github.com/arche-netcode/netcode/internal/world"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
)

// comparison is the state of a client's comparisons of the server's state with the prediction.
type comparison struct {
	spans        []span                // By slot.
	spansVersion int                   // The order.version of spans; 0: spans are out of date.
	counts       [Window]comparedCount // By tick modulo Window.
	differing    []uint64              // Scratch: a bit for each entity of a range.
	tolerant     bool                  // A component has a Tolerance.

	awaitsState bool         // Some entity waits for its first state.
	overwritten bool         // The world differs from the history of tick now: Apply wrote the server's state.
	otherInputs netcode.Tick // Later ticks were simulated with other inputs than the server's; None: no tick was.
}

// rollbackTick compares the newly known server state with the prediction and corrects the history. It returns the tick to
// roll back to, None if nothing differs: the earliest tick of all reasons for a rollback.
func (c *client) rollbackTick() netcode.Tick {
	c.comparison.otherInputs = earliest(c.correctedInput(), c.wrongGuess())
	return earliest(
		c.comparison.otherInputs,
		c.takeFirstStates(),
		c.compareRecords(),
		c.compareResting(),
		c.takeLocals(),
		c.overwrittenTick(),
	)
}

// earliest returns the earliest of some ticks. None is no tick.
func earliest(ticks ...netcode.Tick) (first netcode.Tick) {
	for _, t := range ticks {
		if first == tick.None || t != tick.None && t < first {
			first = t
		}
	}
	return first
}

// correctedInput returns the tick before the first one in which the server used another input of this client, None
// without such a tick.
func (c *client) correctedInput() netcode.Tick {
	if t, ok := input.Corrected(c.end); ok && t <= c.now && c.history.holds(t-1) {
		c.sim.stats.Corrected++
		return t - 1
	}
	return tick.None
}

// wrongGuess returns the tick before the first one in which a relayed input differs from its guess, None without such a
// tick.
func (c *client) wrongGuess() netcode.Tick {
	if t, ok := input.Guessed(c.end); ok && t <= c.now && c.history.holds(t-1) {
		c.sim.stats.Guessed++
		return t - 1
	}
	return tick.None
}

// overwrittenTick returns tick now if the world differs from the history of that tick, else None.
func (c *client) overwrittenTick() netcode.Tick {
	if c.comparison.overwritten {
		c.comparison.overwritten = false
		return c.now
	}
	return tick.None
}

// takeFirstStates takes the first states of newly predicted entities. It returns the earliest tick of these states.
func (c *client) takeFirstStates() (back netcode.Tick) {
	if !c.comparison.awaitsState {
		return tick.None
	}
	c.comparison.awaitsState = false
	for i := range c.slots {
		s, m := &c.slots[i], &c.progress[i]
		if !s.used || s.id.IsZero() || m.begun {
			continue
		}
		t, there := c.firstTick(i)
		if !there {
			c.comparison.awaitsState = true // advance takes the state when the simulation reaches its tick.
			continue
		}
		m.begun, c.checked[i], c.comparison.spansVersion = true, t, 0
		c.correct(i, t)
		back = earliest(back, t)
	}
	return back
}

// comparedCount is the number of records of a tick that were compared.
type comparedCount struct {
	tick  netcode.Tick
	count int
}

// compareRecords compares the newly read records, the newest tick first: of each entity, only its newest record is
// compared. It returns the earliest tick with a misprediction.
func (c *client) compareRecords() (back netcode.Tick) {
	c.findSpans()
	list := c.received.readTicks
	slices.SortFunc(list, func(a, b netcode.Tick) int { return int(b - a) })
	for _, t := range list {
		s := &c.comparison.counts[t%Window]
		if s.tick != t {
			if t < s.tick {
				continue
			}
			*s = comparedCount{tick: t}
		}
		records := c.replica.Records(t)
		for n := records.Len(); s.count < n; {
			e := records.RangeAt(s.count)
			s.count += int(e.Count)
			back = earliest(back, c.compareRange(&e))
		}
	}
	c.received.readTicks = list[:0]
	return back
}

// compareRange compares records of entities with consecutive indexes. It returns their tick if one is a misprediction.
func (c *client) compareRange(e *replica.EntityRange) (back netcode.Tick) {
	serverMask := c.serverMask(e.Mask)
	for n := 0; n < int(e.Count); {
		index := int(e.Index) + n
		if index >= len(c.byIndex) {
			break
		}
		slot := int(c.byIndex[index]) - 1
		switch {
		case slot < 0 || c.progress[slot].generation != e.Generation || !c.progress[slot].begun:
			n++
		case e.Tick > c.now:
			c.setKnown(slot, max(c.progress[slot].known, e.Tick))
			n++
		case !c.history.holds(e.Tick) || c.sim.traces != nil || e.Mask.Overlaps(c.replica.Schema().Coarse):
			back = earliest(back, c.compareEntity(slot, e.Tick))
			n++
		default:
			if count := c.markAlike(e, n, slot, serverMask); count > 0 {
				back = earliest(back, c.compareColumns(e, n, slot, count))
				n += count
			} else {
				back = earliest(back, c.compareEntity(slot, e.Tick))
				n++
			}
		}
	}
	return back
}

// span is a range of entities, from a slot on. Their slots and network indexes are consecutive, and they are adjacent in
// one table.
type span struct {
	count int32  // 0: the entity is not compared.
	mask  uint64 // Their components, as a mask of the history.
}

// findSpans rebuilds the spans if the order or the entities changed.
func (c *client) findSpans() {
	for len(c.comparison.spans) < len(c.slots) {
		c.comparison.spans = append(c.comparison.spans, span{})
	}
	if c.comparison.spansVersion == c.order.version {
		return
	}
	c.comparison.spansVersion = c.order.version
	clear(c.comparison.spans)
	for i := range c.order.list {
		p := &c.order.parts[i]
		for _, r := range p.runs {
			for n := r.slot + r.count - 1; n >= r.slot; n-- {
				m, s := &c.progress[n], &c.comparison.spans[n]
				if !m.begun || c.slots[n].id.IsZero() {
					continue
				}
				*s = span{1, p.mask}
				if n+1 < r.slot+r.count && c.slots[n+1].id.Index == c.slots[n].id.Index+1 && c.progress[n+1].generation == m.generation {
					s.count += c.comparison.spans[n+1].count
				}
			}
		}
	}
}

// markAlike marks as compared the entities, from the n-th of the range on, that compareColumns can compare at once. It
// returns their number. Their slots are consecutive and they have the components of the records.
func (c *client) markAlike(e *replica.EntityRange, n, slot int, serverMask uint64) (count int) {
	most := min(int(e.Count)-n, len(c.byIndex)-int(e.Index)-n, len(c.slots)-slot)
	numbers, progress, checked := c.byIndex[int(e.Index)+n:][:most], c.progress[slot:][:most], c.checked[slot:][:most]
	masks, replicated := c.history.masksOf(e.Tick, slot, most), c.replicatedBits()
	if s := c.comparison.spans[slot]; s.mask&replicated == serverMask && c.history.arranged[e.Tick%Window] == c.comparison.spansVersion && !plain.On {
		for checked = checked[:min(most, int(s.count))]; count < len(checked) && checked[count] < e.Tick; count++ { // findSpans has checked the other conditions.
			checked[count] = e.Tick
		}
		return count
	}
	for count < most {
		m := &progress[count]
		if int(numbers[count]) != slot+count+1 || m.generation != e.Generation || !m.begun || checked[count] >= e.Tick || masks[count]&replicated != serverMask {
			break
		}
		checked[count] = e.Tick
		count++
	}
	return count
}

// compareColumns compares count entities with consecutive slots with their records, component by component. It returns
// the tick of the records if one is a misprediction.
func (c *client) compareColumns(e *replica.EntityRange, n, slot, count int) netcode.Tick {
	c.determinism.compared = true
	c.ahead = max(c.ahead, e.Tick) // A replay from an earlier tick returns the compared states.
	c.comparison.differing = append(c.comparison.differing[:0], make([]uint64, (count+63)/64)...)
	for i := range c.history.components {
		p := &c.history.components[i]
		if p.row < 0 || !e.Mask.Has(p.row) || len(p.lanes) == 0 {
			continue
		}
		lanes, _ := c.replica.Lanes(e, p.row)
		theirs := lanes[n*e.Width:]
		if c.history.equal(e.Tick, slot, count, i, theirs, e.Width) {
			continue
		}
		for set := range c.comparison.differing {
			from := 64 * set
			c.comparison.differing[set] |= c.history.differing(e.Tick, slot+from, min(64, count-from), i, theirs[from*e.Width:], e.Width)
		}
	}
	wrong := false
	for set, unlike := range c.comparison.differing {
		for ; unlike != 0; unlike &= unlike - 1 {
			wrong = c.mispredicts(slot+64*set+bits.TrailingZeros64(unlike), e.Tick, tick.None, true) || wrong
		}
	}
	if !wrong {
		return tick.None
	}
	c.correctAll(e, n, slot, count)
	return e.Tick
}

// correctAll writes the records of count entities with consecutive slots into the history.
func (c *client) correctAll(e *replica.EntityRange, n, slot, count int) {
	for i := range c.history.components {
		p := &c.history.components[i]
		if p.row < 0 || !e.Mask.Has(p.row) || len(p.lanes) == 0 {
			continue
		}
		lanes, _ := c.replica.Lanes(e, p.row)
		c.history.correct(e.Tick, slot, count, i, lanes[n*e.Width:], e.Width)
	}
}

// compareEntity compares an entity with the server's state of a tick. It returns the tick if it is a misprediction.
func (c *client) compareEntity(n int, t netcode.Tick) netcode.Tick {
	m := &c.progress[n]
	if t <= c.checked[n] || !m.begun {
		return tick.None
	}
	c.setKnown(n, max(m.known, t))
	if t > c.now || !c.history.holds(t) {
		return tick.None
	}
	before := c.checked[n]
	c.checked[n], c.determinism.compared = t, true
	if !c.mispredicts(n, t, before, false) {
		return tick.None
	}
	c.correct(n, t)
	return t
}

// askAgain is the number of ticks after which a misprediction asks for the local state of its entity again.
const askAgain = 64

// mispredicts reports whether the server's state of an entity in a tick differs from the prediction. If so, it counts and
// reports the misprediction. known means that some lanes are known to differ.
func (c *client) mispredicts(n int, t, before netcode.Tick, known bool) bool {
	var d Misprediction
	if c.comparison.tolerant || len(c.sim.mispredicted) > 0 || len(c.sim.explained) > 0 || !known {
		differs := false
		if d, differs = c.differs(n, t); !differs {
			return false
		}
	}
	if c.comparison.otherInputs == tick.None || t <= c.comparison.otherInputs { // For later ticks the inputs differ, so that a difference is expected.
		c.sim.stats.Mispredictions++
		c.noteWrong(n)
		if c.slots[n].asked+askAgain < c.now {
			c.wantLocals(n)
		}
		c.reportMisprediction(d)
		if c.sim.all.explain != nil {
			c.sim.all.explain(c, d, before)
		}
	}
	return true
}

// compareResting compares the resting entities that the server reported since the last comparison. It returns the earliest
// tick with a misprediction.
func (c *client) compareResting() (back netcode.Tick) {
	for _, index := range c.received.newlyResting {
		if int(index) < len(c.byIndex) && c.byIndex[index] > 0 {
			if n := int(c.byIndex[index]) - 1; c.received.restedAt(index) > c.checked[n] {
				back = earliest(back, c.compareEntity(n, c.received.restedAt(index)))
			}
		}
	}
	c.received.newlyResting = c.received.newlyResting[:0]
	return back
}

// knownOf returns the newest tick with a known server state of an entity: its newest record, or a tick in which the
// server reported it as resting.
func (c *client) knownOf(s *slot) netcode.Tick {
	newest, _ := c.replica.Latest(s.id)
	return max(newest, c.equalsRecordAt(s.id.Index))
}

// equalsRecordAt returns the newest tick in which an entity is known to equal its newest record. While a client holds state
// back until a tick is complete, only the newest complete tick counts: the reported rest may refer to a record that is
// held back.
func (c *client) equalsRecordAt(index uint32) netcode.Tick {
	if t, held := extend.OfClient(c.end).CompleteTick(); held && extend.OfClient(c.end).Newest().Tick() != c.replica.Tick() {
		return t
	}
	return c.received.restedAt(index)
}

// isKnown reports whether the server's state of an entity in a tick is known.
func (c *client) isKnown(s *slot, t netcode.Tick) bool {
	from, there := c.replica.AsOf(s.id, t)
	return there && (from.Tick == t || c.equalsRecordAt(s.id.Index) == t)
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

// replicatedBits returns the bits of a mask that the server's state also has: alive and the predicted components.
func (c *client) replicatedBits() (mask uint64) {
	return alive | 1<<len(c.sim.all.rows) - 1
}

// differs compares an entity in a tick with the server's state and returns the first difference.
func (c *client) differs(n int, t netcode.Tick) (m Misprediction, differs bool) {
	s := &c.slots[n]
	m = Misprediction{Tick: t, Entity: s.entity, ID: s.id, Owner: c.sim.step.Owner(s.entity)}
	from, there := c.replica.AsOf(s.id, t)
	if !there {
		return m, false
	}
	mask, serverMask := c.history.mask(t, n)&c.replicatedBits(), c.serverMask(from.Mask)
	if mask != serverMask {
		return c.structureDiffers(m, mask, serverMask), true
	}
	for k := range c.history.components {
		p := &c.history.components[k]
		if p.row < 0 || mask>>k&1 == 0 || p.plan.Lanes() == 0 {
			continue
		}
		if d, deviates := p.plan.Deviates(c.history.lanesOf(t, n, k), from.Row(p.row), p.tolerance); deviates {
			m.Component, m.Field, m.Predicted, m.True = p.plan.Name(), d.Field, d.From, d.To
			return m, true
		}
	}
	return m, false
}

// structureDiffers describes a component, or an entity, that exists on one side only.
func (c *client) structureDiffers(m Misprediction, mask, serverMask uint64) Misprediction {
	m.Predicted, m.True = float64(mask>>63), float64(serverMask>>63)
	for k := range c.sim.all.rows {
		if (mask^serverMask)&alive == 0 && (mask^serverMask)>>k&1 != 0 {
			m.Component = c.history.components[k].plan.Name()
			m.True, m.Predicted = float64(serverMask>>k&1), float64(mask>>k&1)
			break
		}
	}
	return m
}

// reportMisprediction calls the functions of OnMisprediction.
func (c *client) reportMisprediction(m Misprediction) {
	for _, f := range c.sim.mispredicted {
		extend.Contain(extend.OfClient(c.end), "OnMisprediction", func() { f(m) })
	}
}

// correct writes the server's state of an entity into the history of a tick. Local components stay as they were.
func (c *client) correct(n int, t netcode.Tick) {
	s, w := &c.slots[n], c.sim.step.World
	from, there := c.replica.AsOf(s.id, t)
	if !there {
		if newest, _ := c.replica.Latest(s.id); newest > t { // The state came later than t; the history begins with it.
			from, there = c.replica.AsOf(s.id, newest)
		}
		if !there {
			return
		}
	}
	had := c.history.mask(t, n)
	local := had &^ c.replicatedBits()
	if had&alive == 0 { // No local components are stored for t: take the present ones.
		local = c.history.maskOf(w, s.entity, c.sim.simulateID) &^ c.replicatedBits()
	}
	now := c.serverMask(from.Mask) | local
	c.history.setMask(t, n, now)
	for k := range c.history.components {
		p := &c.history.components[k]
		if now>>k&1 == 0 {
			continue
		}
		to := c.history.bytes(t, n, k)
		if p.keepsLanes() {
			copy(wordsOf(to), from.Row(p.row))
			continue
		}
		if had>>k&1 == 0 {
			clear(to)
			if w.Alive(s.entity) && world.Has(w, s.entity, p.id) { // Fields that are not replicated stay.
				copy(to, bytesOf(w, s.entity, p.id, p.size))
			}
		}
		if p.row >= 0 && p.plan.Lanes() > 0 {
			p.plan.Dequantise(from.Row(p.row), pointerTo(to))
		}
	}
}

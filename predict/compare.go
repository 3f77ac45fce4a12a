package predict

import (
	"math/bits"
	"slices"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/input"
	"github.com/arche-netcode/netcode/internal/plain"
	"github.com/arche-netcode/netcode/replica"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
)

// compare compares the newly known server state with the prediction and corrects the history. It returns the tick to roll
// back to, None if nothing differs.
func (c *client) compare() (back netcode.Tick) {
	earlier := func(t netcode.Tick) {
		if back == tick.None || t < back {
			back = t
		}
	}
	if t, ok := input.Corrected(c.end); ok && t <= c.now && c.history.holds(t-1) {
		c.stats.Corrected++
		earlier(t - 1)
	}
	if t, ok := input.Guessed(c.end); ok && t <= c.now && c.history.holds(t-1) {
		c.stats.Guessed++
		earlier(t - 1)
	}
	k := comparison{client: c, corrected: back, back: tick.None}
	if c.begins {
		c.beginNew(earlier)
	}
	k.records()
	k.rests()
	if known := k.takeLocals(); known > tick.None {
		earlier(known)
	}
	if k.back > tick.None {
		earlier(k.back)
	}
	if c.dirty {
		c.dirty = false
		earlier(c.now)
	}
	return back
}

// beginNew takes the first states of newly predicted entities.
func (c *client) beginNew(earlier func(netcode.Tick)) {
	c.begins = false
	for i := range c.slots {
		s, m := &c.slots[i], &c.marks[i]
		switch {
		case !s.used || s.id.IsZero() || m.begun:
		case m.known <= c.now:
			m.begun, c.checked[i], c.spanned = true, m.known, 0
			c.correct(i, m.known)
			earlier(m.known)
		default:
			c.begins = true // advance takes the state when the simulation reaches its tick.
		}
	}
}

// seen is the number of records of a tick that were compared.
type seen struct {
	tick  netcode.Tick
	count int
}

// comparison is one comparison of the server's state with the prediction.
type comparison struct {
	*client
	corrected netcode.Tick // Later ticks were simulated with other inputs than the server's; None: no tick was.
	back      netcode.Tick // The tick to roll back to; None: no rollback.
}

// records compares the newly read records, the newest tick first: of each entity, only its newest record is compared.
func (k *comparison) records() {
	k.findSpans()
	list := k.rested.read
	slices.SortFunc(list, func(a, b netcode.Tick) int { return int(b - a) })
	for _, t := range list {
		s := &k.seen[t%Window]
		if s.tick != t {
			if t < s.tick {
				continue
			}
			*s = seen{tick: t}
		}
		records := k.replica.Records(t)
		for n := records.Len(); s.count < n; {
			e := records.RangeAt(s.count)
			s.count += int(e.Count)
			k.several(&e)
		}
	}
	k.rested.read = list[:0]
}

// several compares records of entities with consecutive indexes.
func (k *comparison) several(e *replica.EntityRange) {
	truth := k.serverMask(e.Mask)
	for n := 0; n < int(e.Count); {
		index := int(e.Index) + n
		if index >= len(k.byIndex) {
			return
		}
		slot := int(k.byIndex[index]) - 1
		switch {
		case slot < 0 || k.marks[slot].generation != e.Generation || !k.marks[slot].begun:
			n++
		case e.Tick > k.now:
			k.know(slot, max(k.marks[slot].known, e.Tick))
			n++
		case !k.history.holds(e.Tick) || k.traces != nil || e.Mask.Overlaps(k.replica.Schema().Coarse):
			k.one(slot, e.Tick)
			n++
		default:
			if count := k.together(e, n, slot, truth); count > 0 {
				k.columns(e, n, slot, count)
				n += count
			} else {
				k.one(slot, e.Tick)
				n++
			}
		}
	}
}

// span is a range of entities, from a slot on. Their slots and network indexes are consecutive, and they are adjacent in
// one table.
type span struct {
	count int32  // 0: the entity is not compared.
	mask  uint64 // Their components, as a mask of the history.
}

// findSpans rebuilds the spans if the order or the entities changed.
func (c *client) findSpans() {
	for len(c.spans) < len(c.slots) {
		c.spans = append(c.spans, span{})
	}
	if c.spanned == c.order.version {
		return
	}
	c.spanned = c.order.version
	clear(c.spans)
	for i := range c.order.list {
		p := &c.order.parts[i]
		for _, r := range p.runs {
			for n := r.slot + r.count - 1; n >= r.slot; n-- {
				m, s := &c.marks[n], &c.spans[n]
				if !m.begun || c.slots[n].id.IsZero() {
					continue
				}
				*s = span{1, p.mask}
				if n+1 < r.slot+r.count && c.slots[n+1].id.Index == c.slots[n].id.Index+1 && c.marks[n+1].generation == m.generation {
					s.count += c.spans[n+1].count
				}
			}
		}
	}
}

// together counts the entities, from the n-th of the range on, that columns can compare at once. Their slots are
// consecutive and they have the components of the records. It marks them as compared.
func (k *comparison) together(e *replica.EntityRange, n, slot int, truth uint64) (count int) {
	most := min(int(e.Count)-n, len(k.byIndex)-int(e.Index)-n, len(k.slots)-slot)
	numbers, marks, checked := k.byIndex[int(e.Index)+n:][:most], k.marks[slot:][:most], k.checked[slot:][:most]
	masks, travels := k.history.masksOf(e.Tick, slot, most), k.travels()
	if s := k.spans[slot]; s.mask&travels == truth && k.history.arranged[e.Tick%Window] == k.spanned && !plain.On {
		for checked = checked[:min(most, int(s.count))]; count < len(checked) && checked[count] < e.Tick; count++ { // findSpans has checked the other conditions.
			checked[count] = e.Tick
		}
		return count
	}
	for count < most {
		m := &marks[count]
		if int(numbers[count]) != slot+count+1 || m.generation != e.Generation || !m.begun || checked[count] >= e.Tick || masks[count]&travels != truth {
			break
		}
		checked[count] = e.Tick
		count++
	}
	return count
}

// columns compares count entities with consecutive slots with their records, component by component.
func (k *comparison) columns(e *replica.EntityRange, n, slot, count int) {
	k.ahead = max(k.ahead, e.Tick) // A replay from an earlier tick returns the compared states.
	k.unlike = append(k.unlike[:0], make([]uint64, (count+63)/64)...)
	for i := range k.history.components {
		p := &k.history.components[i]
		if p.row < 0 || !e.Mask.Has(p.row) || len(p.lanes) == 0 {
			continue
		}
		lanes, _ := k.replica.Lanes(e, p.row)
		theirs := lanes[n*e.Width:]
		if k.history.same(e.Tick, slot, count, i, theirs, e.Width) {
			continue
		}
		for set := range k.unlike {
			from := 64 * set
			k.unlike[set] |= k.history.unlike(e.Tick, slot+from, min(64, count-from), i, theirs[from*e.Width:], e.Width)
		}
	}
	wrong := false
	for set, unlike := range k.unlike {
		for ; unlike != 0; unlike &= unlike - 1 {
			wrong = k.mispredicts(slot+64*set+bits.TrailingZeros64(unlike), e.Tick, tick.None, true) || wrong
		}
	}
	if wrong {
		k.correctAll(e, n, slot, count)
	}
}

// correctAll writes the records of count entities with consecutive slots into the history.
func (k *comparison) correctAll(e *replica.EntityRange, n, slot, count int) {
	for i := range k.history.components {
		p := &k.history.components[i]
		if p.row < 0 || !e.Mask.Has(p.row) || len(p.lanes) == 0 {
			continue
		}
		lanes, _ := k.replica.Lanes(e, p.row)
		k.history.correct(e.Tick, slot, count, i, lanes[n*e.Width:], e.Width)
	}
}

// one compares an entity with the server's state of a tick.
func (k *comparison) one(n int, t netcode.Tick) {
	m := &k.marks[n]
	if t <= k.checked[n] || !m.begun {
		return
	}
	k.know(n, max(m.known, t))
	if t > k.now || !k.history.holds(t) {
		return
	}
	before := k.checked[n]
	k.checked[n] = t
	if k.mispredicts(n, t, before, false) {
		k.correct(n, t)
	}
}

// mispredicts reports whether the server's state of an entity in a tick differs from the prediction. If so, it counts and
// reports the misprediction and notes the tick for the rollback. known means that some lanes are known to differ.
func (k *comparison) mispredicts(n int, t, before netcode.Tick, known bool) bool {
	var d Misprediction
	if k.tolerant || len(k.mispredicted) > 0 || len(k.explained) > 0 || !known {
		differs := false
		if d, differs = k.differs(n, t); !differs {
			return false
		}
	}
	if k.corrected == tick.None || t <= k.corrected { // For later ticks the inputs differ, so that a difference is expected.
		k.stats.Mispredictions++
		if k.slots[n].asked+Window < k.now {
			k.wantLocals(n)
		}
		k.tell(d)
		if k.all.explain != nil {
			k.all.explain(k.client, d, before)
		}
	}
	if k.back == tick.None || t < k.back {
		k.back = t
	}
	return true
}

// rests compares the resting entities that the server reported since the last comparison.
func (k *comparison) rests() {
	for _, index := range k.rested.news {
		if int(index) < len(k.byIndex) && k.byIndex[index] > 0 {
			if n := int(k.byIndex[index]) - 1; k.rested.of(index) > k.checked[n] {
				k.one(n, k.rested.of(index))
			}
		}
	}
	k.rested.news = k.rested.news[:0]
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

// travels returns the bits of a mask that the server's state also has: alive and the predicted components.
func (c *client) travels() (mask uint64) {
	return alive | 1<<len(c.all.rows) - 1
}

// differs compares an entity in a tick with the server's state and returns the first difference.
func (c *client) differs(n int, t netcode.Tick) (m Misprediction, differs bool) {
	s := &c.slots[n]
	m = Misprediction{Tick: t, Entity: s.entity, ID: s.id, Owner: c.step.Owner(s.entity)}
	from, there := c.replica.AsOf(s.id, t)
	if !there {
		return m, false
	}
	mask, truth := c.history.mask(t, n)&c.travels(), c.serverMask(from.Mask)
	if mask != truth {
		return c.structureDiffers(m, mask, truth), true
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
func (c *client) structureDiffers(m Misprediction, mask, truth uint64) Misprediction {
	m.Predicted, m.True = float64(mask>>63), float64(truth>>63)
	for k := range c.all.rows {
		if (mask^truth)&alive == 0 && (mask^truth)>>k&1 != 0 {
			m.Component = c.history.components[k].plan.Name()
			m.True, m.Predicted = float64(truth>>k&1), float64(mask>>k&1)
			break
		}
	}
	return m
}

// tell calls the functions of OnMisprediction.
func (c *client) tell(m Misprediction) {
	for _, f := range c.mispredicted {
		c.end.Contain("OnMisprediction", func() { f(m) })
	}
}

// correct writes the server's state of an entity into the history of a tick. Local components stay as they were.
func (c *client) correct(n int, t netcode.Tick) {
	s, w := &c.slots[n], c.step.World
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
	local := had &^ c.travels()
	if had&alive == 0 { // No local components are stored for t: take the present ones.
		local = c.history.maskOf(w, s.entity, c.tagged) &^ c.travels()
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
			if w.Alive(s.entity) && w.Has(s.entity, p.id) { // Fields that are not replicated stay.
				copy(to, bytesOf(w, s.entity, p.id, p.size))
			}
		}
		if p.row >= 0 && p.plan.Lanes() > 0 {
			p.plan.Dequantise(from.Row(p.row), pointerTo(to))
		}
	}
}

package predict

import (
	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/input"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
)

// check compares what has become known of the server's state with the prediction, and corrects the history. It returns the tick to
// go back to, None if there is nothing to correct.
func (c *client) check() (back netcode.Tick) {
	earlier := func(t netcode.Tick) {
		if back == tick.None || t < back {
			back = t
		}
	}
	other, corrected := input.Corrected(c.end)
	if corrected = corrected && other <= c.now && c.history.holds(other-1); corrected {
		c.stats.Corrected++
		earlier(other - 1)
	}
	if guessed, ok := input.Guessed(c.end); ok && guessed <= c.now && c.history.holds(guessed-1) {
		c.stats.Guessed++
		earlier(guessed - 1)
	}
	for i := range c.slots {
		s := &c.slots[i]
		if !s.used || s.id.IsZero() {
			continue
		}
		if s.checked == tick.None && (s.spawned == tick.None || s.late) {
			if s.known <= c.now { // Else advance takes it.
				s.checked = s.known
				c.correct(i, s.known)
				earlier(s.known)
			}
			continue
		}
		known := c.knownOf(s)
		if known <= s.checked {
			continue
		}
		s.known = known
		if known > c.now || !c.history.holds(known) {
			continue
		}
		before := s.checked
		s.checked = known
		expected := corrected && known >= other // The server used another input: of course it differs.
		if d, differs := c.differs(i, known); differs {
			if !expected {
				c.stats.Mispredictions++
				c.tell(d)
				c.explain(d, before)
			}
			c.correct(i, known)
			earlier(known)
		}
	}
	if c.dirty {
		c.dirty = false
		earlier(c.now)
	}
	return back
}

// knownOf is the newest tick of which the server's state of an entity is known: that of its newest record, or one in which the
// server says that it rests.
func (c *client) knownOf(s *slot) netcode.Tick {
	newest, _ := c.replica.Latest(s.id)
	return max(newest, c.restedAt(s.id.Index))
}

// restedAt is the newest tick in which an entity is known to be as its newest record says. While state is held back until a tick is
// complete, that is the newest complete one: the server's word may be about a record that is held back.
func (c *client) restedAt(index uint32) netcode.Tick {
	if t, held := c.end.CompleteTick(); held && c.end.Newest().Tick() != c.replica.Tick() {
		return t
	}
	return c.rested.of(index)
}

// isKnown tells if the server's state of an entity in a tick is known.
func (c *client) isKnown(s *slot, t netcode.Tick) bool {
	from, there := c.replica.AsOf(s.id, t)
	return there && (from.Tick == t || c.restedAt(s.id.Index) == t)
}

// serverMask returns the predicted components of the server's entity, as a mask of the history.
func (c *client) serverMask(rows snapshot.Mask) (mask uint64) {
	mask = alive
	for k := range c.history.components {
		if row := c.history.components[k].row; row >= 0 && rows.Has(row) {
			mask |= 1 << k
		}
	}
	return mask
}

// travels is the bits of a mask that the server knows of.
func (c *client) travels() (mask uint64) {
	return alive | 1<<len(c.all.rows) - 1
}

// differs compares an entity in a tick with the server's, and returns the first difference.
func (c *client) differs(n int, t netcode.Tick) (m Misprediction, differs bool) {
	s := &c.slots[n]
	m = Misprediction{Tick: t, Entity: s.entity, ID: s.id}
	from, there := c.replica.AsOf(s.id, t)
	if !there {
		return m, false
	}
	mask, truth := *c.history.mask(t, n)&c.travels(), c.serverMask(from.Mask)
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

// structureDiffers describes a component, or the entity, that is there on one side only.
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

// tell reports a misprediction.
func (c *client) tell(m Misprediction) {
	for _, f := range c.mispredicted {
		c.end.Contain("OnMisprediction", func() { f(m) })
	}
}

// correct makes the history of an entity in a tick that of the server. Local components stay as they were.
func (c *client) correct(n int, t netcode.Tick) {
	s, w := &c.slots[n], c.step.World
	from, there := c.replica.AsOf(s.id, t)
	if !there {
		if newest, _ := c.replica.Latest(s.id); newest > t { // It came later, and the history begins with it.
			from, there = c.replica.AsOf(s.id, newest)
		}
		if !there {
			return
		}
	}
	at := c.history.mask(t, n)
	had := *at
	local := had &^ c.travels()
	if had&alive == 0 { // Its local components are those that it has now.
		local = c.history.maskOf(w, s.entity, c.tagged) &^ c.travels()
	}
	*at = c.serverMask(from.Mask) | local
	for k := range c.history.components {
		p := &c.history.components[k]
		if *at>>k&1 == 0 {
			continue
		}
		to := c.history.bytes(t, n, k)
		if had>>k&1 == 0 {
			clear(to)
			if w.Alive(s.entity) && w.Has(s.entity, p.id) { // Fields that do not travel stay.
				copy(to, bytesOf(w, s.entity, p.id, p.size))
			}
		}
		if p.row >= 0 && p.plan.Lanes() > 0 {
			row := from.Row(p.row)
			p.plan.Dequantise(row, pointerTo(to))
			if p.rounds {
				copy(c.history.row(t, n, k), row)
			}
		}
	}
}

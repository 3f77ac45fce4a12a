package predict

import (
	"bytes"
	"math"
	"slices"

	"github.com/mlange-42/arche/ecs"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/replica"
	"github.com/arche-netcode/netcode/tick"
)

// shown is the state of a predicted component that components.Smooth shows.
type shown struct {
	id       ecs.ID // The id of the Smooth component.
	blend    *quantize.Blend
	from, to []uint32            // Scratch.
	input    quantize.BlendInput // Scratch: a local variable would be allocated.
	errors   [][3][]uint32       // By slot: the row shown before a correction, the row without the correction, the row of correction.last.
}

// smoothing has the blends of a client that run on the screen.
type smoothing struct {
	shows   bool      // A component has components.Smooth.
	leaving []leaving // Components that blend from the prediction back to the interpolated past.
}

// correction is the blending of a correction on the screen.
type correction struct {
	components uint64       // Bit k: component k blends.
	began      tick.Time    // The time of its begin.
	remembered uint64       // Bit k: the row shown before the rollback is in shown.errors.
	last       netcode.Tick // The last tick before the rollback.
}

// newShown returns nil for a component without an interpolation.
func newShown(w *ecs.World, p *netcode.Protocol, r *predictedRow) *shown {
	in, ok := netcode.SettingOf[replica.Interpolation](p, r.row)
	if !ok {
		return nil
	}
	lanes := r.plan.Lanes()
	return &shown{id: ecs.TypeID(w, in.Twin), blend: in.Blend(), from: make([]uint32, lanes), to: make([]uint32, lanes)}
}

// error returns the three rows of a correction.
func (s *shown) error(slot int) *[3][]uint32 {
	for len(s.errors) <= slot {
		s.errors = append(s.errors, [3][]uint32{make([]uint32, len(s.from)), make([]uint32, len(s.from)), make([]uint32, len(s.from))})
	}
	return &s.errors[slot]
}

// rememberShown stores the shown rows of all predicted entities before a rollback.
func (c *client) rememberShown() {
	if c.sim.config.CorrectionTime < 0 || !c.smoothing.shows {
		return
	}
	for i := range c.slots {
		s := &c.slots[i]
		if !s.used || !c.sim.step.World.Alive(s.entity) || s.show.remembered != 0 {
			continue
		}
		for k := range c.history.components {
			p := &c.history.components[k]
			if p.shown == nil || !c.sim.step.World.Has(s.entity, p.shown.id) {
				continue
			}
			rows := p.shown.error(i)
			p.plan.Quantise(c.sim.step.World.Get(s.entity, p.shown.id), rows[0])
			s.show.remembered |= 1 << k
			if s.show.last = c.now; c.history.mask(c.now, i)>>k&1 != 0 {
				copy(rows[2], c.history.lanesOf(c.now, i, k))
			}
		}
	}
}

// show writes components.Smooth of the predicted entities: a blend of the last two ticks by the fraction of the tick,
// moved by the remaining part of a correction. replayDone is false while replay has steps left for later frames.
func (c *client) show(at tick.Time, replayDone bool) {
	if !c.smoothing.shows {
		return
	}
	part := 1.0
	if replayDone && c.now == at.Tick-netcode.Tick(c.sim.config.InputDelay) {
		part = tick.Span(at.Fraction).Float()
	}
	for i := range c.slots {
		s := &c.slots[i]
		if !s.used || c.history.mask(c.now, i)&alive == 0 {
			continue
		}
		for k := range c.history.components {
			if p := &c.history.components[k]; p.shown != nil && c.history.mask(c.now, i)>>k&1 != 0 {
				c.showOne(i, k, part, at, replayDone)
			}
		}
		if replayDone {
			s.show.remembered = 0
		}
	}
}

// showOne writes one components.Smooth.
func (c *client) showOne(i, k int, part float64, at tick.Time, replayDone bool) {
	s, p, w := &c.slots[i], &c.history.components[k], c.sim.step.World
	v := p.shown
	if !w.Has(s.entity, v.id) {
		c.structure.with(w, s.entity, v.id)
	}
	copy(v.to, c.history.lanesOf(c.now, i, k))
	way := &v.input
	*way = quantize.BlendInput{From: v.to, To: v.to, Part: 1}
	if before := c.now - 1; c.history.holds(before) && c.history.mask(before, i)>>k&1 != 0 {
		copy(v.from, c.history.lanesOf(before, i, k))
		way.From, way.Part = v.from, part
	}
	to := w.Get(s.entity, v.id)
	v.blend.Mix(way, to)
	if s.show.remembered>>k&1 != 0 && replayDone && c.corrected(i, k) {
		rows := v.error(i)
		p.plan.Quantise(to, rows[1])
		s.show.components &^= 1 << k
		if d := v.blend.Distance(rows[0], rows[1]); !(p.snap > 0 && d >= p.snap) {
			s.show.components |= 1 << k
			s.show.began = at
		}
	}
	if s.show.components>>k&1 == 0 {
		return
	}
	age := c.age(s.show.began, at)
	if age >= 1 {
		s.show.components &^= 1 << k // The correction is over.
		return
	}
	rows := v.error(i)
	v.blend.Shift(to, rows[0], rows[1], 1-age)
}

// corrected reports whether a replay changed the value of component k in the last tick before the rollback.
func (c *client) corrected(i, k int) bool {
	s, p := &c.slots[i], &c.history.components[k]
	if !c.history.holds(s.show.last) || c.history.mask(s.show.last, i)>>k&1 == 0 {
		return true
	}
	return !slices.Equal(c.history.lanesOf(s.show.last, i, k), p.shown.error(i)[2])
}

// leaving is a component of an entity whose prediction stopped. Package interpolate shows the entity in the past again.
// The difference between prediction and past decays like a correction.
type leaving struct {
	id         netcode.NetworkID
	entity     ecs.Entity
	component  int
	began      tick.Time
	begun      bool        // interpolate has shown the past.
	rows       [2][]uint32 // The last shown prediction, and the first shown past.
	raw, wrote []byte      // The newest value of interpolate, and the value shown in its place.
}

// leave stores the shown rows of an entity whose prediction stops.
func (c *client) leave(n int) {
	s, w := &c.slots[n], c.sim.step.World
	if c.sim.config.CorrectionTime < 0 || !w.Alive(s.entity) {
		return
	}
	for k := range c.history.components {
		p := &c.history.components[k]
		if p.shown == nil || !w.Has(s.entity, p.shown.id) {
			continue
		}
		rows := [2][]uint32{make([]uint32, p.plan.Lanes()), make([]uint32, p.plan.Lanes())}
		p.plan.Quantise(w.Get(s.entity, p.shown.id), rows[0])
		c.smoothing.leaving = append(c.smoothing.leaving, leaving{id: s.id, entity: s.entity, component: k, rows: rows, wrote: bytes.Clone(bytesOf(w, s.entity, p.shown.id, p.size))})
	}
}

// showLeaving moves the values of interpolate by the remaining part of the difference.
func (c *client) showLeaving(at tick.Time) {
	kept := c.smoothing.leaving[:0]
	for i := range c.smoothing.leaving {
		if l := &c.smoothing.leaving[i]; c.showLeft(l, at) {
			kept = append(kept, *l)
		}
	}
	clear(c.smoothing.leaving[len(kept):])
	c.smoothing.leaving = kept
}

// showLeft moves one component. It reports false when the difference has decayed or the entity is gone.
func (c *client) showLeft(l *leaving, at tick.Time) bool {
	p, w := &c.history.components[l.component], c.sim.step.World
	if e, ok := c.group.Entity(l.id); !ok || e != l.entity || c.slotOf(l.id) >= 0 || !w.Has(e, p.shown.id) {
		return false
	}
	to := bytesOf(w, l.entity, p.shown.id, p.size)
	if l.began == (tick.Time{}) {
		l.began = at
	}
	if !l.begun {
		if bytes.Equal(to, l.wrote) { // interpolate has not written yet, or the entity rests.
			return c.age(l.began, at) < 1
		}
		l.begun, l.began = true, at
		p.plan.Quantise(pointerTo(to), l.rows[1])
		if p.snap > 0 && p.shown.blend.Distance(l.rows[0], l.rows[1]) >= p.snap {
			return false
		}
	}
	if !bytes.Equal(to, l.wrote) || l.raw == nil {
		l.raw = append(l.raw[:0], to...)
	}
	copy(to, l.raw)
	age := c.age(l.began, at)
	if age >= 1 {
		return false
	}
	p.shown.blend.Shift(pointerTo(to), l.rows[0], l.rows[1], 1-age)
	l.wrote = append(l.wrote[:0], to...)
	return true
}

// age returns the passed part of the correction time, 1 when it is over.
func (c *client) age(began, at tick.Time) float64 {
	age := at.Sub(began).Float() / float64(c.end.TickRate()) / c.sim.config.CorrectionTime.Seconds()
	if age < 0 || math.IsNaN(age) {
		return 1
	}
	return age
}

package predict

import (
	"math"

	"github.com/mlange-42/arche/ecs"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/replica"
	"github.com/arche-netcode/netcode/tick"
)

// shown is a predicted component that components.Smooth shows.
type shown struct {
	id       ecs.ID // Of the Smooth.
	blend    *quantize.Blend
	from, to []uint32      // Scratch.
	errors   [][2][]uint32 // By slot: what was shown before a correction, and what is shown without it.
}

// correction is a correction that is being shown.
type correction struct {
	components uint64    // Bit k: component k is shown between the two.
	began      tick.Time // When.
	remembered uint64    // Bit k: what was shown is in shown.errors, and what is shown is to be added.
}

// newShown is nil for a component without an interpolation.
func newShown(w *ecs.World, p *netcode.Protocol, r *predictedRow) *shown {
	in, ok := netcode.SettingOf[replica.Interpolation](p, r.row)
	if !ok {
		return nil
	}
	lanes := r.plan.Lanes()
	return &shown{id: ecs.TypeID(w, in.Twin), blend: in.Blend(), from: make([]uint32, lanes), to: make([]uint32, lanes)}
}

// error is the two rows of a correction.
func (s *shown) error(slot int) *[2][]uint32 {
	for len(s.errors) <= slot {
		s.errors = append(s.errors, [2][]uint32{make([]uint32, len(s.from)), make([]uint32, len(s.from))})
	}
	return &s.errors[slot]
}

// rememberShown notes what is on the screen, before predicted entities are corrected.
func (c *client) rememberShown() {
	if c.config.CorrectionTime < 0 {
		return
	}
	for i := range c.slots {
		s := &c.slots[i]
		if !s.used || !c.step.World.Alive(s.entity) || s.show.remembered != 0 {
			continue
		}
		for k := range c.history.components {
			p := &c.history.components[k]
			if p.shown == nil || !c.step.World.Has(s.entity, p.shown.id) {
				continue
			}
			p.plan.Quantise(c.step.World.Get(s.entity, p.shown.id), p.shown.error(i)[0])
			s.show.remembered |= 1 << k
		}
	}
}

// show writes components.Smooth of the predicted entities: between the last two ticks, as far as the tick has gone, and moved by what
// is left of a correction. settled tells that the simulation is where it should be.
func (c *client) show(at tick.Time, settled bool) {
	part := 1.0
	if settled && c.now == at.Tick-netcode.Tick(c.config.InputDelay) {
		part = tick.Span(at.Fraction).Float()
	}
	for i := range c.slots {
		s := &c.slots[i]
		if !s.used || *c.history.mask(c.now, i)&alive == 0 {
			continue
		}
		for k := range c.history.components {
			if p := &c.history.components[k]; p.shown != nil && *c.history.mask(c.now, i)>>k&1 != 0 {
				c.showOne(i, k, part, at, settled)
			}
		}
		if settled {
			s.show.remembered = 0
		}
	}
}

// showOne writes one components.Smooth.
func (c *client) showOne(i, k int, part float64, at tick.Time, settled bool) {
	s, p, w := &c.slots[i], &c.history.components[k], c.step.World
	v := p.shown
	if !w.Has(s.entity, v.id) {
		w.Add(s.entity, v.id)
	}
	p.plan.Quantise(pointerTo(c.history.bytes(c.now, i, k)), v.to)
	way := quantize.BlendInput{From: v.to, To: v.to, Part: 1}
	if before := c.now - 1; c.history.holds(before) && *c.history.mask(before, i)>>k&1 != 0 {
		p.plan.Quantise(pointerTo(c.history.bytes(before, i, k)), v.from)
		way.From, way.Part = v.from, part
	}
	to := w.Get(s.entity, v.id)
	v.blend.Mix(&way, to)
	if s.show.remembered>>k&1 != 0 && settled {
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
	age := at.Sub(s.show.began).Float() / float64(c.end.TickRate()) / c.config.CorrectionTime.Seconds()
	if age >= 1 || age < 0 || math.IsNaN(age) {
		s.show.components &^= 1 << k // The correction is over.
		return
	}
	rows := v.error(i)
	v.blend.Shift(to, rows[0], rows[1], 1-age)
}

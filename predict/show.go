package predict

import (
	"bytes"
	"math"
	"time"

	"github.com/arche-netcode/netcode"
	netecs "github.com/arche-netcode/netcode/ecs"
	"github.com/arche-netcode/netcode/extend"
	"github.com/arche-netcode/netcode/internal/replica"
	"github.com/arche-netcode/netcode/internal/world"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/tick"
)

// carryPart is the part of a second for which the screen continues the old prediction while a replay is postponed.
const carryPart = 4

// shown is the state of a predicted component that components.Smooth shows.
type shown struct {
	id    world.ID // The id of the Smooth component.
	past  replica.Interpolation
	blend *quantize.Blend

	// Scratch.
	from, to                  []uint32
	input                     quantize.BlendInput // A local variable would be allocated.
	before, corrected, former []byte

	offsets []offset // By slot.
}

// offset moves a shown value, by a difference that decays to nothing.
type offset struct {
	from, to []byte        // The difference: the value shown before, and the new value at the same moment.
	began    tick.Time     // The time of its begin.
	length   time.Duration // Its length; not above 0: nothing is moved.
	old      [2][]uint32   // The rows of the prediction before a rollback: of smoothing.since and of the tick before.
}

// moment is a moment of the prediction: a part of the way from the tick before to a tick.
type moment struct {
	tick netcode.Tick
	part float64
}

// smoothing has the state of the screen.
type smoothing struct {
	shows   bool         // A component has components.Smooth.
	last    moment       // The moment of the prediction that was shown last.
	since   netcode.Tick // The tick of last, when a rollback began.
	carries bool         // The last frame showed the prediction before a rollback.
	past    tick.Time    // The moment of interpolated entities in that frame.
	leaving []leaving    // Components that blend from the prediction back to the interpolated past.
}

// showing is the state of one slot on the screen. Bit k is component k.
type showing struct {
	shown      uint64 // The last frame showed the prediction.
	remembered uint64 // The prediction before a rollback is in offset.old.
	enters     bool   // The prediction has begun and was not shown yet.
}

// newShown returns nil for a component without an interpolation.
func newShown(w *netecs.World, p *netcode.Protocol, r *predictedRow) *shown {
	in, ok := extend.SettingOf[replica.Interpolation](p, r.row)
	if !ok {
		return nil
	}
	lanes, size := r.plan.Lanes(), int(r.of.Size())
	s := &shown{id: world.TypeID(w, in.Twin), past: in, blend: in.Blend(), from: make([]uint32, lanes), to: make([]uint32, lanes)}
	s.before, s.corrected, s.former = newValue(size), newValue(size), newValue(size)
	return s
}

// newValue returns memory for a component, which is aligned for any.
func newValue(size int) []byte { return bytesIn(make([]uint64, (size+7)/8))[:size] }

// offset returns the offset of a slot.
func (v *shown) offset(slot int) *offset {
	for len(v.offsets) <= slot {
		size := len(v.before)
		v.offsets = append(v.offsets, offset{
			from: newValue(size), to: newValue(size), old: [2][]uint32{make([]uint32, len(v.from)), make([]uint32, len(v.from))},
		})
	}
	return &v.offsets[slot]
}

// rememberShown stores, before a rollback, the prediction of the last shown moment.
func (c *client) rememberShown() {
	t, h := c.smoothing.last.tick, &c.history
	if !c.smoothing.shows || c.smoothing.carries || !h.holds(t) {
		return
	}
	c.smoothing.since = t
	for i := range c.slots {
		s := &c.slots[i]
		for k := range h.components {
			p := &h.components[k]
			if !s.used || p.shown == nil || s.show.shown>>k&1 == 0 || h.mask(t, i)>>k&1 == 0 {
				continue
			}
			o := p.shown.offset(i)
			copy(o.old[1], h.lanesOf(t, i, k))
			copy(o.old[0], o.old[1])
			if h.holds(t-1) && h.mask(t-1, i)>>k&1 != 0 {
				copy(o.old[0], h.lanesOf(t-1, i, k))
			}
			s.show.remembered |= 1 << k
		}
	}
}

// momentOf returns the moment of the prediction that a frame shows.
func (c *client) momentOf(at tick.Time, target netcode.Tick) moment {
	if target == at.Tick-netcode.Tick(c.sim.config.InputDelay) && (c.now <= target || c.history.holds(target)) {
		return moment{target, tick.Span(at.Fraction).Float()}
	}
	return moment{max(target, c.now), 1}
}

// show writes components.Smooth of the predicted entities: a blend of two ticks by the fraction of the tick, moved by the
// remaining part of a correction. While a replay has steps left for later frames, the old prediction goes on.
func (c *client) show(at tick.Time, target netcode.Tick) {
	if !c.smoothing.shows {
		return
	}
	now, ready, carried := c.momentOf(at, target), c.now >= target, false
	for i := range c.slots {
		s := &c.slots[i]
		if !s.used {
			continue
		}
		carry := !ready && s.show.remembered != 0 && now.tick-c.smoothing.since <= netcode.Tick(c.end.TickRate()/carryPart)
		for k := range c.history.components {
			switch p := &c.history.components[k]; {
			case p.shown == nil:
			case carry:
				c.carryOn(i, k, now, at)
			case ready:
				c.showOne(i, k, now, at)
			case s.show.enters:
				c.showPast(i, k, at)
			default:
				c.showOne(i, k, moment{c.now, 1}, at)
			}
		}
		s.show.enters = s.show.enters && s.show.shown == 0
		if carried = carried || carry; !carry {
			s.show.remembered = 0
		}
	}
	if !ready && !carried {
		now = moment{c.now, 1}
	}
	c.smoothing.last, c.smoothing.past, c.smoothing.carries = now, c.end.Present(), carried
	c.showLeaving(at)
}

// carryOn shows one component of the old prediction.
func (c *client) carryOn(i, k int, now moment, at tick.Time) {
	s, p, w := &c.slots[i], &c.history.components[k], c.sim.step.World
	if v := p.shown; s.show.remembered>>k&1 != 0 && world.Has(w, s.entity, v.id) {
		o, to := v.offset(i), bytesOf(w, s.entity, v.id, p.size)
		c.mixOld(v, o, now, to)
		c.move(v, o, to, at)
	}
}

// showOne writes one components.Smooth.
func (c *client) showOne(i, k int, now moment, at tick.Time) {
	s, p, w, bit := &c.slots[i], &c.history.components[k], c.sim.step.World, uint64(1)<<k
	v := p.shown
	o := v.offset(i)
	if mask := c.history.mask(now.tick, i); mask&alive == 0 || mask&bit == 0 {
		if s.show.shown &^= bit; s.show.enters {
			c.showPast(i, k, at)
		}
		return
	}
	if !world.Has(w, s.entity, v.id) {
		c.structure.with(w, s.entity, v.id)
		s.show.shown &^= bit
	}
	if s.show.shown&bit == 0 {
		o.length = 0
	}
	to := bytesOf(w, s.entity, v.id, p.size)
	copy(v.before, to)
	c.mix(i, k, now, to)
	switch {
	case s.show.shown&bit != 0 && s.show.remembered&bit != 0:
		c.correctShown(i, k, to, at)
	case s.show.enters && !c.jumps(s.id, v, c.end.Present()) && c.mixLeft(s.id, k, at, v.before):
		o.blend(v.before, to, c.sim.config.SwitchTime, at)
	}
	s.show.shown |= bit
	c.move(v, o, to, at)
}

// correctShown begins to blend a correction, if a replay changed what the last frame showed. It compares the old
// prediction with the new one at the moment of that frame.
func (c *client) correctShown(i, k int, to []byte, at tick.Time) {
	p, m := &c.history.components[k], c.smoothing.last
	v := p.shown
	o := v.offset(i)
	c.mixOld(v, o, m, v.former)
	if m.tick <= c.now && c.history.holds(m.tick) && c.history.mask(m.tick, i)>>k&1 != 0 {
		c.mix(i, k, m, v.corrected)
		if bytes.Equal(v.former, v.corrected) {
			return
		}
		to = v.corrected
	}
	length := c.sim.config.CorrectionTime
	if p.snap > 0 && v.blend.Distance(pointerTo(v.former), pointerTo(to)) >= p.snap {
		length = 0
	} else if length > 0 {
		length = max(length, time.Duration((1-c.age(o, at))*float64(o.length)))
	}
	o.blend(v.before, to, length, at)
}

// blend begins to blend the difference of two values.
func (o *offset) blend(from, to []byte, length time.Duration, at tick.Time) {
	copy(o.from, from)
	copy(o.to, to)
	o.length, o.began = length, at
}

// move moves a value by the remaining part of an offset.
func (c *client) move(v *shown, o *offset, to []byte, at tick.Time) {
	if age := c.age(o, at); age < 1 {
		v.blend.Shift(pointerTo(to), pointerTo(o.from), pointerTo(o.to), 1-age)
	} else {
		o.length = 0
	}
}

// age returns the passed part of an offset's time, 1 when it is over.
func (c *client) age(o *offset, at tick.Time) float64 {
	if o.length <= 0 {
		return 1
	}
	age := at.Sub(o.began).Float() / float64(c.end.TickRate()) / o.length.Seconds()
	if age < 0 || age > 1 || math.IsNaN(age) {
		return 1
	}
	return age
}

// mix writes the prediction of a moment.
func (c *client) mix(i, k int, m moment, to []byte) {
	h, v := &c.history, c.history.components[k].shown
	copy(v.to, h.lanesOf(m.tick, i, k))
	v.input = quantize.BlendInput{From: v.to, To: v.to, Part: 1}
	if before := m.tick - 1; h.holds(before) && h.mask(before, i)>>k&1 != 0 {
		copy(v.from, h.lanesOf(before, i, k))
		v.input.From, v.input.Part = v.from, m.part
	}
	v.blend.Mix(&v.input, pointerTo(to))
}

// mixOld writes the prediction before a rollback, carried on to a moment.
func (c *client) mixOld(v *shown, o *offset, m moment, to []byte) {
	v.input = quantize.BlendInput{From: o.old[0], To: o.old[1], Part: m.part + float64(m.tick-c.smoothing.since)}
	v.blend.Mix(&v.input, pointerTo(to))
}

// mixPast writes the value that package interpolate shows at a moment. It reports false if there is none.
func (c *client) mixPast(id netcode.NetworkID, k int, past tick.Time, to []byte) bool {
	v := c.history.components[k].shown
	sample, ok := c.replica.Around(id, past)
	if !ok || !v.past.Way(&sample, past, c.end.TickRate(), &v.input) {
		return false
	}
	v.blend.Mix(&v.input, pointerTo(to))
	return true
}

// jumps reports whether an entity has teleported since a moment of the past: then past and prediction are not blended.
func (c *client) jumps(id netcode.NetworkID, v *shown, past tick.Time) bool {
	newest, _ := c.replica.Latest(id)
	now, there := c.replica.AsOf(id, newest)
	sample, known := c.replica.Around(id, past)
	return there && known && v.past.Teleported(&sample.From, &now)
}

// mixLeft is mixPast for this frame, moved by the remaining part of an earlier prediction.
func (c *client) mixLeft(id netcode.NetworkID, k int, at tick.Time, to []byte) bool {
	if !c.mixPast(id, k, c.end.Present(), to) {
		return false
	}
	for i := range c.smoothing.leaving {
		if l := &c.smoothing.leaving[i]; l.id == id && l.component == k {
			c.move(c.history.components[k].shown, &l.offset, to, at)
		}
	}
	return true
}

// showPast shows the interpolated past of an entity whose prediction is not ready.
func (c *client) showPast(i, k int, at tick.Time) {
	s, p, w := &c.slots[i], &c.history.components[k], c.sim.step.World
	if !s.id.IsZero() && w.Alive(s.entity) && world.Has(w, s.entity, p.shown.id) {
		c.mixLeft(s.id, k, at, bytesOf(w, s.entity, p.shown.id, p.size))
	}
}

// leaving is a component of an entity whose prediction stopped. The screen shows the entity in the past again. The
// difference between prediction and past decays like a correction.
type leaving struct {
	offset
	id        netcode.NetworkID
	entity    netecs.Entity
	component int
	measured  bool // The difference is known.
}

// leave measures the difference between prediction and past, of an entity whose prediction stops, in the last shown frame.
func (c *client) leave(n int) {
	s, w := &c.slots[n], c.sim.step.World
	if c.sim.config.SwitchTime < 0 || !w.Alive(s.entity) {
		return
	}
	for k := range c.history.components {
		p := &c.history.components[k]
		if p.shown == nil || s.show.shown>>k&1 == 0 || !world.Has(w, s.entity, p.shown.id) || c.jumps(s.id, p.shown, c.smoothing.past) {
			continue
		}
		l := leaving{id: s.id, entity: s.entity, component: k}
		l.from, l.to = bytes.Clone(bytesOf(w, s.entity, p.shown.id, p.size)), newValue(p.size)
		l.measured = c.mixPast(s.id, k, c.smoothing.past, l.to)
		c.smoothing.leaving = append(c.smoothing.leaving, l)
	}
}

// showLeaving shows the entities whose prediction stopped.
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

// showLeft shows one component. It reports false when the difference has decayed, or the entity is gone or predicted again.
func (c *client) showLeft(l *leaving, at tick.Time) bool {
	p, w := &c.history.components[l.component], c.sim.step.World
	if e, ok := c.group.Entity(l.id); !ok || e != l.entity || !world.Has(w, e, p.shown.id) {
		return false
	}
	if n := c.slotOf(l.id); n >= 0 {
		return c.slots[n].show.enters
	}
	if l.length == 0 {
		l.length, l.began = c.sim.config.SwitchTime, at
	}
	to := bytesOf(w, l.entity, p.shown.id, p.size)
	if !c.mixPast(l.id, l.component, c.end.Present(), to) {
		return c.age(&l.offset, at) < 1 // The past has no value yet: the last prediction stays.
	}
	if !l.measured {
		l.measured, l.began = true, at
		copy(l.to, to)
	}
	c.move(p.shown, &l.offset, to, at)
	return l.length > 0
}

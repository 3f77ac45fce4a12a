package netcode

import (
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
)

// defaultAhead is how far a component goes on beyond its newest version.
const defaultAhead = 100 * time.Millisecond

// InterpolateOption says how a component is interpolated.
type InterpolateOption func(*interpolation)

// interpolation is what one Interpolate registered.
type interpolation struct {
	of, twin, speed reflect.Type
	mode            quantize.BlendMode
	by              reflect.Type // The type of By's function.
	custom          func(plan *quantize.Plan) (*quantize.Blend, error)
	ahead           time.Duration
	chosen          int
}

// Linear interpolates by the kinds of the fields: numbers in a straight line, fields with the tag angle by the shorter way
// round, with the tag quat on the shorter arc (slerp); integers, booleans and names of entities change in a step. It is
// the default.
func Linear() InterpolateOption { return mode(quantize.BlendByKind) }

// Stepped shows each value from its own tick until that of the next.
func Stepped() InterpolateOption { return mode(quantize.BlendStep) }

// Angles takes every number of the component for an angle in radians, whatever its tag, and turns it by the shorter way.
func Angles() InterpolateOption { return mode(quantize.BlendAngles) }

// Quaternions takes every four float32 of the component that have no tag for a quaternion x, y, z, w, or any order that
// is always the same, and turns it on the shorter arc at an even rate (slerp).
func Quaternions() InterpolateOption { return mode(quantize.BlendQuats) }

func mode(m quantize.BlendMode) InterpolateOption {
	return func(i *interpolation) { i.mode, i.chosen = m, i.chosen+1 }
}

// WithVelocity moves the numbers of the component on cubic Hermite curves, with component V on the same entity for their
// velocities: the k-th number of V is how much the k-th number of the component changes a second. V must be registered with
// Replicate. Where an entity has no V the way is straight.
func WithVelocity[V any]() InterpolateOption {
	return func(i *interpolation) { i.speed, i.chosen = reflect.TypeFor[V](), i.chosen+1 }
}

// By lets a function of the game's say what T is at a part of the way between two values: 0 is from, 1 is to, above 1 is
// beyond to. It must not keep the pointers.
func By[T any](f func(from, to *T, part float32) T) InterpolateOption {
	return func(i *interpolation) {
		i.by, i.chosen = reflect.TypeFor[T](), i.chosen+1
		i.custom = func(plan *quantize.Plan) (*quantize.Blend, error) { return quantize.NewBlendFunc(plan, f) }
	}
}

// Ahead sets for how long a value goes on as it moved last when nothing newer has arrived in time; 0 is not at all. The
// default is 100 ms. Beyond that it stands still. Ahead panics below 0.
func Ahead(d time.Duration) InterpolateOption {
	if d < 0 {
		panic(fmt.Sprintf("netcode: Ahead(%v): how far values go on is not negative", d))
	}
	return func(i *interpolation) { i.ahead = d }
}

// Interpolate makes clients show component T smoothly: Interpolated gives its value at the moment that is presented, and
// systems.Interpolate keeps it in components.Smooth[T]. T must be registered with Replicate, before or after. Nothing
// travels differently, so only clients need to call it. It panics, naming the type and the field, on more than one way of
// interpolation, on a component that holds entities of a world or nothing, and on a frozen protocol; what is missing in
// the protocol panics when it freezes.
func Interpolate[T any](p *Protocol, options ...InterpolateOption) {
	t := reflect.TypeFor[T]()
	p.mustBeOpen("Interpolate", t)
	i := interpolation{of: t, twin: reflect.TypeFor[components.Smooth[T]](), ahead: defaultAhead}
	for _, option := range options {
		option(&i)
	}
	switch {
	case i.chosen > 1:
		panic(fmt.Sprintf("netcode: Interpolate[%s]: one way of interpolation, not %d", t, i.chosen))
	case i.by != nil && i.by != t:
		panic(fmt.Sprintf("netcode: Interpolate[%s]: By is given a function of %s", t, i.by))
	case slices.ContainsFunc(p.smooth, func(o interpolation) bool { return o.of == t }):
		panic(fmt.Sprintf("netcode: Interpolate[%s]: called twice", t))
	}
	p.smooth = append(p.smooth, i)
}

// setSmooth finds the rows of what is interpolated, when the protocol freezes.
func (p *Protocol) setSmooth() {
	for _, i := range p.smooth {
		p.interpolations = append(p.interpolations, p.interpolation(i))
	}
	slices.SortFunc(p.interpolations, func(a, b snapshot.Interpolation) int { return a.Row - b.Row })
}

// interpolation turns a registration into rows and blends, or panics with what is missing.
func (p *Protocol) interpolation(i interpolation) snapshot.Interpolation {
	in := snapshot.Interpolation{
		Row: p.rowOf(i.of), Speed: -1, Teleport: p.rowOf(reflect.TypeFor[components.Teleport]()), Twin: i.twin, Ahead: i.ahead,
	}
	if in.Row < 0 {
		panic(fmt.Sprintf("netcode: Interpolate[%s]: the component is not registered with Replicate", i.of))
	}
	plan := p.components[in.Row]
	if plan.Lanes() == 0 {
		panic(fmt.Sprintf("netcode: Interpolate[%s]: nothing of the component travels", i.of))
	}
	blend := func() (*quantize.Blend, error) { return quantize.NewBlend(plan, i.mode) }
	switch {
	case i.custom != nil:
		blend = func() (*quantize.Blend, error) { return i.custom(plan) }
	case i.speed != nil:
		if in.Speed = p.rowOf(i.speed); in.Speed < 0 {
			panic(fmt.Sprintf("netcode: Interpolate[%s]: the velocity %s is not registered with Replicate", i.of, i.speed))
		}
		blend = func() (*quantize.Blend, error) { return quantize.NewBlendWithSpeed(plan, p.components[in.Speed]) }
	}
	if _, err := blend(); err != nil {
		panic(fmt.Sprintf("netcode: Interpolate[%s]: %v", i.of, err))
	}
	in.Blend = func() *quantize.Blend {
		b, _ := blend() // It was tried above.
		return b
	}
	return in
}

// rowOf is the row of a component type, -1 when it is not registered.
func (p *Protocol) rowOf(t reflect.Type) int {
	return slices.IndexFunc(p.components, func(plan *quantize.Plan) bool { return plan.Type() == t })
}

// Interpolations lists how components are interpolated, by row. Asking freezes the protocol. The slice is the protocol's
// own.
func (p *Protocol) Interpolations() []snapshot.Interpolation {
	p.freeze()
	return p.interpolations
}

// shownRow is one component as InterpolatedAt finds it.
type shownRow struct {
	snapshot.Interpolation
	of    reflect.Type
	blend *quantize.Blend // Nil where it cannot be shown late.
	held  any             // A pointer to the component, so that no call allocates.
	way   quantize.Way
}

// Interpolated is component T of an entity at the moment that this frame presents: InterpolatedAt(c, entity, c.Present()).
func Interpolated[T any](c *Client, entity NetworkID) (value T, ok bool) {
	return InterpolatedAt[T](c, entity, c.Present())
}

// InterpolatedAt is component T of an entity at a moment, in ticks of the server, between the values that arrived: as
// Interpolate says, or in steps where T was not given to it. It is false when the entity was not there then or had no T,
// when that is not known, and for a T that is not registered or holds entities of a world. Moments may lie back by twice the
// history window. It allocates nothing but at the first call for a T.
func InterpolatedAt[T any](c *Client, entity NetworkID, at tick.Time) (value T, ok bool) {
	if c.replica == nil {
		return value, false
	}
	row := c.shownRow(reflect.TypeFor[T]())
	if row == nil {
		c.report.misused("Interpolated", reflect.TypeFor[T](), ErrNoComponent)
		return value, false
	}
	if row.blend == nil {
		return value, false
	}
	sample, there := c.replica.Around(entity, at)
	if !there || !row.Way(&sample, at, c.agreed.TickRate, &row.way) {
		return value, false
	}
	held, same := row.held.(*T)
	if !same {
		return value, false
	}
	quantize.MixInto(row.blend, &row.way, held)
	return *held, true
}

// shownRow finds or makes what InterpolatedAt needs for a type; nil when it is no component of the protocol.
func (c *Client) shownRow(t reflect.Type) *shownRow {
	for _, row := range c.shownRows {
		if row.of == t {
			return row
		}
	}
	n := c.protocol.rowOf(t)
	if n < 0 {
		return nil
	}
	row := &shownRow{of: t, held: reflect.New(t).Interface()}
	row.Row, row.Speed, row.Teleport = n, -1, -1
	if i := slices.IndexFunc(c.protocol.interpolations, func(in snapshot.Interpolation) bool { return in.Row == n }); i >= 0 {
		row.Interpolation = c.protocol.interpolations[i]
		row.blend = row.Blend()
	} else if b, err := quantize.NewBlend(c.protocol.components[n], quantize.BlendStep); err == nil && c.protocol.components[n].Lanes() > 0 {
		row.blend = b
	}
	c.shownRows = append(c.shownRows, row)
	return row
}

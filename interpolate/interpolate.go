package interpolate

import (
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/errs"
	"github.com/arche-netcode/netcode/extend"
	"github.com/arche-netcode/netcode/internal/replica"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
)

// defaultAhead is the time for which a component is extrapolated beyond its newest version.
const defaultAhead = 100 * time.Millisecond

// Option is a setting of the interpolation of a component.
type Option func(*registered)

// registered has the options of one Register.
type registered struct {
	of, twin, speed reflect.Type
	mode            quantize.BlendMode
	by              reflect.Type // The argument type of By's function.
	custom          func(plan *quantize.Plan) (*quantize.Blend, error)
	ahead           time.Duration
	chosen          int
}

// interpolations has the interpolated components of a protocol.
type interpolations struct {
	registered []registered
	list       []replica.Interpolation // By row, once frozen.
}

// Linear interpolates by the kinds of the fields: numbers in a straight line, fields with the tag angle by the shorter
// way round, fields with the tag quat on the shorter arc (slerp). Integers, booleans and entity references change in a
// step. Linear is the default.
func Linear() Option { return mode(quantize.BlendByKind) }

// Stepped shows each value from its own tick until the tick of the next value.
func Stepped() Option { return mode(quantize.BlendStep) }

// Angles treats every number of the component as an angle in radians, whatever its tag, and turns it by the shorter way.
func Angles() Option { return mode(quantize.BlendAngles) }

// Quaternions treats every four float32 of the component without a tag as a quaternion, in any fixed order of x, y, z, w.
// It turns on the shorter arc at an even rate (slerp).
func Quaternions() Option { return mode(quantize.BlendQuats) }

func mode(m quantize.BlendMode) Option {
	return func(i *registered) { i.mode, i.chosen = m, i.chosen+1 }
}

// WithVelocity moves the numbers of the component on cubic Hermite curves. The velocities are in component V of the same
// entity: the k-th number of V is the change of the k-th number of the component per second. V must be registered with
// Replicate. An entity without V moves in straight lines.
func WithVelocity[V any]() Option {
	return func(i *registered) { i.speed, i.chosen = reflect.TypeFor[V](), i.chosen+1 }
}

// By interpolates with a function of the game. f returns T at a part of the way between two values: 0 is from, 1 is to,
// above 1 is beyond to. f must not store the pointers.
func By[T any](f func(from, to *T, part float32) T) Option {
	return func(i *registered) {
		i.by, i.chosen = reflect.TypeFor[T](), i.chosen+1
		i.custom = func(plan *quantize.Plan) (*quantize.Blend, error) { return quantize.NewBlendFunc(plan, f) }
	}
}

// Ahead sets for how long a value is extrapolated when no newer value has arrived in time; 0 disables it. The default is
// 100 ms. After that time the value stands still. Ahead panics below 0.
func Ahead(d time.Duration) Option {
	if d < 0 {
		panic(fmt.Sprintf("netcode: interpolate.Ahead(%v): how far values go on is not negative", d))
	}
	return func(i *registered) { i.ahead = d }
}

// Register makes clients show component T smoothly. Of returns its value at the presented moment, and systems.Interpolate
// writes it to components.Smooth[T]. T must be registered with netcode.Replicate, before or after. The wire format does
// not change, so that only clients need the call.
//
// A relation has no Smooth. With Register its target in the client's world changes when the presented moment reaches the
// change, with all that is interpolated: a rider steps on a platform together with its place on it. Its fields keep the
// newest values. A field of type ecs.Entity cannot be shown late, but a netcode.NetworkID can.
//
// Register panics on more than one kind of interpolation, on a second call for T and on a frozen protocol. The freeze
// panics, with the names of the type and the field, if T or V is not replicated or cannot be interpolated.
func Register[T any](p *netcode.Protocol, options ...Option) {
	t := reflect.TypeFor[T]()
	extend.OfProtocol(p).MustBeOpen("interpolate.Register", t)
	i := registered{of: t, twin: reflect.TypeFor[components.Smooth[T]](), ahead: defaultAhead}
	for _, option := range options {
		option(&i)
	}
	all, ok := extend.ExtensionOf[*interpolations](p)
	if !ok {
		all = &interpolations{}
		extend.OfProtocol(p).Extend(extend.Extension{Name: "interpolate", State: all, Freeze: all.freeze})
	}
	switch {
	case i.chosen > 1:
		panic(fmt.Sprintf("netcode: interpolate.Register[%s]: one way of interpolation, not %d", t, i.chosen))
	case i.by != nil && i.by != t:
		panic(fmt.Sprintf("netcode: interpolate.Register[%s]: By is given a function of %s", t, i.by))
	case slices.ContainsFunc(all.registered, func(o registered) bool { return o.of == t }):
		panic(fmt.Sprintf("netcode: interpolate.Register[%s]: called twice", t))
	case len(all.registered) == maxRegistered:
		panic(fmt.Sprintf("netcode: interpolate.Register[%s]: at most %d components are interpolated: join some into one", t, maxRegistered))
	}
	all.registered = append(all.registered, i)
}

// maxRegistered bounds the interpolated component types of a protocol: the views have a bit for each.
const maxRegistered = 64

// freeze resolves the rows of the interpolated components.
func (a *interpolations) freeze(f *extend.Freezing) {
	for _, i := range a.registered {
		in := i.in(f.Schema)
		a.list = append(a.list, in)
		f.Set(in.Row, in)
	}
	slices.SortFunc(a.list, func(a, b replica.Interpolation) int { return a.Row - b.Row })
}

// in resolves a registration to rows and blends. It panics if a component is missing or cannot be interpolated.
func (i registered) in(schema *snapshot.Schema) replica.Interpolation {
	in := replica.Interpolation{
		Row: rowOf(schema, i.of), Speed: -1, Teleport: rowOf(schema, reflect.TypeFor[components.Teleport]()), Twin: i.twin, Ahead: i.ahead,
	}
	if in.Row < 0 {
		panic(fmt.Sprintf("netcode: interpolate.Register[%s]: the component is not registered with Replicate", i.of))
	}
	plan := schema.Plan(in.Row)
	if plan.Lanes() == 0 {
		panic(fmt.Sprintf("netcode: interpolate.Register[%s]: nothing of the component travels", i.of))
	}
	if _, in.Relation = plan.Target(); in.Relation && len(plan.Handles()) == 0 {
		if i.chosen > 0 {
			panic(fmt.Sprintf("netcode: interpolate.Register[%s]: the target of a relation changes in a step: give no way of interpolation", i.of))
		}
		return in
	}
	blend := func() (*quantize.Blend, error) { return quantize.NewBlend(plan, i.mode) }
	switch {
	case i.custom != nil:
		blend = func() (*quantize.Blend, error) { return i.custom(plan) }
	case i.speed != nil:
		if in.Speed = rowOf(schema, i.speed); in.Speed < 0 {
			panic(fmt.Sprintf("netcode: interpolate.Register[%s]: the velocity %s is not registered with Replicate", i.of, i.speed))
		}
		blend = func() (*quantize.Blend, error) { return quantize.NewBlendWithSpeed(plan, schema.Plan(in.Speed)) }
	}
	if _, err := blend(); err != nil {
		panic(fmt.Sprintf("netcode: interpolate.Register[%s]: %v", i.of, err))
	}
	in.Blend = func() *quantize.Blend {
		b, _ := blend() // An error has panicked above.
		return b
	}
	return in
}

// rowOf returns the row of a component type, -1 for a type that is not registered.
func rowOf(schema *snapshot.Schema, t reflect.Type) int {
	for row := range schema.Rows() {
		if schema.Plan(row).Type() == t {
			return row
		}
	}
	return -1
}

// List returns the interpolations of a protocol, sorted by row. It freezes the protocol. The slice is the protocol's own.
func List(p *netcode.Protocol) []replica.Interpolation {
	p.Schema()
	if all, ok := extend.ExtensionOf[*interpolations](p); ok {
		return all.list
	}
	return nil
}

// shown is a client's state for At.
type shown struct{ rows []*shownRow }

// shownRow is one component for At.
type shownRow struct {
	replica.Interpolation
	of    reflect.Type
	blend *quantize.Blend // Nil for a component that cannot be shown late.
	held  any             // A pointer to a T, so that no call allocates.
	way   quantize.BlendInput
}

// Of returns component T of an entity at the moment that this frame presents: At(c, entity, c.Present()).
func Of[T any](c *netcode.Client, entity netcode.NetworkID) (value T, ok bool) {
	return At[T](c, entity, c.Present())
}

// At returns component T of an entity at a moment in ticks of the server, interpolated between the received values. A T
// without Register changes in steps. ok is false if the entity did not exist then or had no T, and if that is not known.
// It is also false for a T that is not replicated or contains entities of a world. The moment is at most twice the
// history window ago. At allocates nothing except at the first call for a T.
func At[T any](c *netcode.Client, entity netcode.NetworkID, at tick.Time) (value T, ok bool) {
	if c.Replica() == nil {
		return value, false
	}
	row := shownRowOf(c, reflect.TypeFor[T]())
	if row == nil {
		extend.Misused(c, "interpolate.Of", reflect.TypeFor[T](), errs.ErrNoComponent)
		return value, false
	}
	if row.blend == nil {
		return value, false
	}
	sample, there := c.Replica().Around(entity, at)
	if !there || !row.Way(&sample, at, c.TickRate(), &row.way) {
		return value, false
	}
	held, same := row.held.(*T)
	if !same {
		return value, false
	}
	quantize.MixInto(row.blend, &row.way, held)
	return *held, true
}

// shownRowOf returns the state of At for a type. It is nil for a type that is not replicated.
func shownRowOf(c *netcode.Client, t reflect.Type) *shownRow {
	all, ok := extend.ExtensionOf[*shown](c)
	if !ok {
		all = &shown{}
		extend.OfClient(c).Extend(extend.ClientHooks{State: all})
	}
	for _, row := range all.rows {
		if row.of == t {
			return row
		}
	}
	schema := c.Protocol().Schema()
	n := rowOf(schema, t)
	if n < 0 {
		return nil
	}
	row := &shownRow{of: t, held: reflect.New(t).Interface()}
	row.Row, row.Speed, row.Teleport = n, -1, -1
	if in, ok := extend.SettingOf[replica.Interpolation](c.Protocol(), n); ok && !in.Relation {
		row.Interpolation = in
		row.blend = row.Blend()
	} else if b, err := quantize.NewBlend(schema.Plan(n), quantize.BlendStep); err == nil && schema.Plan(n).Lanes() > 0 {
		row.blend = b
	}
	all.rows = append(all.rows, row)
	return row
}

package netcode

import (
	"fmt"
	"reflect"

	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/wire"
)

// ExtrapolatedBy gives a component an extrapolation function of its own: from the two versions of a row that both ends hold, it
// says what the row will be, and what travels is only how far that was off. It knows what netcode cannot: gravity, the
// track that a train runs on. Give the same function under the same name on both sides; the hash holds the name. The
// function must come to the same on every machine, see quantize.Extrapolation. ExtrapolatedBy panics on a name that is not 1 to 64
// letters, digits, dots, dashes and underscores.
func ExtrapolatedBy(name string, f quantize.Extrapolation) Option {
	if f == nil {
		panic("netcode: ExtrapolatedBy: no function")
	}
	return func(r *registration) { r.extrapolator, r.extrapolate = name, f }
}

// Every makes a component travel at most every so many ticks, 1 to 65535. What is written meanwhile travels at the next
// turn, as it is then; that the component is added, removed, or its entity born does not wait, nor do the components that
// control replication, such as components.Owner. Which ticks are a
// component's turn depends on its entity, so that not all entities have theirs at once; those of one components.Group have
// theirs together, and stay whole where they are captured equally often. A components.Rate on an entity
// does the same for all its components; the slower of the two counts. Only the server asks for it, so the two ends may
// differ. Every panics outside its range, and Replicate when Once is asked for too.
func Every(ticks int) Option {
	if ticks < 1 || ticks > maxEvery {
		panic(fmt.Sprintf("netcode: Every(%d): a component travels every 1 to %d ticks", ticks, maxEvery))
	}
	return func(r *registration) { r.rows.Every = ticks }
}

// maxEvery is the most that Every takes, as components.Rate does.
const maxEvery = 1<<16 - 1

// Once makes a component travel when it is added to an entity, with the value that it has in the next capture, and never
// again while it stays there: for what entities are born with. Only the server asks for it. It does not go with Every.
func Once() Option { return func(r *registration) { r.rows.Once = true } }

// Marked makes a component travel only when game code says that it wrote it, with systems.Mark, or that its entity is new:
// it is not compared any more, and costs nothing where nothing was written. A write without a mark is not sent until the next
// one with; Capture.CheckMarks of package systems finds such writes in tests. To remove it and add it again between two captures
// is to write it, and asks for a mark. Only the server asks for it.
func Marked() Option { return func(r *registration) { r.rows.Marked = true } }

// Importance says how much a change of a component counts where the bandwidth does not suffice for all: 1 is normal, 0 to
// 255 in steps of 1/256, 0 being as little as 1/256. An entity waits with the highest importance of its components that have
// changed, times its components.Priority, times its relevance to the client; one record brings all of them. One of twice the
// product is sent twice as often. Only the server asks for it, so the two ends may differ. Importance panics outside its range.
func Importance(weight float32) Option {
	importance, fault := snapshot.WeightOf(weight)
	if fault != wire.NoFault {
		panic(fmt.Sprintf("netcode: Importance(%v): it is 0 to 255, and 1 is normal", weight))
	}
	return func(r *registration) { r.rows.Importance = importance }
}

// Replicate registers component T: on every entity that carries components.Replicated, T is sent to the clients. Call
// it on both sides. T must be blittable; struct tags say how its fields travel (see quantize.Compile). A field of Arche's
// ecs.Entity with the tag net:"entity" names on each client the entity there that replicates the server's, and so does
// the target of a T that is an Arche relation; both are the zero entity where a client has none. Replicate panics, naming
// the type and the field, on a type that cannot travel, on a wire name or a type that is registered already, on Once with
// Every, and on a frozen protocol.
func Replicate[T any](p *Protocol, options ...Option) {
	t := reflect.TypeFor[T]()
	p.MustBeOpen("Replicate", t)
	r := register("Replicate", t, options)
	if r.last != "" {
		panic(fmt.Sprintf("netcode: Replicate[%s]: %s is an option of messages, for Handle and Answer: a component is sent as state, without it", t, r.last))
	}
	if r.rows.Once && r.rows.Every > 0 {
		panic(fmt.Sprintf("netcode: Replicate[%s]: Once and Every(%d) contradict each other: what travels once has no next turn", t, r.rows.Every))
	}
	if t == reflect.TypeFor[components.Replicated]() {
		panic("netcode: Replicate[components.Replicated]: netcode writes this component itself and never sends it")
	}
	if len(p.components) == snapshot.MaxRows {
		panic(fmt.Sprintf("netcode: Replicate[%s]: a protocol holds at most %d components", t, snapshot.MaxRows))
	}
	plan := compile("Replicate", t, r.name)
	for _, other := range p.components {
		mustDiffer("Replicate", t, r.name, other.Type(), other.Name())
	}
	if r.extrapolate != nil {
		plan.ExtrapolateBy(r.extrapolator, r.extrapolate)
	}
	p.components = append(p.components, plan)
	for _, set := range r.set {
		set(p, plan)
	}
	if r.rows != (snapshot.RowOptions{}) {
		p.rows[plan] = r.rows
	}
}

// compile turns T into its list of fields, or panics with the field that cannot travel. None of them is an event.
func compile(call string, t reflect.Type, name string) *quantize.Plan {
	plan := compileEvents(call, t, name)
	if plan.Events() {
		panic(fmt.Sprintf("netcode: %s[%s]: %v", call, t, quantize.ErrEvents))
	}
	return plan
}

// compileEvents is compile for a type that may have events.
func compileEvents(call string, t reflect.Type, name string) *quantize.Plan {
	plan, err := quantize.Compile(t, name)
	if err != nil {
		panic(fmt.Sprintf("netcode: %s[%s]: %v", call, t, err))
	}
	if call != "Replicate" {
		if err := plan.CheckHandles(); err != nil {
			panic(fmt.Sprintf("netcode: %s[%s]: %v", call, t, err))
		}
	}
	return plan
}

// mustDiffer panics when two registrations share a wire name or a type.
func mustDiffer(call string, t reflect.Type, name string, other reflect.Type, otherName string) {
	if t == other {
		panic(fmt.Sprintf("netcode: %s[%s]: this type is registered already, as %q", call, t, otherName))
	}
	if name == otherName {
		panic(fmt.Sprintf("netcode: %s[%s]: the wire name %q is taken by %s: use the option Named", call, t, name, other))
	}
}

package netcode

import (
	"fmt"
	"reflect"

	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// Option adjusts one registration: Named for both Replicate and Handle, Every, Once and PredictedBy for Replicate, AtStage for Handle.
type Option func(*registration)

// registration is what the options of one Replicate or Handle decide.
type registration struct {
	name   string
	stage  tick.Stage
	staged bool
	rows   snapshot.RowOptions

	predictor string
	predict   wire.Prediction
}

// Named gives a type another wire name than its own. Wire names are unique in a protocol and are what the two ends
// compare, so a type may be renamed or moved without breaking the protocol as long as its wire name stays.
func Named(name string) Option { return func(r *registration) { r.name = name } }

// PredictedBy gives a component a prediction function of its own: from the two versions of a row that both ends hold, it
// says what the row will be, and what travels is only how far that was off. It knows what netcode cannot: gravity, the
// track that a train runs on. Give the same function under the same name on both sides; the hash holds the name. The
// function must come to the same on every machine, see wire.Prediction. PredictedBy panics on a name that is not 1 to 64
// letters, digits, dots, dashes and underscores.
func PredictedBy(name string, f wire.Prediction) Option {
	if f == nil {
		panic("netcode: PredictedBy: no function")
	}
	return func(r *registration) { r.predictor, r.predict = name, f }
}

// Every makes a component travel at most every so many ticks, 1 to 65535. What is written meanwhile travels at the next
// turn, as it is then; that the component is added, removed, or its entity born does not wait, nor do the components that
// control replication, such as components.Owner. Which ticks are a
// component's turn depends on its entity, so that not all entities have theirs at once. A components.Rate on an entity
// does the same for all its components; the slower of the two counts. Only the server asks for it, so the two ends may
// differ. Every panics outside its range.
func Every(ticks int) Option {
	if ticks < 1 || ticks > maxEvery {
		panic(fmt.Sprintf("netcode: Every(%d): a component travels every 1 to %d ticks", ticks, maxEvery))
	}
	return func(r *registration) { r.rows.Every = ticks }
}

// maxEvery is the most that Every takes, as components.Rate does.
const maxEvery = 1<<16 - 1

// Once makes a component travel when it is added to an entity, with the value that it has in the next capture, and never
// again while it stays there: for what entities are born with. Only the server asks for it.
func Once() Option { return func(r *registration) { r.rows.Once = true } }

// Replicate registers component T: on every entity that carries components.Replicated, T is sent to the clients. Call
// it on both sides. T must be blittable; struct tags say how its fields travel (see wire.Compile). A field of Arche's
// ecs.Entity with the tag net:"entity" names on each client the entity there that replicates the server's, and so does
// the target of a T that is an Arche relation; both are the zero entity where a client has none. Replicate panics, naming
// the type and the field, on a type that cannot travel, on a wire name or a type that is registered already, and on a
// frozen protocol.
func Replicate[T any](p *Protocol, options ...Option) {
	t := reflect.TypeFor[T]()
	p.mustBeOpen("Replicate", t)
	r := register("Replicate", t, options)
	if r.staged {
		panic(fmt.Sprintf("netcode: Replicate[%s]: AtStage is for messages: components are applied in %s", t, tick.EarlyUpdate))
	}
	if t == reflect.TypeFor[components.Replicated]() {
		panic("netcode: Replicate[components.Replicated]: netcode writes this component itself and never sends it")
	}
	if len(p.components) == snapshot.MaxRows {
		panic(fmt.Sprintf("netcode: Replicate[%s]: a protocol holds at most %d components", t, snapshot.MaxRows))
	}
	plan := compile("Replicate", t, r.name)
	for _, other := range p.components {
		mustDiffer("Replicate", plan, other)
	}
	if r.predict != nil {
		plan.PredictBy(r.predictor, r.predict)
	}
	p.components = append(p.components, plan)
	if r.rows != (snapshot.RowOptions{}) {
		p.rows[plan] = r.rows
	}
}

// register collects the options; the wire name is the type's own unless Named says otherwise.
func register(call string, t reflect.Type, options []Option) registration {
	r := registration{name: t.Name()}
	for _, option := range options {
		option(&r)
	}
	if call == "Handle" && r.rows != (snapshot.RowOptions{}) {
		panic(fmt.Sprintf("netcode: Handle[%s]: Every and Once are for components: a message travels when it is sent", t))
	}
	if call == "Handle" && r.predict != nil {
		panic(fmt.Sprintf("netcode: Handle[%s]: PredictedBy is for components: of messages nothing is predicted", t))
	}
	if r.name == "" && t.Kind() != reflect.Struct {
		compile(call, t, "unnamed") // says why such a type cannot travel, where that is what is wrong
	}
	if !legalName(r.name) {
		panic(fmt.Sprintf("netcode: %s[%s]: the wire name %q must be 1 to %d printable ASCII characters without space, brace "+
			"or semicolon: use the option Named", call, t, r.name, maxName))
	}
	return r
}

// maxName is the longest wire name, in bytes.
const maxName = 128

// legalName tells if a wire name can stand in a canonical description without being taken for a part of it.
func legalName(name string) bool {
	for i := range len(name) {
		if c := name[i]; c <= ' ' || c > '~' || c == '{' || c == '}' || c == ';' {
			return false
		}
	}
	return name != "" && len(name) <= maxName
}

// compile turns T into its list of fields, or panics with the field that cannot travel.
func compile(call string, t reflect.Type, name string) *wire.Plan {
	plan, err := wire.Compile(t, name)
	if err != nil {
		panic(fmt.Sprintf("netcode: %s[%s]: %v", call, t, err))
	}
	if _, relation := plan.Target(); call == "Handle" && (relation || len(plan.Handles()) > 0) {
		panic(fmt.Sprintf("netcode: Handle[%s]: entity handles are local to a world: a message names an entity by a NetworkID", t))
	}
	return plan
}

// mustDiffer panics when two registrations share a wire name or a type.
func mustDiffer(call string, plan, other *wire.Plan) {
	if plan.Type() == other.Type() {
		panic(fmt.Sprintf("netcode: %s[%s]: this type is registered already, as %q", call, plan.Type(), other.Name()))
	}
	if plan.Name() == other.Name() {
		panic(fmt.Sprintf("netcode: %s[%s]: the wire name %q is taken by %s: use the option Named", call, plan.Type(), plan.Name(), other.Type()))
	}
}

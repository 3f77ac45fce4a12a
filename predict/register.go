package predict

import (
	"fmt"
	"reflect"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/authority"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/extend"
	"github.com/arche-netcode/netcode/input"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/snapshot"
)

// maxComponents bounds the sum of predicted and local components of a protocol.
const maxComponents = 62

// Option is a setting of one predicted component.
type Option func(*registered)

// registered is one predicted component.
type registered struct {
	of        reflect.Type
	tolerance float64
	unrounded bool
	snap      float64
}

// Tolerance sets the largest difference between two numbers that is not a misprediction, in the unit of the component.
// Use it for floating point that differs between machines. The default is 0. Tolerance panics on a negative difference
// and on NaN.
func Tolerance(difference float64) Option {
	if !(difference >= 0) {
		panic(fmt.Sprintf("netcode: predict.Tolerance(%v): a difference is not negative", difference))
	}
	return func(r *registered) { r.tolerance = difference }
}

// Unrounded lets the server simulate the component in full precision. Without it, each step begins on both sides with the
// quantised value that is sent, so that the same code gives the same result. With it, most ticks differ by up to half a
// quantisation step: set a Tolerance too.
func Unrounded() Option { return func(r *registered) { r.unrounded = true } }

// Snap sets the distance, in the component's unit, from which a correction is shown as a jump. By default every
// correction is blended. Snap panics on a negative distance and on NaN.
func Snap(distance float64) Option {
	if !(distance >= 0) {
		panic(fmt.Sprintf("netcode: predict.Snap(%v): a distance is not negative", distance))
	}
	return func(r *registered) { r.snap = distance }
}

// predictions has the predicted and local components of a protocol.
type predictions struct {
	protocol   *netcode.Protocol
	registered []registered
	local      []localRow
	spawns     bool
	// Explain and Local set these two functions, so that the linker omits the code of an unused feature.
	explain   func(c *client, m Misprediction, checked netcode.Tick) // client.explain
	askLocals func(c *client)                                        // client.askForLocals
	rows      []predictedRow                                         // In the order of registered, once frozen.
	mask      snapshot.Mask                                          // The rows of predicted components.
	owner     int                                                    // Row of components.Owner, as below of Predicted and SpawnOf; -1: not replicated.
	predicted int
	spawnOf   int
}

// predictedRow is one predicted component of a frozen protocol.
type predictedRow struct {
	registered
	row  int
	plan *quantize.Plan
}

// of returns the predictions of a protocol. The first call adds the extension.
func of(p *netcode.Protocol) *predictions {
	all, ok := extend.ExtensionOf[*predictions](p)
	if !ok {
		all = &predictions{protocol: p}
		extend.OfProtocol(p).Extend(extend.Extension{
			Name: "predict", Kind: "local", State: all, Freeze: all.freeze, ToClient: extend.FreeSection, Server: ends{}, Client: ends{},
		})
		input.TellUsed(p)
		handleChosen(p)
		handleClaims(p)
		handleSystems(p)
	}
	return all
}

// Register makes component T predicted. Call it on both sides. A client predicts T on the entities that it owns by
// components.Owner, and on those that components.Predicted assigns to it.
//
// T must also be registered with netcode.Replicate, before or after, and so must components.Owner or
// components.Predicted. Register panics on a T that is registered twice and on a frozen protocol. The freeze panics on
// these components:
//
//   - a component that refers to entities of a world by a handle or as a relation: use a NetworkID
//   - a component that is sent only every few ticks (netcode.Every)
//   - a component that a client writes (authority.WrittenBy)
func Register[T any](p *netcode.Protocol, options ...Option) {
	t := reflect.TypeFor[T]()
	extend.OfProtocol(p).MustBeOpen("predict.Register", t)
	all := of(p)
	r := registered{of: t}
	for _, option := range options {
		option(&r)
	}
	all.mustBeNew("predict.Register", t)
	all.registered = append(all.registered, r)
}

// Local makes component T part of the simulation, though it is never sent with the state: a cooldown, a timer. It is
// stored for each tick and rolled back with the predicted components.
//
// A client requests the values from the server in three cases: it begins to predict an entity, it restarts after a hang,
// or the entity was mispredicted. The server answers for entities that the client owns or that have components.Predicted.
//
// T is plain data: no pointers, and sized integers. An entity has at most 512 bytes of local components. Local panics on
// a T that is not plain, on too many components or bytes, on a T that is registered twice, and on a frozen protocol.
func Local[T any](p *netcode.Protocol) {
	t := reflect.TypeFor[T]()
	extend.OfProtocol(p).MustBeOpen("predict.Local", t)
	all := of(p)
	all.mustBeNew("predict.Local", t)
	row, sum := newLocalRow[T](), 0
	for i := range all.local {
		sum += all.local[i].size
	}
	if sum+row.size > localBytes {
		panic(fmt.Sprintf("netcode: predict.Local[%s]: an entity has at most %d bytes of local components, not %d", t, localBytes, sum+row.size))
	}
	if len(all.local) == 0 {
		handleLocals(p)
		all.askLocals = (*client).askForLocals
	}
	all.local = append(all.local, row)
}

// Spawns allows steps to spawn entities that a client predicts: see Step.Spawn. Call it on both sides. It registers
// components.SpawnOf. It panics on a frozen protocol.
func Spawns(p *netcode.Protocol) {
	extend.OfProtocol(p).MustBeOpen("predict.Spawns", reflect.TypeFor[components.SpawnOf]())
	all := of(p)
	if !all.spawns {
		all.spawns = true
		netcode.Replicate[components.SpawnOf](p)
	}
}

// mustBeNew panics on a type that is registered already, and when the protocol has maxComponents.
func (a *predictions) mustBeNew(call string, t reflect.Type) {
	for _, r := range a.registered {
		if r.of == t {
			panic(fmt.Sprintf("netcode: %s[%s]: the component is predicted already", call, t))
		}
	}
	for _, l := range a.local {
		if l.of == t {
			panic(fmt.Sprintf("netcode: %s[%s]: the component is local already", call, t))
		}
	}
	if len(a.registered)+len(a.local) == maxComponents {
		panic(fmt.Sprintf("netcode: %s[%s]: a protocol has at most %d predicted and local components", call, t, maxComponents))
	}
}

// freeze resolves the rows of the components and panics on components that cannot be predicted.
func (a *predictions) freeze(f *extend.Freezing) {
	row := func(t reflect.Type) int {
		for row := range f.Schema.Rows() {
			if f.Schema.Plan(row).Type() == t {
				return row
			}
		}
		return -1
	}
	for _, r := range a.registered {
		n := row(r.of)
		if n < 0 {
			panic(fmt.Sprintf("netcode: predict.Register[%s]: the component does not travel: call netcode.Replicate, or predict.Local in place of Register", r.of))
		}
		plan := f.Schema.Plan(n)
		if _, aimed := plan.Target(); aimed || len(plan.Handles()) > 0 {
			panic(fmt.Sprintf("netcode: predict.Register[%s]: the component names entities of a world: use a NetworkID", r.of))
		}
		if every := f.Schema.Options(n).Every; every > 1 {
			panic(fmt.Sprintf("netcode: predict.Register[%s]: the component travels every %d ticks only (netcode.Every): a client could not compare the others", r.of, every))
		}
		if authority.WriterOf(a.protocol, plan) != authority.ServerWrites {
			panic(fmt.Sprintf("netcode: predict.Register[%s]: a client writes the component (authority.WrittenBy): remove one of the two", r.of))
		}
		if !r.unrounded {
			f.DescribeComponent(n, " predicted")
		}
		a.rows = append(a.rows, predictedRow{r, n, plan})
		a.mask = a.mask.With(n)
	}
	for i := range a.local {
		name := a.local[i].of.Name()
		f.Describe(name, fmt.Sprintf("local %s{%d:%s}", name, i, a.local[i].text))
	}
	a.owner, a.predicted, a.spawnOf = row(reflect.TypeFor[components.Owner]()), row(reflect.TypeFor[components.Predicted]()), row(reflect.TypeFor[components.SpawnOf]())
	if a.spawnOf >= 0 { // Others have no use for it.
		f.Schema.Owned = f.Schema.Owned.With(a.spawnOf)
		if a.predicted >= 0 {
			f.Schema.Shared = f.Schema.Shared.With(a.predicted)
		}
	}
	if a.owner < 0 && a.predicted < 0 {
		panic("netcode: predict: no client learns which entities it predicts: call netcode.Replicate[components.Owner](protocol), or that of components.Predicted")
	}
}

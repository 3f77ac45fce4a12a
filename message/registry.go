package message

import (
	"errors"
	"fmt"
	"reflect"
	"sort"

	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// MaxTypes is how many message types a Registry holds at most.
const MaxTypes = int(wire.MaxMessageType-wire.FirstUserMessage) + 1

// Type is a message type that can be received.
type Type struct {
	Name   string                             // wire name, unique in a registry
	Plan   *wire.Plan                         // the fields that travel; nil for a payload of plain bytes
	Stage  tick.Stage                         // where it is handled unless the sender says otherwise
	Handle func(ctx *Context, payload []byte) // called with what was received; neither may be kept

	id wire.MessageType
}

// ID returns the number that stands for the type on the wire; 0 before Freeze.
func (t *Type) ID() wire.MessageType { return t.id }

// Registry holds the message types of a protocol. The zero value is empty. Frozen, it may be used by any number of
// goroutines.
type Registry struct {
	types  []*Type // in order of ID once frozen
	byType map[reflect.Type]*Type
	frozen bool
}

// Add registers a type and panics on misuse: a name or a Go type that is taken, no name, no handler, a stage that does not
// exist, more than MaxTypes, or a frozen registry. What it returns is what Lookup returns later.
func (r *Registry) Add(t Type) *Type {
	if err := r.check(&t); err != nil {
		panic(err)
	}
	added := &t
	r.types = append(r.types, added)
	if t.Plan != nil {
		if r.byType == nil {
			r.byType = map[reflect.Type]*Type{}
		}
		r.byType[t.Plan.Type()] = added
	}
	return added
}

func (r *Registry) check(t *Type) error {
	switch {
	case r.frozen:
		return fmt.Errorf("message: %q is registered after the protocol was first used", t.Name)
	case t.Name == "":
		return errors.New("message: a type without a name")
	case t.Handle == nil:
		return fmt.Errorf("message: %q has no handler", t.Name)
	case !t.Stage.Valid():
		return fmt.Errorf("message: %q is to be handled in stage %d, which does not exist", t.Name, t.Stage)
	case len(r.types) >= MaxTypes:
		return fmt.Errorf("message: %q is one type too many, there is room for %d", t.Name, MaxTypes)
	}
	for _, other := range r.types {
		if other.Name == t.Name {
			return fmt.Errorf("message: the name %q is registered twice", t.Name)
		}
	}
	if t.Plan != nil {
		if other := r.byType[t.Plan.Type()]; other != nil {
			return fmt.Errorf("message: the Go type %s is registered twice, as %q and %q", t.Plan.Type(), other.Name, t.Name)
		}
	}
	return nil
}

// Freeze ends registration and numbers the types from wire.FirstUserMessage on, in the order of their names, whatever the
// order in which they were added. A second call does nothing.
func (r *Registry) Freeze() {
	if r.frozen {
		return
	}
	r.frozen = true
	sort.Slice(r.types, func(a, b int) bool { return r.types[a].Name < r.types[b].Name })
	for i, t := range r.types {
		t.id = wire.FirstUserMessage + wire.MessageType(i)
	}
}

// Lookup returns the type with this number, by index into a table. Numbers come from remote bytes: any is allowed.
func (r *Registry) Lookup(id wire.MessageType) (*Type, bool) {
	i := int(id) - int(wire.FirstUserMessage)
	if !r.frozen || i < 0 || i >= len(r.types) {
		return nil, false
	}
	return r.types[i], true
}

// IDOf returns the number of the type whose values have this Go type, once frozen.
func (r *Registry) IDOf(t reflect.Type) (wire.MessageType, bool) {
	found := r.byType[t]
	if found == nil || !r.frozen {
		return 0, false
	}
	return found.id, true
}

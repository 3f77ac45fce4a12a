package message

import (
	"errors"
	"fmt"
	"reflect"
	"sort"

	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// MaxTypes is the largest number of message types in a Registry.
const MaxTypes = int(wire.MaxMessageType-wire.FirstUserMessage) + 1

// Type is a message type that can be sent and received.
type Type struct {
	Name       string       // wire name, unique in a registry
	Codec      Codec        // how its values travel, and the handler
	Stage      tick.Stage   // where it is handled unless the sender says otherwise, if StageGiven
	StageGiven bool         // Stage counts; else it is handled in the stage that the sender is in
	Channel    wire.Channel // mode of delivery and channel, unless the sender says otherwise
	Direction  Direction    // who may send it
	OwnerOnly  bool         // a client may send it only about an entity that it owns

	id wire.MessageType
}

// ID returns the number that stands for the type on the wire; 0 before Freeze.
func (t *Type) ID() wire.MessageType { return t.id }

// Describe appends the canonical text of the type, which says everything that two ends must agree on:
//
//	Chat{From:u32;Heat:f32[0,1,0.01]}[both ways;Unreliable 0]
//	Buy{serialized:Buy;bound:9}[from client;ReliableOrdered 3;owner only]
func (t *Type) Describe(dst []byte) []byte {
	dst = t.Codec.Describe(dst)
	dst = append(append(append(dst, '['), t.Direction.String()...), ';')
	dst = append(dst, t.Channel.String()...)
	if t.OwnerOnly {
		dst = append(dst, ";owner only"...)
	}
	return append(dst, ']')
}

// Registry holds the message types of a protocol. The zero value is empty. Frozen, it may be used by any number of
// goroutines.
type Registry struct {
	types    []*Type // in order of ID once frozen
	byGoType map[reflect.Type]*Type
	byID     [1 << 8]*Type // once frozen
	frozen   bool
}

// Add registers a type and panics on misuse: a name or a Go type that is taken, no name, no codec, one of another name, a
// stage or a direction that does not exist, more than MaxTypes, or a frozen registry. What it returns is what Lookup
// returns later.
func (r *Registry) Add(t Type) *Type {
	if err := r.check(&t); err != nil {
		panic(err)
	}
	added := &t
	r.types = append(r.types, added)
	if r.byGoType == nil {
		r.byGoType = map[reflect.Type]*Type{}
	}
	r.byGoType[t.Codec.GoType()] = added
	return added
}

func (r *Registry) check(t *Type) error {
	switch {
	case r.frozen:
		return fmt.Errorf("message: %q is registered after the protocol was first used", t.Name)
	case t.Name == "":
		return errors.New("message: a type without a name")
	case t.Codec == nil:
		return fmt.Errorf("message: %q has no codec", t.Name)
	case t.Codec.Name() != t.Name:
		return fmt.Errorf("message: %q has the codec of %q", t.Name, t.Codec.Name())
	case !t.Stage.Valid():
		return fmt.Errorf("message: %q is to be handled in stage %d, which does not exist", t.Name, t.Stage)
	case !t.Direction.Valid():
		return fmt.Errorf("message: %q goes in direction %d, which does not exist", t.Name, t.Direction)
	case len(r.types) >= MaxTypes:
		return fmt.Errorf("message: %q is one type too many, there is room for %d", t.Name, MaxTypes)
	}
	for _, other := range r.types {
		if other.Name == t.Name {
			return fmt.Errorf("message: the name %q is registered twice", t.Name)
		}
	}
	if other := r.byGoType[t.Codec.GoType()]; other != nil {
		return fmt.Errorf("message: the Go type %s is registered twice, as %q and %q", t.Codec.GoType(), other.Name, t.Name)
	}
	return nil
}

// Debug turns packing off for every type, so that payloads can be read in a dump of bytes. It panics on a frozen registry.
func (r *Registry) Debug() {
	if r.frozen {
		panic("message: packing is turned off before the protocol is first used")
	}
	for _, t := range r.types {
		t.Codec.Debug()
	}
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
		t.Codec.setNumber(t.id)
		r.byID[t.id] = t
	}
}

// Lookup returns the type with this number, by index into a table. Numbers come from remote bytes: any is allowed.
func (r *Registry) Lookup(id wire.MessageType) (*Type, bool) {
	t := r.byID[id]
	return t, t != nil
}

// Types returns all types, in the order of their numbers once frozen. The slice is the registry's own: do not change it.
func (r *Registry) Types() []*Type { return r.types }

// ByGoType returns the type whose values have this Go type, once frozen; else nil. TypeOf is the fast way.
func (r *Registry) ByGoType(t reflect.Type) *Type {
	if !r.frozen {
		return nil
	}
	return r.byGoType[t]
}

package message

import (
	"errors"
	"fmt"
	"reflect"
	"sort"
	"time"

	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// MaxTypes is the largest number of message types in a Registry.
const MaxTypes = int(wire.MaxMessageType-wire.FirstUserMessage) + 1

// Type is a message type.
type Type struct {
	Name       string       // wire name, unique in a registry
	Codec      Codec        // encodes values and calls the handler
	Stage      tick.Stage   // where it is handled by default, if StageGiven
	StageGiven bool         // Stage is set; else the message is handled in the sender's present stage
	Channel    wire.Channel // mode of delivery and channel, by default
	Direction  Direction    // ends that may send it
	OwnerOnly  bool         // a client may send it only about an entity that it owns

	id wire.MessageType
}

// ID returns the type's number on the wire; 0 before Freeze.
func (t *Type) ID() wire.MessageType { return t.id }

// Describe appends the canonical text of the type, which tells everything that two ends must agree on:
//
//	Chat{From:u32;Heat:f32[0,1,0.01]}[both ways;Unreliable 0]
//	Buy{serialized;Item:u16;Note:string40}[from client;ReliableOrdered 3;owner only]
func (t *Type) Describe(dst []byte) []byte {
	dst = t.Codec.Describe(dst)
	dst = append(append(append(dst, '['), t.Direction.String()...), ';')
	dst = append(dst, t.Channel.String()...)
	if t.OwnerOnly {
		dst = append(dst, ";owner only"...)
	}
	return append(dst, ']')
}

// Registry holds the message types of a protocol. The zero value is empty. Any number of goroutines may use it once it
// is frozen.
type Registry struct {
	types    []*Type // by ID once frozen
	byGoType map[reflect.Type]*Type
	byID     [1 << 8]*Type       // set by Freeze
	places   [goTypePlaces]*Type // set by Freeze: hash table by Go type, for TypeOf
	frozen   bool
}

// Add registers a type and returns it, as Lookup does later. It panics on misuse: a missing or duplicate name, a
// duplicate Go type, a missing codec or one of another name, an invalid stage or direction, more than MaxTypes, a
// frozen registry.
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

// Debug turns packing off for every type, so that a dump of bytes is readable. It panics on a frozen registry.
func (r *Registry) Debug() {
	if r.frozen {
		panic("message: packing is turned off before the protocol is first used")
	}
	for _, t := range r.types {
		t.Codec.Debug()
	}
}

// Freeze ends registration. It numbers the types from wire.FirstUserMessage on, by name, whatever the order of
// registration. A second call does nothing.
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
		at := goTypePlace(t.Codec.GoType())
		for r.places[at] != nil {
			at = (at + 1) % goTypePlaces
		}
		r.places[at] = t
	}
}

// Lookup returns the type with this number. Any number is allowed: it may come from remote bytes.
func (r *Registry) Lookup(id wire.MessageType) (*Type, bool) {
	t := r.byID[id]
	return t, t != nil
}

// Types returns all types, by number once frozen. Do not change the slice.
func (r *Registry) Types() []*Type { return r.types }

// ByGoType returns the type with this Go type, nil if there is none or the registry is not frozen.
func (r *Registry) ByGoType(t reflect.Type) *Type {
	if !r.frozen {
		return nil
	}
	return r.byGoType[t]
}

// Direction tells which ends may send a message type.
type Direction uint8

// The directions.
const (
	BothWays   Direction = iota // any end
	FromClient                  // clients only
	FromServer                  // the server only
)

// Valid reports whether d is one of the directions.
func (d Direction) Valid() bool { return d <= FromServer }

// Allows reports whether a message may come from the server, or else from a client.
func (d Direction) Allows(server bool) bool {
	return d == BothWays || server == (d == FromServer)
}

// String returns the direction in words.
func (d Direction) String() string {
	switch d {
	case BothWays:
		return "both ways"
	case FromClient:
		return "from client"
	case FromServer:
		return "from server"
	}
	return "unknown direction"
}

// TypeOf returns the message type of T and its codec; nil and nil if there is none or the registry is not frozen.
func TypeOf[T any](r *Registry) (*Type, *CodecOf[T]) {
	for at := goTypePlace(reflect.TypeFor[T]()); r.places[at] != nil; at = (at + 1) % goTypePlaces {
		if codec, ok := r.places[at].Codec.(*CodecOf[T]); ok {
			return r.places[at], codec
		}
	}
	return nil, nil
}

// goTypePlaces is the size of the hash table of a Registry. It exceeds MaxTypes, so that some places are empty.
const goTypePlaces = 512

// MaxNested is the maximum depth of nested loopback handlers; deeper messages are queued.
const MaxNested = 8

// Limits bounds the contents of an Inbound. A field <= 0 has its default.
type Limits struct {
	PerStage      int           // messages that wait for one stage; beyond that, sources above an equal share lose messages; default 32,768
	Bytes         int           // bytes of a frame; the defaults need 512 KiB per source; default 32 MiB
	Sources       int           // number of sources that share Bytes; half of Bytes is divided equally among them; default 64
	PerSender     int           // messages of one source in a frame, carried ones included; default 1024
	SenderBytes   int           // payload bytes of one source in a frame, carried ones included; default 256 KiB
	Deferred      int           // unreliable deferred messages of one source; credit bounds reliable ones; default 64
	DeferredBytes int           // payload bytes of these; default 16 KiB
	DeferredTime  time.Duration // maximum wait of an unreliable message, and of a reliable one for the state of its entity; default 2 s
	EntityTime    time.Duration // maximum wait of a reliable message for its entity; default 10 s
	Nested        int           // loopback messages handled inside other handlers in one Drain; the rest is queued; default 4096
}

// WithDefaults returns the limits with every field set.
func (l Limits) WithDefaults() Limits {
	set := func(field *int, value int) {
		if *field <= 0 {
			*field = value
		}
	}
	set(&l.PerStage, 32768)
	set(&l.Bytes, 32<<20)
	set(&l.Sources, 64)
	set(&l.PerSender, 1024)
	set(&l.SenderBytes, 256<<10)
	set(&l.Deferred, 64)
	set(&l.DeferredBytes, 16<<10)
	set(&l.Nested, 4096)
	if l.DeferredTime <= 0 {
		l.DeferredTime = 2 * time.Second
	}
	if l.EntityTime <= 0 {
		l.EntityTime = 10 * time.Second
	}
	return l
}

// Stats counts messages since the start.
type Stats struct {
	Queued        uint64 // queued
	Handled       uint64 // passed to handlers from a queue or after deferral, including those whose handler panicked
	Unhandled     uint64 // dropped: their type has no handler here
	Immediate     uint64 // loopback messages handled at once
	Carried       uint64 // messages carried over to another frame, per frame
	PerStage      uint64 // unreliable ones dropped for Limits.PerStage: the oldest of a source above its share
	Evicted       uint64 // dropped for Limits.PerStage together with the largest source of a stage full of reliable ones
	Bytes         uint64 // dropped for Limits.Bytes
	PerSender     uint64 // unreliable ones refused for Limits.PerSender
	SenderBytes   uint64 // unreliable ones refused for Limits.SenderBytes
	Full          uint64 // refused with ErrFull: only reliable ones wait for their stage
	BadStage      uint64 // refused: the stage does not exist
	Illegal       uint64 // dropped from a queue: payload not legal or type unknown; the caller had not checked them
	Deferred      uint64 // deferred: they wait for a tick, an entity or an earlier message
	DeferredFull  uint64 // dropped for Limits.Deferred or Limits.DeferredBytes
	DeferredLate  uint64 // dropped for Limits.DeferredTime or Limits.EntityTime
	Undeliverable uint64 // dropped: their entity will never exist here or, for reliable ones, did not come in time
	StateLate     uint64 // reliable ones handled after Limits.DeferredTime without the state of their entity
	Superseded    uint64 // dropped on sequenced channels: a newer message was handled
	Panics        uint64 // handlers that panicked
	Grown         uint64 // growths of a queue's memory
}

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

// Type is a message type that can be sent and received.
type Type struct {
	Name       string       // wire name, unique in a registry
	Codec      Codec        // how its values are sent, and the handler
	Stage      tick.Stage   // where it is handled unless the sender decides otherwise, if StageGiven
	StageGiven bool         // Stage counts; else it is handled in the stage that the sender is in
	Channel    wire.Channel // mode of delivery and channel, unless the sender decides otherwise
	Direction  Direction    // who may send it
	OwnerOnly  bool         // a client may send it only about an entity that it owns

	id wire.MessageType
}

// ID returns the number that stands for the type on the wire; 0 before Freeze.
func (t *Type) ID() wire.MessageType { return t.id }

// Describe appends the canonical text of the type, which tells everything that two ends must agree on:
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
// stage or a direction that does not exist, more than MaxTypes, or a frozen registry. It returns the same as Lookup
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

// cacheSize is the number of Go types that a Cache remembers; two of the same place replace each other.
const cacheSize = 64

// Cache remembers which type a Go type is, for TypeOf and FastCodecOf. It belongs to one end and one registry. The zero value is
// empty.
type Cache struct {
	entries [cacheSize]cached
	allowed [1 << 8]bool
}

// cached is a Cache's entry for one Go type. The codec is stored without its type; the key has that.
type cached struct {
	key   goType
	codec opaque
	short FastCodec
	of    *Type
}

// FastCodec is the header of a message that has only a type and a stage, and needs no check before it is sent. The zero value
// is of no message.
type FastCodec struct {
	Header uint32 // as in a packet, as a little-endian number; without a stage if that is not Given
	Known  bool   // there is one
	Given  bool   // the type says at which stage it is handled
}

// Allow tells that nothing has to be asked before a message of this type is sent from this end. Types whose payloads have to be
// looked at are sent the long way all the same. Call it before the cache is used.
func (c *Cache) Allow(t *Type) { c.allowed[t.id] = true }

// FastCodecOf returns how messages of T begin, and its codec, of which Copy is all that is needed. It knows only what TypeOf was
// asked for lately, and only types that are allowed.
func FastCodecOf[T any](c *Cache) (*CodecOf[T], FastCodec) {
	key := goTypeOf[T]()
	if e := &c.entries[key.place()]; e.key == key {
		return codecFrom[T](e.codec), e.short
	}
	return nil, FastCodec{}
}

// TypeOf returns the message type of T and its codec, once the registry is frozen; nil and nil when it has none.
func TypeOf[T any](r *Registry, c *Cache) (*Type, *CodecOf[T]) {
	key := goTypeOf[T]()
	e := &c.entries[key.place()]
	if e.key == key {
		return e.of, codecFrom[T](e.codec)
	}
	return lookUp[T](r, c, e, key)
}

// lookUp is TypeOf for a type that the cache does not hold.
func lookUp[T any](r *Registry, c *Cache, e *cached, key goType) (*Type, *CodecOf[T]) {
	of := r.ByGoType(reflect.TypeFor[T]())
	if of == nil {
		return nil, nil
	}
	codec, ok := of.Codec.(*CodecOf[T])
	if !ok {
		return nil, nil
	}
	*e = cached{key: key, of: of, codec: opaqueOf(codec)}
	if size := codec.AlwaysLegal(); c.allowed[of.id] && size < NoSize {
		e.short = FastCodec{Header: uint32(of.id) | size<<16, Known: true, Given: of.StageGiven}
		if of.StageGiven {
			e.short.Header |= uint32(of.Stage) << 8
		}
	}
	return of, codec
}

// MaxNested is the largest depth of loopback messages that are handled within each other; the next one is queued.
const MaxNested = 8

// Limits bounds the contents of an Inbound. Zero or less in a field takes its default.
type Limits struct {
	PerStage      int           // messages that wait for one stage; beyond that those make room who have more than an equal share; default 32,768
	Bytes         int           // bytes that a frame holds at most: 512 KiB for each source is enough for what the defaults allow; default 32 MiB
	Sources       int           // how many sources share Bytes: each is sure of an equal part of half of them; default 64
	PerSender     int           // messages of one source in a frame, waiting ones included; default 1024
	SenderBytes   int           // bytes of payload of one source in a frame, waiting ones included; default 256 KiB
	Deferred      int           // unreliable messages of one source that wait for a tick, an entity or its state; default 64. Credit bounds reliable ones
	DeferredBytes int           // bytes of payload of these; default 16 KiB
	DeferredTime  time.Duration // how long one waits at most, and a reliable one for its entity and that one's state; default 2 s
	Nested        int           // loopback messages handled at once from within others, in one Drain; the rest is queued; default 4096
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
	return l
}

// Stats counts messages since the beginning.
type Stats struct {
	Queued        uint64 // put into a queue
	Handled       uint64 // handed to handlers out of a queue or from where they were deferred, also those whose handler panicked
	Unhandled     uint64 // dropped when their time came, since their type was registered without a handler here
	Immediate     uint64 // loopback messages handled at once
	Carried       uint64 // times that a message waited beyond the end of its frame
	PerStage      uint64 // unreliable ones dropped for Limits.PerStage: the oldest of a source above its share
	Evicted       uint64 // dropped for Limits.PerStage with their source, which had the most of a stage that was full of reliable ones
	Bytes         uint64 // dropped for Limits.Bytes
	PerSender     uint64 // unreliable ones refused for Limits.PerSender
	SenderBytes   uint64 // unreliable ones refused for Limits.SenderBytes
	Full          uint64 // refused with ErrFull because only reliable ones wait for their stage
	BadStage      uint64 // refused for a stage that does not exist
	Illegal       uint64 // taken out of a queue and found not to be legal, or of no known type: nobody had checked them
	Deferred      uint64 // put aside to wait for a tick, an entity or an earlier message
	DeferredFull  uint64 // not put aside for Limits.Deferred or Limits.DeferredBytes
	DeferredLate  uint64 // dropped for Limits.DeferredTime
	Undeliverable uint64 // dropped because their entity will never exist here, or did not come in time if they are reliable
	StateLate     uint64 // reliable ones that waited for the state of their entity for Limits.DeferredTime, and then no longer
	Superseded    uint64 // of sequenced channels, dropped because a newer message was handled meanwhile
	Panics        uint64 // handlers that panicked
	Unrecorded    uint64 // handled and not kept for the history: no room
	Grown         uint64 // times that a queue's memory grew
}

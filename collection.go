package netcode

import (
	"errors"
	"fmt"
	"reflect"
	"sort"

	"github.com/arche-netcode/netcode/collections"
	"github.com/arche-netcode/netcode/message"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// A collection is a list, a set or a map that belongs to an entity: what is too large, or changes in too small parts,
// to be a component. The server writes it; clients that see the entity have it, whole, and hear of each change, in
// order. It goes where the entity goes: it comes after the entity has come, and is gone with it.
//
// The operations of a frame leave at its end, on channel 63 of ReliableOrdered. A client for which too much waits
// gets the collection whole again instead: then it hears of one change, CollectionWhole, and has missed nothing.

// collectionsName is the wire name of the message type that all collections travel in, and collectionsStage the
// stage that its handler runs in: after the entities have come.
const (
	collectionsName  = "netcode.Collections"
	collectionsStage = tick.EarlyUpdate
)

// collectionsChannel is where they travel.
func collectionsChannel() wire.Channel {
	return wire.NewChannel(wire.ReliableOrdered, wire.MaxChannels-1)
}

// Errors of collections.
var (
	// ErrReadOnly says that this end may not change the collection: the server writes.
	ErrReadOnly = errors.New("netcode: only the server changes a collection")
	// ErrNoElement says that the list has no such element.
	ErrNoElement = errors.New("netcode: the list has no such element")
)

// CollectionFullError says that a collection holds as much as it may; nothing was done.
type CollectionFullError struct {
	Name     string // Wire name of the collection.
	Elements int    // How many elements it holds at most, by MaxElements and MaxBytes.
}

// Error implements error.
func (e *CollectionFullError) Error() string {
	return fmt.Sprintf("netcode: the collection %s is full: it holds %d elements", e.Name, e.Elements)
}

// CollectionChange says what happened to a collection at a client.
type CollectionChange = collections.EventKind

// What can happen to a collection.
const (
	CollectionWhole    = collections.EventWhole    // It came, or came anew: look at all of it.
	CollectionInserted = collections.EventInserted // An element was put in.
	CollectionSet      = collections.EventSet      // An element was replaced.
	CollectionRemoved  = collections.EventRemoved  // An element was taken out.
	CollectionCleared  = collections.EventCleared  // All elements were taken out.
	// CollectionGone says that its entity is gone or out of sight, or of an earlier connection: of all that was shown it is told
	// when the next begins, after OnDespawn and before anything of that comes.
	CollectionGone = collections.EventGone
)

// CollectionOption adjusts one registration of a collection.
type CollectionOption func(*collections.Limits)

// MaxElements bounds the elements that the collection of one entity holds, 1 to 65536; default 1024.
func MaxElements(n int) CollectionOption {
	return func(l *collections.Limits) { l.Elements = orNone(n) }
}

// MaxBytes bounds the bytes that the elements of one entity's collection have as they travel, 1 to 1 MiB; default 64 KiB.
func MaxBytes(n int) CollectionOption { return func(l *collections.Limits) { l.Bytes = orNone(n) } }

// orNone keeps a zero from being taken for the default.
func orNone(n int) int {
	if n == 0 {
		return -1
	}
	return n
}

// marker stands for collections among the message types.
type marker struct{}

// newCollection registers one type of collection.
func newCollection(p *Protocol, call string, kind collections.Kind, name string, element, key reflect.Type, options []CollectionOption) *collections.Def {
	shown := shownElement(kind, element)
	p.MustBeOpen(call, shown)
	if !legalName(name) {
		panic(fmt.Sprintf("netcode: %s[%s]: the wire name %q must be 1 to %d printable ASCII characters without space, brace or semicolon",
			call, shown, name, maxName))
	}
	for _, other := range p.collections {
		if other.Name() == name {
			panic(fmt.Sprintf("netcode: %s[%s]: the name %q is taken by another collection", call, shown, name))
		}
	}
	var limits collections.Limits
	for _, option := range options {
		option(&limits)
	}
	def, err := collections.NewDef(kind, name, element, key, limits)
	if err != nil {
		panic(fmt.Sprintf("netcode: %s[%s] %q: %v", call, shown, name, err))
	}
	if len(p.collections) == 0 {
		addCollectionMessage(p)
	}
	p.collections = append(p.collections, def)
	return def
}

// elementName is how errors name the type of an element.
type elementName string

// String returns the name.
func (n elementName) String() string { return string(n) }

// shownElement names the element of a collection in the words of the user: of a map its key and value.
func shownElement(kind collections.Kind, element reflect.Type) elementName {
	if kind == collections.Map {
		return elementName(element.Field(0).Type.String() + ", " + element.Field(1).Type.String())
	}
	return elementName(element.String())
}

// addCollectionMessage registers the message type that collections travel in.
func addCollectionMessage(p *Protocol) {
	t := reflect.TypeFor[marker]()
	if len(p.handled) == message.MaxTypes {
		panic(fmt.Sprintf("netcode: a protocol holds at most %d messages, and collections need one", message.MaxTypes))
	}
	for _, other := range p.handled {
		mustDiffer("NewList, NewSet or NewMap", t, collectionsName, other.of.Codec.GoType(), other.of.Name)
	}
	calls := message.RawCalls{
		Check:  func(payload []byte) bool { return collections.Check(p.collections, payload) },
		Handle: takeCollection,
		Dump:   func(dst, payload []byte) []byte { return collections.AppendDump(p.collections, dst, payload) },
	}
	p.handled = append(p.handled, handled{of: p.messages.Add(message.Type{
		Name: collectionsName, Codec: message.NewRaw(collectionsName, t, calls),
		Stage: collectionsStage, StageGiven: true, Channel: collectionsChannel(), Direction: message.FromServer,
	})})
}

// settleCollections gives the collections their numbers, in the order of their names.
func (p *Protocol) settleCollections() {
	sort.Slice(p.collections, func(a, b int) bool { return p.collections[a].Name() < p.collections[b].Name() })
	for i, def := range p.collections {
		def.Settle(i, p.unpacked)
	}
}

// numberCollections notes the number of the message type that they travel in, once messages have theirs.
func (p *Protocol) numberCollections() {
	if of := p.messages.ByGoType(reflect.TypeFor[marker]()); of != nil {
		p.collectionType = of.ID()
	}
}

// describeCollections is the entries of the collections.
func describeCollections(defs []*collections.Def) []entry {
	var entries []entry
	for _, def := range defs {
		entries = append(entries, entry{kindCollection, def.Name(), string(def.Describe([]byte(kindCollection + " ")))})
	}
	return entries
}

// collectionEnd is what a server or a client has of collections.
type collectionEnd struct {
	origin *collections.Origin // Of a server whose protocol has collections.
	copy   *collections.Copy   // Of such a client,
	of     *Replica            // and what it holds the entities of.

	boxes    []any // By number: a value of the type that is being read or written.
	lanes    []uint32
	watchers [][]func(*collections.Event)
	again    bool // Redeliver runs.
}

// setUpCollections makes what is needed if there are collections.
func (c *courier) setUpCollections() {
	defs := c.protocol.collections
	if len(defs) == 0 {
		return
	}
	k := &c.collections
	k.boxes, k.watchers = make([]any, len(defs)), make([][]func(*collections.Event), len(defs))
	if c.server != nil {
		k.origin = collections.NewOrigin(defs)
		return
	}
	k.copy = collections.NewCopy(defs)
	k.copy.Tell = func(d *collections.Def, e *collections.Event) {
		for _, tell := range k.watchers[d.Number()] {
			c.tellChange(tell, e)
		}
	}
}

// tellChange tells one function of the game of one change of a collection.
func (c *courier) tellChange(tell func(*collections.Event), e *collections.Event) {
	defer c.contained(nameChange, 0)
	tell(e)
}

// collectionOf is one collection of one entity at one end.
type collectionOf struct {
	def    *collections.Def
	end    *courier
	entity NetworkID
}

// collectionAt is the handle behind those of lists, sets and maps.
func collectionAt(def *collections.Def, end Endpoint, entity NetworkID) collectionOf {
	c := courierOf(end)
	if c != nil && (def.Number() >= len(c.protocol.collections) || c.protocol.collections[def.Number()] != def) {
		c = nil
	}
	return collectionOf{def: def, end: c, entity: entity}
}

// rows is what there is; nil where there is nothing.
func (h collectionOf) rows() *collections.Rows {
	switch {
	case h.end == nil:
		return nil
	case h.end.server != nil:
		return h.end.collections.origin.Find(h.def.Number(), h.entity).Rows()
	}
	h.end.client.followReplica()
	return h.end.collections.copy.Find(h.def.Number(), h.entity)
}

// Entity is whose collection it is.
func (h collectionOf) Entity() NetworkID { return h.entity }

// Arrived tells if there is anything to read: on a client that the collection has come whole, on the server that it
// was ever written.
func (h collectionOf) Arrived() bool { return h.rows() != nil }

// Len is how many elements there are.
func (h collectionOf) Len() int { return h.rows().Len() }

// Clear takes all elements out. The errors are ErrReadOnly, ErrNotVisible and ErrNotRegistered.
func (h collectionOf) Clear() error {
	content, err := h.writable()
	if err == nil {
		content.Clear()
	}
	return err
}

// writable is the content to change, and the one place that decides who may: the server. An owner's right to write would be
// asked here.
func (h collectionOf) writable() (*collections.Content, error) {
	switch {
	case h.end == nil:
		return nil, ErrNotRegistered
	case h.end.server == nil:
		return nil, ErrReadOnly
	}
	s := h.end.server
	if !s.store.Alive(h.entity) && !s.explicit.has(h.entity) {
		return nil, ErrNotVisible
	}
	content, fresh := h.end.collections.origin.Make(h.def.Number(), h.entity)
	if fresh {
		s.store.Attend(h.entity)
	}
	return content, nil
}

// failed turns what a content refuses into what the caller is told.
func (h collectionOf) failed(err error) error {
	switch {
	case errors.Is(err, collections.ErrFull):
		return &CollectionFullError{Name: h.def.Name(), Elements: h.def.Most()}
	case errors.Is(err, collections.ErrIndex):
		return ErrNoElement
	}
	return err
}

// boxOf is the memory of an end for one value of a collection.
func boxOf[T any](c *courier, def *collections.Def) *T {
	at := &c.collections.boxes[def.Number()]
	box, ok := (*at).(*T)
	if !ok {
		box = new(T)
		*at = box
	}
	return box
}

// encodeElement turns a value into words, which are good until the next call. at points to it, in a box.
func encodeElement(c *courier, def *collections.Def, plan *quantize.Plan, at reflect.Value) ([]uint32, error) {
	k := &c.collections
	for len(k.lanes) < plan.Lanes() {
		k.lanes = append(k.lanes, 0)
	}
	lanes := k.lanes[:plan.Lanes()]
	clear(lanes)
	if fault := plan.Quantise(at.UnsafePointer(), lanes); fault.Reason != wire.NoFault {
		return nil, &FieldError{Name: def.Name(), Field: fault.Field(), Reason: fault.Reason, Detail: plan.Outside(at.Elem(), fault)}
	}
	return lanes, nil
}

// encode is encodeElement for a whole element.
func encode[T any](c *courier, def *collections.Def, v T) ([]uint32, error) {
	box := boxOf[T](c, def)
	*box = v
	return encodeElement(c, def, def.Plan(), reflect.ValueOf(box))
}

// decode turns the words of an element into a value. Fields that do not travel are zero.
func decode[T any](c *courier, def *collections.Def, row []uint32) T {
	box := boxOf[T](c, def)
	var zero T
	*box = zero
	if row != nil {
		def.Plan().Dequantise(row, reflect.ValueOf(box).UnsafePointer())
	}
	return *box
}

package collections

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/errs"
	"github.com/arche-netcode/netcode/extend"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// messageName is the wire name of the message type of all collections. messageStage is the stage of its handler; new
// entities exist by then.
const (
	messageName  = "netcode.Collections"
	messageStage = tick.EarlyUpdate
)

// marker is the Go type that identifies collections among the message types.
type marker struct{}

// messageChannel is the channel of the message type.
func messageChannel() wire.Channel {
	return wire.NewChannel(wire.ReliableOrdered, wire.MaxChannels-1)
}

// Option adjusts one registration of a collection.
type Option func(*limits)

// MaxElements bounds the elements in the collection of one entity, 1 to 65536; default 1024.
func MaxElements(n int) Option { return func(l *limits) { l.Elements = orNone(n) } }

// MaxBytes bounds the bytes on the wire of the elements in the collection of one entity, 1 to 1 MiB; default 64 KiB.
func MaxBytes(n int) Option { return func(l *limits) { l.Bytes = orNone(n) } }

// orNone maps 0 to a value out of range, so that it does not become the default.
func orNone(n int) int {
	if n == 0 {
		return -1
	}
	return n
}

// types is the collections of a protocol. Once frozen they are numbered in the order of their wire names.
type types struct {
	defs []*definition
	raw  extend.Raw
}

// register registers one type of collection.
func register(p *netcode.Protocol, call string, of kind, name string, element, key reflect.Type, options []Option) *definition {
	call = "collections." + call
	shown := shownElement(of, element)
	extend.OfProtocol(p).MustBeOpen(call, shown)
	extend.OfProtocol(p).MustBeName(call, shown, name)
	all, extended := extend.ExtensionOf[*types](p)
	if !extended {
		all = &types{}
	}
	for _, other := range all.defs {
		if other.Name() == name {
			panic(fmt.Sprintf("netcode: %s[%s]: the name %q is taken by another collection", call, shown, name))
		}
	}
	var bounds limits
	for _, option := range options {
		option(&bounds)
	}
	def, err := newDefinition(of, name, element, key, bounds)
	if err != nil {
		panic(fmt.Sprintf("netcode: %s[%s] %q: %v", call, shown, name, err))
	}
	if !extended {
		all.extend(p, call)
	}
	all.defs = append(all.defs, def)
	return def
}

// elementName is the name of the type of an element in errors.
type elementName string

// String returns the name.
func (n elementName) String() string { return string(n) }

// shownElement returns the Go type of an element as the user wrote it; for a map its key and value.
func shownElement(of kind, element reflect.Type) elementName {
	if of == kindMap {
		return elementName(element.Field(0).Type.String() + ", " + element.Field(1).Type.String())
	}
	return elementName(element.String())
}

// extend registers the extension and its message.
func (all *types) extend(p *netcode.Protocol, call string) {
	all.raw = extend.OfProtocol(p).HandleRaw(call, extend.RawMessage{
		Name: messageName, Marker: reflect.TypeFor[marker](), Channel: messageChannel(), Stage: messageStage,
		Check:  func(body []byte) bool { return check(all.defs, body) },
		Handle: takeOperations,
		Dump:   func(dst, body []byte) []byte { return appendDump(all.defs, dst, body) },
		Blank:  blank,
	})
	extend.OfProtocol(p).Extend(extend.Extension{
		Name: "collections", State: all, Kind: "collection",
		Freeze: all.freeze, Server: ends{all}, Client: ends{all},
	})
}

// ends makes the hooks of both ends.
type ends struct{ *types }

// freeze numbers the collections and describes them.
func (all *types) freeze(f *extend.Freezing) {
	slices.SortFunc(all.defs, func(a, b *definition) int { return strings.Compare(a.Name(), b.Name()) })
	for i, def := range all.defs {
		def.Settle(i, f.Unpacked)
		f.Describe(def.Name(), string(def.Describe([]byte("collection "))))
	}
}

// end has the collections of one server or client. It belongs to the goroutine of its frame.
type end struct {
	all    *types
	server *netcode.Server // Nil on a client, with its fields.
	client *netcode.Client // Nil on a server, with its fields.

	origin    *origin           // Of a server.
	dirty     []*content        // While it serves.
	clients   []*receiver       // Of a server.
	recording *recording        // Of a server.
	mirror    *mirror           // Of a client.
	kept      uint64            // Sights of a host's player, when mirror last followed them.
	watchers  [][]func(*change) // Of a client, by number.

	boxes []any // By number: a value of the type that is being read or written.
	lanes []uint32
}

// newEnd makes the part that both ends have.
func newEnd(all *types) *end { return &end{all: all, boxes: make([]any, len(all.defs))} }

// handle is one collection of one entity at one end.
type handle struct {
	def    *definition
	end    *end
	entity netcode.NetworkID
}

// handleOf returns a handle. Its end is nil if that end of the game has not registered the collection.
func handleOf(def *definition, at netcode.Endpoint, entity netcode.NetworkID) handle {
	e, ok := extend.ExtensionOf[*end](at)
	if !ok || def.Number() >= len(e.all.defs) || e.all.defs[def.Number()] != def {
		e = nil
	}
	return handle{def: def, end: e, entity: entity}
}

// rows returns the elements, nil where there are none.
func (h handle) rows() *rowList {
	switch {
	case h.end == nil:
		return nil
	case h.end.server != nil:
		return h.end.origin.Find(h.def.Number(), h.entity).Rows()
	}
	return h.end.mirror.Find(h.def.Number(), h.entity)
}

// Entity returns the entity of the collection.
func (h handle) Entity() netcode.NetworkID { return h.entity }

// Arrived reports whether there is anything to read: on a client the whole collection has arrived; on the server it was
// written at least once.
func (h handle) Arrived() bool { return h.rows() != nil }

// Len returns the number of elements.
func (h handle) Len() int { return h.rows().Len() }

// Clear removes all elements. The errors are ErrReadOnly, errs.ErrNotVisible and errs.ErrNotRegistered.
func (h handle) Clear() error {
	c, err := h.writable()
	if err == nil {
		c.Clear()
	}
	return err
}

// writable returns the content to change. It is the only place that checks the right to write: only the server may.
func (h handle) writable() (*content, error) {
	switch {
	case h.end == nil:
		return nil, errs.ErrNotRegistered
	case h.end.server == nil:
		return nil, ErrReadOnly
	case !h.end.server.Has(h.entity):
		return nil, errs.ErrNotVisible
	}
	c, fresh := h.end.origin.Make(h.def.Number(), h.entity)
	if fresh {
		h.end.server.Store().Attend(h.entity)
	}
	return c, nil
}

// failed converts an error of a content to one for the caller.
func (h handle) failed(err error) error {
	switch {
	case errors.Is(err, errFull):
		return &FullError{Name: h.def.Name(), Elements: h.def.Most()}
	case errors.Is(err, errIndex):
		return ErrNoElement
	}
	return err
}

// boxOf returns the memory of an end for one value of a collection.
func boxOf[T any](e *end, def *definition) *T {
	at := &e.boxes[def.Number()]
	box, ok := (*at).(*T)
	if !ok {
		box = new(T)
		*at = box
	}
	return box
}

// encodeElement encodes a value as words, valid until the next call. at points to the value, in a box.
func encodeElement(e *end, def *definition, plan *quantize.Plan, at reflect.Value) ([]uint32, error) {
	for len(e.lanes) < plan.Lanes() {
		e.lanes = append(e.lanes, 0)
	}
	lanes := e.lanes[:plan.Lanes()]
	clear(lanes)
	if fault := plan.Quantise(at.UnsafePointer(), lanes); fault.Reason != wire.NoFault {
		return nil, &errs.FieldError{Name: def.Name(), Field: fault.Field(), Reason: fault.Reason, Detail: plan.Outside(at.Elem(), fault)}
	}
	return lanes, nil
}

// encode is encodeElement for a whole element.
func encode[T any](e *end, def *definition, v T) ([]uint32, error) {
	box := boxOf[T](e, def)
	*box = v
	return encodeElement(e, def, def.Plan(), reflect.ValueOf(box))
}

// decode turns the words of an element into a value. Fields that are not sent are zero.
func decode[T any](e *end, def *definition, row []uint32) T {
	box := boxOf[T](e, def)
	var zero T
	*box = zero
	if row != nil {
		def.Plan().Dequantise(row, reflect.ValueOf(box).UnsafePointer())
	}
	return *box
}

var (
	// ErrReadOnly means that this end may not change the collection: only the server may.
	ErrReadOnly = errors.New("netcode: only the server changes a collection")
	// ErrNoElement means that the list has no such element.
	ErrNoElement = errors.New("netcode: the list has no such element")

	// errMalformed means that no correct end sends these bytes, or not in this state.
	errMalformed = errors.New("collections: not legal")
	// errIndex means that there is no element at that index.
	errIndex = errors.New("collections: no such element")
	// errFull means that the collection has its maximum number of elements.
	errFull = errors.New("collections: full")
	// errBusy means that too many bytes wait for a client.
	errBusy = errors.New("collections: too much waits for the client")
)

// FullError means that a collection has its maximum number of elements. Nothing was done.
type FullError struct {
	Name     string // wire name of the collection
	Elements int    // maximum number of elements, by MaxElements and MaxBytes
}

// Error implements error.
func (e *FullError) Error() string {
	return fmt.Sprintf("netcode: the collection %s is full: it holds %d elements", e.Name, e.Elements)
}

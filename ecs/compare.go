package netecs

import (
	"encoding/binary"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/internal/world"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/wire"
)

// absent is the value of a missing entity or component.
const absent = "absent"

// Difference is a difference between a client's world and the server's store.
type Difference struct {
	Entity    wire.NetworkID // the entity that differs
	Component string         // wire name; empty if the whole entity is missing or too many
	Field     string         // path inside the component; empty if the whole component is
	Server    string         // the expected value, or "absent"
	Client    string         // the present value, or "absent"
}

// String returns the place and both values.
func (d Difference) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "entity %s", d.Entity)
	if d.Component != "" {
		b.WriteString(", " + d.Component)
	}
	if d.Field != "" {
		b.WriteString("." + d.Field)
	}
	fmt.Fprintf(&b, ": server %s, client %s", d.Server, d.Client)
	return b.String()
}

// Visible is the part of a store that a client may see.
type Visible struct {
	Entity func(wire.NetworkID) bool          // the visible entities; nil means all
	Rows   func(wire.NetworkID) snapshot.Mask // visible components of a visible entity, and their distance bands; nil: all, without bands
	// Kept reports hidden entities that the client still has, with the last values that it was sent; nil means none.
	// Their rows are not compared.
	Kept func(wire.NetworkID) bool
}

func (s *Visible) entity(id wire.NetworkID) bool { return s.Entity == nil || s.Entity(id) }

func (s *Visible) kept(id wire.NetworkID) bool { return s.Kept != nil && s.Kept(id) }

// VisibleFor returns the part of a store that each client may see. netcode.Server implements it.
type VisibleFor interface {
	// Visible reports whether a client may see an entity.
	Visible(wire.ClientID, wire.NetworkID) bool
	// VisibleRows returns the components of a visible entity that a client may see, and the distance bands that it gets
	// them in.
	VisibleRows(wire.ClientID, wire.NetworkID) snapshot.Mask
	// Keeps reports whether a client keeps a hidden entity.
	Keeps(wire.ClientID, wire.NetworkID) bool
}

// VisibleTo returns the part of a store that one client may see.
func VisibleTo(s VisibleFor, client wire.ClientID) Visible {
	return Visible{
		Entity: func(id wire.NetworkID) bool { return s.Visible(client, id) },
		Rows:   func(id wire.NetworkID) snapshot.Mask { return s.VisibleRows(client, id) },
		Kept:   func(id wire.NetworkID) bool { return s.Keeps(client, id) },
	}
}

// FirstDifference is FirstDifferenceOf for a client that may see all components of the visible entities and keeps no
// hidden ones. A nil visible means all entities.
func FirstDifference(store *snapshot.Store, visible func(wire.NetworkID) bool,
	client *World, schema *snapshot.Schema) (Difference, bool) {
	return FirstDifferenceOf(store, Visible{Entity: visible}, client, schema)
}

// FirstDifferenceOf compares a client's world with the visible part of the store. It returns the first difference in
// the order of network id, row and field. There is no tolerance: the bytes of every sent field must equal the row in
// the store. Entity fields and targets are compared and printed as network ids. At the server, ids of hidden entities
// count as nil.
func FirstDifferenceOf(store *snapshot.Store, sees Visible, client *World, schema *snapshot.Schema) (Difference, bool) {
	b := bind(client, schema)
	has := byID(client, &b)
	c := comparison{
		store: store, sees: sees, client: client, binding: b,
		sight: newVisibleSource(store, schema, sees.Entity), names: newIDNames(client, &b, has),
	}
	for id := range store.All {
		visible := sees.entity(id)
		if !visible && !sees.kept(id) {
			continue
		}
		if len(has) > 0 && has[0].id.Less(id) {
			break
		}
		if len(has) == 0 || has[0].id != id {
			return Difference{Entity: id, Server: "present", Client: absent}, true
		}
		if visible {
			if d, differs := c.entity(id, has[0].entity); differs {
				return d, true
			}
		}
		has = has[1:]
	}
	if len(has) > 0 {
		return Difference{Entity: has[0].id, Server: absent, Client: "present"}, true
	}
	return Difference{}, false
}

// comparison compares a client's world with a store.
type comparison struct {
	store  *snapshot.Store
	sees   Visible
	client *World
	binding
	sight visibleSource
	names idNames
}

// entity compares the components of one entity.
func (c *comparison) entity(id wire.NetworkID, e Entity) (Difference, bool) {
	mask := world.MaskOf(c.client, e)
	want, have, bands := c.store.Mask(id), c.rows(&mask), snapshot.Mask{}
	if c.sees.Rows != nil {
		rows := c.sees.Rows(id)
		want, bands = want.Intersect(rows), rows.Intersect(c.schema.Coarse)
	}
	for rows := want.Union(have); !rows.IsZero(); rows = rows.Rest() {
		row := rows.Lowest()
		d := Difference{Entity: id, Component: c.schema.Plan(row).Name(), Server: absent, Client: absent}
		var server, client component
		if want.Has(row) {
			server = c.sight.of(id, row, c.schema.Band(bands, row))
			d.Server = text(server.value, "")
		}
		if have.Has(row) {
			client = c.names.of(e, row)
			d.Client = text(client.value, "")
		}
		if server.plan == nil || client.plan == nil {
			return d, true
		}
		field, equal := server.plan.Compare(server.value.UnsafePointer(), client.value.UnsafePointer())
		switch {
		case !equal:
			d.Field, d.Server, d.Client = field, text(server.value, field), text(client.value, field)
			return d, true
		case server.target != client.target:
			d.Field, d.Server, d.Client = "target", server.target.String(), client.target.String()
			return d, true
		}
	}
	return Difference{}, false
}

// text returns a component as text, or its field at a path.
func text(component reflect.Value, path string) string {
	v := component.Elem()
	for path != "" {
		var next reflect.Value
		next, path = step(v, path)
		if !next.IsValid() {
			break
		}
		v = next
	}
	return fmt.Sprintf("%+v", v)
}

// step takes the first step of a path such as Cells[2].X. It returns the zero Value if the path is invalid.
func step(v reflect.Value, path string) (next reflect.Value, rest string) {
	path = strings.TrimPrefix(path, ".")
	end := strings.IndexAny(path[min(1, len(path)):], ".[") + 1
	if end == 0 {
		end = len(path)
	}
	name, rest := path[:end], path[end:]
	if list := v.Kind() == reflect.Struct && strings.HasPrefix(name, "["); list {
		v = v.Field(1) // a wire.List: its elements
	}
	if v.Kind() == reflect.Struct {
		return v.FieldByName(name), rest
	}
	i, err := strconv.Atoi(strings.Trim(name, "[]"))
	if v.Kind() == reflect.Array && err == nil && i >= 0 && i < v.Len() {
		return v.Index(i), rest
	}
	return reflect.Value{}, ""
}

// The parameters of the 64-bit FNV-1a hash (Fowler, Noll, Vo).
const (
	fnvOffset uint64 = 14695981039346656037
	fnvPrime  uint64 = 1099511628211
)

func hash(h uint64, b []byte) uint64 {
	for _, c := range b {
		h = (h ^ uint64(c)) * fnvPrime
	}
	return h
}

// idEntity is an entity with a network id.
type idEntity struct {
	id     wire.NetworkID
	entity Entity
}

// byID lists the entities of a world that have a network id, in id order. Arche's own order depends on the history of
// the world.
func byID(w *World, b *binding) []idEntity {
	var list []idEntity
	with := world.All(b.replicated)
	for query := world.Select(w, &with); query.Next(); {
		id := replicatedOf(w, query.Entity(), b.replicated).ID
		if !id.IsZero() {
			list = append(list, idEntity{id, query.Entity()})
		}
	}
	slices.SortFunc(list, func(a, b idEntity) int {
		switch {
		case a.id.Less(b.id):
			return -1
		case b.id.Less(a.id):
			return 1
		}
		return 0
	})
	return list
}

// appendHead appends the id and the row mask of an entity, for a digest.
func appendHead(b []byte, id wire.NetworkID, rows snapshot.Mask) []byte {
	b = binary.LittleEndian.AppendUint32(b, id.Index)
	b = binary.LittleEndian.AppendUint32(b, id.Generation)
	for word := range format.MaskWords {
		if v := rows.Word(word); word == 0 || v != 0 {
			b = binary.LittleEndian.AppendUint64(b, v)
		}
	}
	return b
}

// Digest returns a hash of the replicated state of a world: the network ids in order, their components in the schema,
// and the bytes of the sent fields. Entity fields and targets count as network ids. Two clients with the same visible
// entities have the same digest. It equals the [DigestStore] of these entities. Digest is 64-bit FNV-1a: it finds
// faults, and does not resist attacks.
//
// The digest of a server's world differs from that of its clients, since its values are not quantised.
func Digest(w *World, schema *snapshot.Schema) uint64 {
	b := bind(w, schema)
	list := byID(w, &b)
	own := newIDNames(w, &b, list)
	h := fnvOffset
	var buf []byte
	for _, k := range list {
		mask := world.MaskOf(w, k.entity)
		rows := b.rows(&mask)
		buf = appendHead(buf[:0], k.id, rows)
		for ; !rows.IsZero(); rows = rows.Rest() {
			buf = own.of(k.entity, rows.Lowest()).append(buf)
		}
		h = hash(h, buf)
	}
	return h
}

// DigestStore returns the digest of a client's world that has exactly the visible entities of the store. A nil visible
// means all entities.
func DigestStore(store *snapshot.Store, schema *snapshot.Schema, visible func(wire.NetworkID) bool) uint64 {
	sight := newVisibleSource(store, schema, visible)
	h := fnvOffset
	var buf []byte
	for id := range store.All {
		if visible != nil && !visible(id) {
			continue
		}
		rows := store.Mask(id)
		buf = appendHead(buf[:0], id, rows)
		for ; !rows.IsZero(); rows = rows.Rest() {
			buf = sight.of(id, rows.Lowest(), -1).append(buf)
		}
		h = hash(h, buf)
	}
	return h
}

// component is one component of one entity, for comparing and hashing. It has network ids in place of handles, so it is
// equal on every machine.
type component struct {
	plan   *quantize.Plan
	value  reflect.Value  // pointer to the component, with network ids in place of handles
	target wire.NetworkID // target of a relation
}

// append appends the bytes of the sent fields.
func (c component) append(b []byte) []byte {
	b = c.plan.AppendFields(b, c.value.UnsafePointer())
	if _, ok := c.plan.Target(); ok {
		b = binary.LittleEndian.AppendUint32(b, c.target.Index)
		b = binary.LittleEndian.AppendUint32(b, c.target.Generation)
	}
	return b
}

// held allocates one component for each row.
func held(schema *snapshot.Schema) (list []reflect.Value) {
	for row := range schema.Rows() {
		list = append(list, reflect.New(schema.Plan(row).Type()))
	}
	return list
}

// visibleSource returns the components that a client with the visible entities of a store has.
type visibleSource struct {
	store   *snapshot.Store
	schema  *snapshot.Schema
	visible func(wire.NetworkID) bool
	held    []reflect.Value
	lanes   []uint32
}

func newVisibleSource(store *snapshot.Store, schema *snapshot.Schema, visible func(wire.NetworkID) bool) visibleSource {
	return visibleSource{store: store, schema: schema, visible: visible, held: held(schema)}
}

// of returns a component as received in a distance band, or without a band if band is -1. It is valid until the next
// call for the same row.
func (s *visibleSource) of(id wire.NetworkID, row, band int) component {
	c := component{plan: s.schema.Plan(row), value: s.held[row]}
	s.lanes = append(s.lanes[:0], s.store.Row(id, row)...)
	if band >= 0 {
		fine := quantize.NewConversion(s.schema.Plan(band), c.plan)
		fine.Row(s.store.Row(id, band), s.lanes)
	}
	for _, lane := range c.plan.Refs() {
		named := wire.NetworkID{Index: s.lanes[lane], Generation: s.lanes[lane+1]}
		if !s.store.Alive(named) || s.visible != nil && !s.visible(named) {
			s.lanes[lane], s.lanes[lane+1] = 0, 0
		}
	}
	if lane, ok := c.plan.Target(); ok {
		c.target = wire.NetworkID{Index: s.lanes[lane], Generation: s.lanes[lane+1]}
	}
	c.plan.Dequantise(s.lanes, c.value.UnsafePointer())
	return c
}

// idNames returns the components of a world, with network ids in place of the handles in entity fields.
type idNames struct {
	world *World
	*binding
	held  []reflect.Value
	named map[handle]wire.NetworkID // looked up only
}

func newIDNames(w *World, b *binding, list []idEntity) idNames {
	n := idNames{world: w, binding: b, held: held(b.schema), named: map[handle]wire.NetworkID{}}
	for _, k := range list {
		n.named[handleOf(k.entity)] = k.id
	}
	return n
}

// of returns a component of an entity. It is valid until the next call for the same row.
func (n *idNames) of(e Entity, row int) component {
	c := component{plan: n.schema.Plan(row), value: n.held[row]}
	c.value.Elem().Set(reflect.NewAt(c.plan.Type(), world.Get(n.world, e, n.ids[row])).Elem())
	c.plan.MapHandles(c.value.UnsafePointer(), func(h wire.NetworkID) wire.NetworkID {
		return n.named[handle{h.Index, h.Generation}]
	})
	if _, ok := c.plan.Target(); ok {
		c.target = n.named[handleOf(world.Target(n.world, e, n.ids[row]))]
	}
	return c
}

// Entities yields every entity of a world that has a network id, in the order of the ids. The world may be changed
// during the iteration. Each call allocates a list: Entities is for tools and tests.
func Entities(w *World) iter.Seq2[Entity, wire.NetworkID] {
	b := binding{replicated: world.ComponentID[components.Replicated](w)}
	return func(yield func(Entity, wire.NetworkID) bool) {
		for _, k := range byID(w, &b) {
			if !yield(k.entity, k.id) {
				return
			}
		}
	}
}

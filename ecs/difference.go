package netecs

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/mlange-42/arche/ecs"

	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/wire"
)

// absent is the value of what is not there.
const absent = "absent"

// Difference is where a client's world is not what the server's store says.
type Difference struct {
	Entity    wire.NetworkID // whose rows differ
	Component string         // wire name; empty when the whole entity is missing or too many
	Field     string         // path inside the component; empty when the whole component is
	Server    string         // the value that the client should have, or "absent"
	Client    string         // the value that it has, or "absent"
}

// String names the place and both values.
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

// Sees is what a client is shown of a store.
type Sees struct {
	Entity func(wire.NetworkID) bool          // the visible entities; nil means all
	Rows   func(wire.NetworkID) snapshot.Mask // the visible components of such an entity; nil means all
	// Kept are the entities out of sight that the client has all the same, as they
	// were when it was sent them last; nil means none. How they were is not compared.
	Kept func(wire.NetworkID) bool
}

func (s *Sees) entity(id wire.NetworkID) bool { return s.Entity == nil || s.Entity(id) }
func (s *Sees) kept(id wire.NetworkID) bool   { return s.Kept != nil && s.Kept(id) }

// Shows says what each client is shown, as a netcode.Server does.
type Shows interface {
	// Visible reports whether a client may see an entity.
	Visible(wire.ClientID, wire.NetworkID) bool
	// VisibleRows is the components that a client may see of an entity that it sees.
	VisibleRows(wire.ClientID, wire.NetworkID) snapshot.Mask
	// Keeps reports whether a client was left what it had of an entity that it may not see any more.
	Keeps(wire.ClientID, wire.NetworkID) bool
}

// SeenBy is what one client is shown.
func SeenBy(s Shows, client wire.ClientID) Sees {
	return Sees{
		Entity: func(id wire.NetworkID) bool { return s.Visible(client, id) },
		Rows:   func(id wire.NetworkID) snapshot.Mask { return s.VisibleRows(client, id) },
		Kept:   func(id wire.NetworkID) bool { return s.Keeps(client, id) },
	}
}

// FirstDifference is FirstDifferenceOf for a client that is shown all components
// of the visible entities, a nil visible meaning all, and keeps no others.
func FirstDifference(store *snapshot.Store, visible func(wire.NetworkID) bool,
	client *ecs.World, schema *snapshot.Schema) (Difference, bool) {
	return FirstDifferenceOf(store, Sees{Entity: visible}, client, schema)
}

// FirstDifferenceOf compares a client's world with what it is shown of the store,
// and names the first difference in the order of network id, row and field. There
// is no tolerance: the bytes of every field that travels must be those that the
// store's row gives. Entity fields and targets are compared, and shown, as network
// ids; on the server those of entities that are not visible count as nil.
func FirstDifferenceOf(store *snapshot.Store, sees Sees, client *ecs.World, schema *snapshot.Schema) (Difference, bool) {
	b := bind(client, schema)
	has := byID(client, &b)
	c := comparison{
		store: store, sees: sees, client: client, binding: b,
		sight: newSight(store, schema, sees.Entity), names: newNames(client, &b, has),
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

type comparison struct {
	store  *snapshot.Store
	sees   Sees
	client *ecs.World
	binding
	sight sight
	names names
}

// entity compares the components of one entity.
func (c *comparison) entity(id wire.NetworkID, e ecs.Entity) (Difference, bool) {
	mask := c.client.Mask(e)
	want, have := c.store.Mask(id), c.rows(&mask)
	if c.sees.Rows != nil {
		want &= c.sees.Rows(id)
	}
	for rows := want | have; rows != 0; rows &= rows - 1 {
		row := first(rows)
		d := Difference{Entity: id, Component: c.schema.Plan(row).Name(), Server: absent, Client: absent}
		var server, client component
		if want.Has(row) {
			server = c.sight.of(id, row)
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

// text is a component, or the field of it that a path names, in words.
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

// step takes the first step of a path such as Cells[2].X. It returns the zero
// Value where the path leads nowhere.
func step(v reflect.Value, path string) (next reflect.Value, rest string) {
	path = strings.TrimPrefix(path, ".")
	end := strings.IndexAny(path[min(1, len(path)):], ".[") + 1
	if end == 0 {
		end = len(path)
	}
	name, rest := path[:end], path[end:]
	if v.Kind() == reflect.Struct {
		return v.FieldByName(name), rest
	}
	i, err := strconv.Atoi(strings.Trim(name, "[]"))
	if v.Kind() == reflect.Array && err == nil && i >= 0 && i < v.Len() {
		return v.Index(i), rest
	}
	return reflect.Value{}, ""
}

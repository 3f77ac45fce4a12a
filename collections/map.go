package collections

import (
	"iter"
	"reflect"

	"github.com/arche-netcode/netcode"
)

// Map is a type of map that entities may have: see NewMap.
type Map[K, V any] struct{ def *definition }

// pairOf is an element of a map.
type pairOf[K, V any] struct {
	Key   K
	Value V
}

// NewMap registers a type of map under its wire name, as NewList. Two keys are the same if they are equal on the wire. K may not have fields with the tag net:"entity"; a netcode.NetworkID without the tag is two numbers.
func NewMap[K, V any](p *netcode.Protocol, name string, options ...Option) *Map[K, V] {
	return &Map[K, V]{register(p, "NewMap", kindMap, name, reflect.TypeFor[pairOf[K, V]](), reflect.TypeFor[K](), options)}
}

// Name returns the wire name.
func (m *Map[K, V]) Name() string { return m.def.Name() }

// Of returns the map of an entity at a server or a client. It may be called at any time, and the result may be kept.
func (m *Map[K, V]) Of(end netcode.Endpoint, entity netcode.NetworkID) MapOf[K, V] {
	return MapOf[K, V]{handleOf(m.def, end, entity)}
}

// MapChange is one change of a map at a client.
type MapChange[K, V any] struct {
	Entity netcode.NetworkID // The entity of the map.
	What   ChangeKind        // The kind of the change.
	Key    K                 // The key of the change.
	Value  V                 // The value after the change, or of the removed key.
	Old    V                 // The value that ChangeSet replaced.
}

// OnChange is List.OnChange for maps.
func (m *Map[K, V]) OnChange(c *netcode.Client, f func(change MapChange[K, V])) {
	watch(m.def, c, "Map.OnChange", f != nil, func(end *end, e *change) {
		told := MapChange[K, V]{Entity: e.ID, What: e.Kind}
		if e.Row != nil {
			pair := decode[pairOf[K, V]](end, m.def, e.Row)
			told.Key, told.Value = pair.Key, pair.Value
		}
		if e.Old != nil {
			told.Old = decode[pairOf[K, V]](end, m.def, e.Old).Value
		}
		f(told)
	})
}

// MapOf is the map of one entity at one end. Only the server writes.
type MapOf[K, V any] struct{ handle }

// key returns the words of a key.
func (m MapOf[K, V]) key(k K) ([]uint32, error) {
	box := boxOf[pairOf[K, V]](m.end, m.def)
	box.Key = k
	return encodeElement(m.end, m.def, m.def.Key(), reflect.ValueOf(&box.Key))
}

// Get returns the value of a key, and tells if the key is in the map.
func (m MapOf[K, V]) Get(k K) (v V, ok bool) {
	rows := m.rows()
	if rows.Len() == 0 {
		return v, false
	}
	key, err := m.key(k)
	if err != nil {
		return v, false
	}
	at, found := rows.Find(key)
	if !found {
		return v, false
	}
	return decode[pairOf[K, V]](m.end, m.def, rows.At(at)).Value, true
}

// All yields the keys and their values in the order of the keys' fields on the wire, which is the same everywhere.
func (m MapOf[K, V]) All() iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		rows := m.rows()
		for i := 0; i < rows.Len(); i++ {
			if pair := decode[pairOf[K, V]](m.end, m.def, rows.At(i)); !yield(pair.Key, pair.Value) {
				return
			}
		}
	}
}

// Set sets the value of a key, and adds the key if it is not in the map. The errors are those of ListOf.Append.
func (m MapOf[K, V]) Set(k K, v V) error {
	content, err := m.writable()
	if err != nil {
		return err
	}
	row, err := encode(m.end, m.def, pairOf[K, V]{k, v})
	if err != nil {
		return err
	}
	at, found := content.Rows().Find(row[:m.def.Key().Lanes()])
	if found {
		return m.failed(content.Set(at, row))
	}
	return m.failed(content.Insert(at, row))
}

// Remove removes a key, if it is in the map. The errors are ErrReadOnly, errs.ErrNotVisible, errs.ErrNotRegistered and
// *errs.FieldError.
func (m MapOf[K, V]) Remove(k K) error {
	content, err := m.writable()
	if err != nil {
		return err
	}
	key, err := m.key(k)
	if err != nil {
		return err
	}
	at, found := content.Rows().Find(key)
	if !found {
		return nil
	}
	return m.failed(content.Remove(at))
}

package netcode

import (
	"iter"
	"reflect"

	"github.com/arche-netcode/netcode/collections"
)

// Set is a type of set that entities may have: see NewSet.
type Set[T any] struct{ def *collections.Def }

// NewSet registers a type of set under its wire name, as NewList does a list. Two elements are the same if they are so
// as they travel. T may not have fields with the tag net:"entity"; a NetworkID without the tag is two numbers.
func NewSet[T any](p *Protocol, name string, options ...CollectionOption) *Set[T] {
	t := reflect.TypeFor[T]()
	return &Set[T]{newCollection(p, "NewSet", collections.Set, name, t, t, options)}
}

// Name is the wire name.
func (s *Set[T]) Name() string { return s.def.Name() }

// Of is the set that an entity has, at a server or a client. It may be asked for at any time, and kept.
func (s *Set[T]) Of(end Endpoint, entity NetworkID) SetOf[T] {
	return SetOf[T]{collectionAt(s.def, end, entity)}
}

// SetChange is one change of a set at a client: of those that can happen, all but CollectionSet.
type SetChange[T any] struct {
	Entity NetworkID        // Whose set it is.
	What   CollectionChange // What became of the element.
	Value  T                // The element that was put in or taken out.
}

// OnChange is List.OnChange for sets.
func (s *Set[T]) OnChange(c *Client, f func(change SetChange[T])) {
	mustHave("Set.OnChange", f != nil)
	watch(s.def, c, func(e *collections.Event) {
		change := SetChange[T]{Entity: e.ID, What: e.Kind}
		if e.Row != nil {
			change.Value = decode[T](&c.courier, s.def, e.Row)
		}
		f(change)
	})
}

// SetOf is the set of one entity at one end. On a client it can be read; only the server writes.
type SetOf[T any] struct{ collectionOf }

// Has tells if an element is in the set. What cannot travel is in none.
func (s SetOf[T]) Has(v T) bool {
	rows := s.rows()
	if rows.Len() == 0 {
		return false
	}
	row, err := encode(s.end, s.def, v)
	if err != nil {
		return false
	}
	_, found := rows.Find(row)
	return found
}

// All yields the elements, in an order that is the same everywhere: that of their fields as they travel.
func (s SetOf[T]) All() iter.Seq[T] {
	return func(yield func(T) bool) {
		rows := s.rows()
		for i := 0; i < rows.Len(); i++ {
			if !yield(decode[T](s.end, s.def, rows.At(i))) {
				return
			}
		}
	}
}

// Add puts an element in, unless it is there already. The errors are those of ListOf.Append.
func (s SetOf[T]) Add(v T) error {
	content, err := s.writable()
	if err != nil {
		return err
	}
	row, err := encode(s.end, s.def, v)
	if err != nil {
		return err
	}
	at, found := content.Rows().Find(row)
	if found {
		return nil
	}
	return s.failed(content.Insert(at, row))
}

// Remove takes an element out, if it is there. The errors are ErrReadOnly, ErrNotVisible, ErrNotRegistered and *FieldError.
func (s SetOf[T]) Remove(v T) error {
	content, err := s.writable()
	if err != nil {
		return err
	}
	row, err := encode(s.end, s.def, v)
	if err != nil {
		return err
	}
	at, found := content.Rows().Find(row)
	if !found {
		return nil
	}
	return s.failed(content.Remove(at))
}

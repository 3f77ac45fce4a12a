package collections

import (
	"iter"
	"reflect"

	"github.com/arche-netcode/netcode"
)

// Set is a type of set that entities may have: see NewSet.
type Set[T any] struct{ def *definition }

// NewSet registers a type of set under its wire name, as NewList. Two elements are the same if they are equal on the wire. T may not have fields with the tag net:"entity"; a netcode.NetworkID without the tag is two numbers.
func NewSet[T any](p *netcode.Protocol, name string, options ...Option) *Set[T] {
	t := reflect.TypeFor[T]()
	return &Set[T]{register(p, "NewSet", kindSet, name, t, t, options)}
}

// Name returns the wire name.
func (s *Set[T]) Name() string { return s.def.Name() }

// Of returns the set of an entity at a server or a client. It may be called at any time, and the result may be kept.
func (s *Set[T]) Of(end netcode.Endpoint, entity netcode.NetworkID) SetOf[T] {
	return SetOf[T]{handleOf(s.def, end, entity)}
}

// SetChange is one change of a set at a client. Its kind is never ChangeSet.
type SetChange[T any] struct {
	Entity netcode.NetworkID // The entity of the set.
	What   ChangeKind        // The kind of the change.
	Value  T                 // The inserted or removed element.
}

// OnChange is List.OnChange for sets.
func (s *Set[T]) OnChange(c *netcode.Client, f func(change SetChange[T])) {
	watch(s.def, c, "Set.OnChange", f != nil, func(end *end, e *change) {
		told := SetChange[T]{Entity: e.ID, What: e.Kind}
		if e.Row != nil {
			told.Value = decode[T](end, s.def, e.Row)
		}
		f(told)
	})
}

// SetOf is the set of one entity at one end. On a client it can be read; only the server writes.
type SetOf[T any] struct{ handle }

// Has reports whether an element is in the set; false for a value that cannot be sent.
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

// All yields the elements in the order of their fields on the wire, which is the same everywhere.
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

// Add inserts an element, unless it is in the set. The errors are those of ListOf.Append.
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

// Remove removes an element, if it is in the set. The errors are ErrReadOnly, errs.ErrNotVisible, errs.ErrNotRegistered and
// *errs.FieldError.
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

package collections

import (
	"iter"
	"reflect"

	"github.com/arche-netcode/netcode"
)

// List is a type of list that entities may have: see NewList.
type List[T any] struct{ def *definition }

// NewList registers a type of list under its wire name. Call it on both sides, in any order with netcode.Replicate and
// netcode.Handle. The result is for every server and client of the protocol. T is plain data with the struct tags of
// components. A field of type netcode.NetworkID with the tag net:"entity" is zero at a client that does not see the entity.
// NewList panics on a T that cannot be sent, on a name that is taken, on limits out of their ranges and on a frozen protocol.
func NewList[T any](p *netcode.Protocol, name string, options ...Option) *List[T] {
	return &List[T]{register(p, "NewList", kindList, name, reflect.TypeFor[T](), nil, options)}
}

// Name returns the wire name.
func (l *List[T]) Name() string { return l.def.Name() }

// Of returns the list of an entity at a server or a client. It may be called at any time, and the result may be kept.
func (l *List[T]) Of(end netcode.Endpoint, entity netcode.NetworkID) ListOf[T] {
	return ListOf[T]{handleOf(l.def, end, entity)}
}

// ListChange is one change of a list at a client.
type ListChange[T any] struct {
	Entity netcode.NetworkID // The entity of the list.
	What   ChangeKind        // The kind of the change.
	Index  int               // Of the element; of a removed one its former place.
	Value  T                 // The element after the change, or the removed one.
	Old    T                 // The element that ChangeSet replaced.
}

// OnChange adds a function that is called after each change of these lists at a client, in stage EarlyUpdate: entities of the
// tick have come by then. Elements that come together are all there at the first call.
func (l *List[T]) OnChange(c *netcode.Client, f func(change ListChange[T])) {
	watch(l.def, c, "List.OnChange", f != nil, func(end *end, e *change) {
		told := ListChange[T]{Entity: e.ID, What: e.Kind, Index: e.At}
		if e.Row != nil {
			told.Value = decode[T](end, l.def, e.Row)
		}
		if e.Old != nil {
			told.Old = decode[T](end, l.def, e.Old)
		}
		f(told)
	})
}

// ListOf is the list of one entity at one end. Only the server writes. Both ends read the values of the wire: a number that is
// rounded for a client is rounded on the server too.
type ListOf[T any] struct{ handle }

// At returns the element at an index from 0, and tells if there is one.
func (l ListOf[T]) At(index int) (v T, ok bool) {
	rows := l.rows()
	if index < 0 || index >= rows.Len() {
		return v, false
	}
	return decode[T](l.end, l.def, rows.At(index)), true
}

// All yields the indexes and the elements.
func (l ListOf[T]) All() iter.Seq2[int, T] {
	return func(yield func(int, T) bool) {
		rows := l.rows()
		for i := 0; i < rows.Len(); i++ {
			if !yield(i, decode[T](l.end, l.def, rows.At(i))) {
				return
			}
		}
	}
}

// Append adds an element at the end. The errors are ErrReadOnly, errs.ErrNotVisible if there is no such entity,
// errs.ErrNotRegistered, *FullError and *errs.FieldError; after each nothing was done.
func (l ListOf[T]) Append(v T) error { return l.Insert(l.Len(), v) }

// Insert inserts an element at an index, before the present one. The errors are those of Append, and ErrNoElement for an index
// beyond the end.
func (l ListOf[T]) Insert(index int, v T) error {
	content, row, err := l.write(v)
	if err != nil {
		return err
	}
	return l.failed(content.Insert(index, row))
}

// Set replaces the element at an index. The errors are those of Append, and ErrNoElement.
func (l ListOf[T]) Set(index int, v T) error {
	content, row, err := l.write(v)
	if err != nil {
		return err
	}
	return l.failed(content.Set(index, row))
}

// write returns the content to change and the words of the element.
func (l ListOf[T]) write(v T) (*content, []uint32, error) {
	content, err := l.writable()
	if err != nil {
		return nil, nil, err
	}
	row, err := encode(l.end, l.def, v)
	return content, row, err
}

// Remove removes the element at an index. The errors are ErrReadOnly, errs.ErrNotVisible, errs.ErrNotRegistered and
// ErrNoElement.
func (l ListOf[T]) Remove(index int) error {
	content, err := l.writable()
	if err != nil {
		return err
	}
	return l.failed(content.Remove(index))
}

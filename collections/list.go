package collections

import (
	"iter"
	"reflect"

	"github.com/arche-netcode/netcode"
)

// List is a type of list that entities may have: see NewList.
type List[T any] struct{ def *definition }

// NewList registers a type of list under its wire name. Call it on both sides, in any order with Replicate and Handle;
// what it returns is good for every server and client of the protocol. T travels as a component does: it is blittable,
// and struct tags say how. A field of type netcode.NetworkID with the tag net:"entity" is zero at a client for as long as that
// does not see the entity. NewList panics on a T that cannot travel, on a name that is taken, on limits out of their
// ranges and on a frozen protocol.
func NewList[T any](p *netcode.Protocol, name string, options ...Option) *List[T] {
	return &List[T]{register(p, "NewList", kindList, name, reflect.TypeFor[T](), nil, options)}
}

// Name is the wire name.
func (l *List[T]) Name() string { return l.def.Name() }

// Of is the list that an entity has, at a server or a client. It may be asked for at any time, and kept.
func (l *List[T]) Of(end netcode.Endpoint, entity netcode.NetworkID) ListOf[T] {
	return ListOf[T]{handleOf(l.def, end, entity)}
}

// ListChange is one change of a list at a client.
type ListChange[T any] struct {
	Entity netcode.NetworkID // Whose list it is.
	What   ChangeKind        // What became of the element.
	Index  int               // Of the element; of one that was removed, the place that it had.
	Value  T                 // The element as it is now, or the one that was removed.
	Old    T                 // What ChangeSet replaced.
}

// OnChange adds a function that is called for each change of these lists that a client hears of, when it has been made,
// at the start of stage EarlyUpdate: after the tick's entities have come. Elements that come together are all there
// when the first is told of.
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

// ListOf is the list of one entity at one end. On a client it can be read; only the server writes. Values are those that
// travel: a number that was rounded on its way is so on the server too.
type ListOf[T any] struct{ handle }

// At is the element at an index from 0, and whether there is one.
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

// Append puts an element behind all others. The errors are ErrReadOnly, ErrNotVisible when there is no such entity,
// ErrNotRegistered, *FullError and *FieldError; after each nothing was done.
func (l ListOf[T]) Append(v T) error { return l.Insert(l.Len(), v) }

// Insert puts an element in at an index, before the one that is there. The errors are those of Append, and ErrNoElement
// for an index beyond the end.
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

// write is what to change and the element as it travels.
func (l ListOf[T]) write(v T) (*content, []uint32, error) {
	content, err := l.writable()
	if err != nil {
		return nil, nil, err
	}
	row, err := encode(l.end, l.def, v)
	return content, row, err
}

// Remove takes the element at an index out. The errors are ErrReadOnly, ErrNotVisible, ErrNotRegistered and ErrNoElement.
func (l ListOf[T]) Remove(index int) error {
	content, err := l.writable()
	if err != nil {
		return err
	}
	return l.failed(content.Remove(index))
}

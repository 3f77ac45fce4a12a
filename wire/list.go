package wire

import (
	"fmt"
	"iter"
)

// ListArray is the array types in which a List of T stores its elements.
type ListArray[T any] interface {
	[1]T | [2]T | [3]T | [4]T | [5]T | [6]T | [7]T | [8]T | [9]T | [10]T | [11]T | [12]T | [13]T | [14]T | [15]T | [16]T |
		[18]T | [20]T | [22]T | [24]T | [26]T | [28]T | [30]T | [32]T | [36]T | [40]T | [44]T | [48]T | [50]T | [52]T | [56]T | [60]T | [64]T |
		[72]T | [80]T | [96]T | [100]T | [112]T | [128]T | [160]T | [192]T | [200]T | [224]T | [256]T
}

// List is a list of bounded length, stored without a pointer. It can be a field of a component, an input, a message or
// an element of a collection: List[Slot, [16]Slot] has room for 16 slots. The zero value is empty.
//
// A row has the elements in use, each encoded by the net tags of its fields. A delta has the elements that differ. A
// tag on the field applies to each element. Two lists are equal (==) if and only if their elements are.
type List[T any, A ListArray[T]] struct {
	n     uint16 // elements in use; the others are zero
	items A
}

// Len returns the number of elements.
func (l *List[T, A]) Len() int { return min(int(l.n), len(l.items)) }

// Cap returns the maximum number of elements.
func (l *List[T, A]) Cap() int { return len(l.items) }

// At returns element i, which may be changed in place. It panics unless i < Len. The pointer is invalid after a call
// that removes elements.
func (l *List[T, A]) At(i int) *T {
	mustLie(i, l.Len())
	return &l.items[i]
}

// All yields the elements with their indexes.
func (l *List[T, A]) All() iter.Seq2[int, *T] {
	return func(yield func(int, *T) bool) {
		for i := 0; i < l.Len(); i++ {
			if !yield(i, &l.items[i]) {
				return
			}
		}
	}
}

// Append appends v. It returns false, without a change, if the list is full.
func (l *List[T, A]) Append(v T) bool { return l.Insert(l.Len(), v) }

// Insert inserts v at index i and moves later elements by one. It returns false, without a change, if the list is full.
// It panics if i > Len.
func (l *List[T, A]) Insert(i int, v T) bool {
	n := l.Len()
	mustLie(i, n+1)
	if n == len(l.items) {
		return false
	}
	for k := n; k > i; k-- {
		l.items[k] = l.items[k-1]
	}
	l.items[i], l.n = v, uint16(n+1)
	return true
}

// Remove removes element i and moves later elements by one. It panics unless i < Len.
func (l *List[T, A]) Remove(i int) {
	n := l.Len()
	mustLie(i, n)
	for k := i; k < n-1; k++ {
		l.items[k] = l.items[k+1]
	}
	l.Truncate(n - 1)
}

// Set replaces all elements by v and reports whether they fit; otherwise it stores the first Cap of them.
func (l *List[T, A]) Set(v ...T) (all bool) {
	l.n, l.items = 0, *new(A)
	n := min(len(v), len(l.items))
	for i := range n {
		l.items[i] = v[i]
	}
	l.n = uint16(n)
	return n == len(v)
}

// Truncate removes all elements after the first n.
func (l *List[T, A]) Truncate(n int) {
	end := l.Len()
	if n = max(n, 0); n >= end {
		return
	}
	for i := n; i < end; i++ {
		l.items[i] = *new(T)
	}
	l.n = uint16(n)
}

// AppendTo appends the elements to dst.
func (l *List[T, A]) AppendTo(dst []T) []T {
	for i := range l.Len() {
		dst = append(dst, l.items[i])
	}
	return dst
}

// mustLie panics for an index outside 0..n-1.
func mustLie(i, n int) {
	if uint(i) >= uint(n) {
		panic(fmt.Sprintf("wire: place %d of a list or text of length %d", i, n))
	}
}

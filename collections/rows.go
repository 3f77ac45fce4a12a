package collections

import "slices"

// rowList is the elements of one collection, each as the words of its fields (quantize.Plan). A nil rowList is empty.
type rowList struct {
	width int
	lanes []uint32
}

// Len returns the number of elements.
func (r *rowList) Len() int {
	if r == nil {
		return 0
	}
	return len(r.lanes) / r.width
}

// At returns an element, and panics if there is none. The slice is the collection's own: read it, do not keep it.
func (r *rowList) At(i int) []uint32 { return r.lanes[i*r.width : (i+1)*r.width : (i+1)*r.width] }

// between returns the words of the elements from one place up to another.
func (r *rowList) between(from, to int) []uint32 { return r.lanes[from*r.width : to*r.width] }

// Find returns the place of the element with a key, or the place to insert it. The elements must be in the order of their keys.
func (r *rowList) Find(key []uint32) (at int, found bool) {
	if r == nil {
		return 0, false
	}
	low, high := 0, r.Len()
	for low < high {
		middle := int(uint(low+high) / 2)
		switch slices.Compare(r.At(middle)[:len(key)], key) {
		case 0:
			return middle, true
		case -1:
			low = middle + 1
		default:
			high = middle
		}
	}
	return low, false
}

// ordered reports whether the keys rise strictly from one place up to another, with the neighbours at both ends.
func (r *rowList) ordered(from, to, keys int) bool {
	for i := max(from, 1); i <= to && i < r.Len(); i++ {
		if slices.Compare(r.At(i - 1)[:keys], r.At(i)[:keys]) >= 0 {
			return false
		}
	}
	return true
}

// insert inserts elements.
func (r *rowList) insert(at int, lanes []uint32) {
	r.lanes = slices.Insert(r.lanes, at*r.width, lanes...)
}

// remove removes elements.
func (r *rowList) remove(at, count int) {
	r.lanes = slices.Delete(r.lanes, at*r.width, (at+count)*r.width)
}

// clear removes all elements.
func (r *rowList) clear() { r.lanes = r.lanes[:0] }

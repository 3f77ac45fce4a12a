package collections

import "slices"

// Rows is the elements of one collection, each as the words of its fields (quantize.Plan). A nil Rows is empty.
type Rows struct {
	width int
	lanes []uint32
}

// Len returns how many there are.
func (r *Rows) Len() int {
	if r == nil {
		return 0
	}
	return len(r.lanes) / r.width
}

// At returns one. The slice is the collection's own: read it, do not keep it. It panics where there is none.
func (r *Rows) At(i int) []uint32 { return r.lanes[i*r.width : (i+1)*r.width : (i+1)*r.width] }

// between returns those from one place up to another, one after the other.
func (r *Rows) between(from, to int) []uint32 { return r.lanes[from*r.width : to*r.width] }

// Find returns where the element with a key is, or else would have to be put. Only what is ordered by keys may be asked.
func (r *Rows) Find(key []uint32) (at int, found bool) {
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

// ordered reports whether the keys rise strictly from one place up to another, and on to what is around.
func (r *Rows) ordered(from, to, keys int) bool {
	for i := max(from, 1); i <= to && i < r.Len(); i++ {
		if slices.Compare(r.At(i - 1)[:keys], r.At(i)[:keys]) >= 0 {
			return false
		}
	}
	return true
}

// insert puts some in.
func (r *Rows) insert(at int, lanes []uint32) { r.lanes = slices.Insert(r.lanes, at*r.width, lanes...) }

// remove takes some out.
func (r *Rows) remove(at, count int) {
	r.lanes = slices.Delete(r.lanes, at*r.width, (at+count)*r.width)
}

// clear takes all out.
func (r *Rows) clear() { r.lanes = r.lanes[:0] }

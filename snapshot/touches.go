package snapshot

import (
	"math/bits"
	"slices"
)

// Span is indexes one behind the other.
type Span struct {
	First, Count uint32 // from First on so many
}

// touches are the indexes that changed since they were cleared, each once, in the
// order of their first touch. As a set they are asked for at each touch, but not
// where all of a tick is touched in order: then the last span grows, and says
// itself what is in it.
type touches struct {
	spans []Span
	n     int      // how many indexes they are
	set   bitset   // those in front of open of the last span, and all of the others
	open  uint32   // in the last span or at its end
	top   uint32   // above all of set
	all   []uint32 // the same one by one, when somebody has asked
}

// add notes that n indexes one behind the other were touched. For all of them there
// has to be room in the set.
func (t *touches) add(index uint32, n int) {
	if k := len(t.spans) - 1; k >= 0 {
		s := &t.spans[k]
		at, count := index-s.First, uint32(n)
		if at == s.Count && index >= t.top {
			s.Count += count
			t.n += n
			return
		}
		if at < s.Count && count <= s.Count-at {
			return
		}
	} else if n > 0 {
		t.spans = append(room(t.spans, 1, usualList), Span{First: index, Count: uint32(n)})
		t.n, t.open = n, index
		return
	}
	t.addApart(index, n)
}

// addApart is add of what does not lie behind all others.
func (t *touches) addApart(index uint32, n int) {
	t.settle()
	t.top = max(t.top, index+uint32(n))
	for n > 0 {
		word, bit := index>>6, index&63
		k := min(n, 64-int(bit))
		set := ^uint64(0) >> (64 - k) << bit
		fresh := set &^ t.set[word]
		t.set[word] |= set
		if fresh == set {
			t.list(index, k)
		} else {
			for ; fresh != 0; fresh &= fresh - 1 {
				t.list(word<<6+uint32(bits.TrailingZeros64(fresh)), 1)
			}
		}
		index, n = index+uint32(k), n-k
	}
}

// settle writes all of the last span into the set.
func (t *touches) settle() {
	if k := len(t.spans) - 1; k >= 0 {
		end := t.spans[k].end()
		t.set.setAll(t.open, int(end-t.open))
		t.open, t.top = end, max(t.top, end)
	}
}

// list adds indexes that are in the set.
func (t *touches) list(index uint32, n int) {
	t.n += n
	if k := len(t.spans) - 1; k >= 0 && t.spans[k].end() == index {
		t.spans[k].Count += uint32(n)
	} else {
		t.spans = append(room(t.spans, 1, usualList), Span{First: index, Count: uint32(n)})
	}
	t.open = index + uint32(n)
}

func (s *Span) end() uint32 { return s.First + s.Count }

// clear starts anew.
func (t *touches) clear() {
	for _, s := range t.spans {
		if s.First < t.top {
			clear(t.set[s.First>>6 : (min(s.end(), t.top)-1)>>6+1]) // the others of these words are listed too
		}
	}
	t.spans, t.all, t.n, t.open, t.top = t.spans[:0], t.all[:0], 0, 0, 0
}

// Changed lists the indexes touched since ClearChanged, each once, in the order
// of their first touch. The slice is the Replica's own.
func (r *Replica) Changed() []uint32 {
	t := &r.touched
	if len(t.all) < t.n {
		t.all = slices.Grow(t.all[:0], t.n)
		for _, s := range t.spans {
			for i := range s.Count {
				t.all = append(t.all, s.First+i)
			}
		}
	}
	return t.all
}

// HasChanged reports whether Changed lists an index.
func (r *Replica) HasChanged(index uint32) bool {
	for _, s := range r.touched.spans {
		if index-s.First < s.Count {
			return true
		}
	}
	return false
}

// ChangedSpans is Changed with those that are one behind the other together. The
// slice is the Replica's own.
func (r *Replica) ChangedSpans() []Span { return r.touched.spans }

// ClearChanged starts a new list.
func (r *Replica) ClearChanged() { r.touched.clear() }

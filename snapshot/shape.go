package snapshot

// shape is where the rows of a mask lie among the lanes of an entity that has
// just them.
type shape struct {
	mask  Mask
	lanes int
	// floats says that rows of all these are nothing but floats that travel
	// exactly.
	floats bool
	at     [MaxRows]int32
	width  [MaxRows]int32
	rows   int                // that have lanes
	cuts   [MaxRows + 1]int32 // where the lanes of each of those begin, and of the last end
	probes [probes]int32      // a lane of each of the first of those; where they are fewer the last is meant again
}

// probes is how many rows have their first lane compared without much ado.
const probes = 3

// differ reports whether two entities with these rows differ in each of them.
// Of rows without lanes alone they do not. It looks where the last ones did
// first: what turns around one axis has lanes that never change.
func (s *shape) differ(a, b []uint32) bool {
	for k := range s.cuts[:s.rows] {
		from, to := s.cuts[k], s.cuts[k+1]
		if k < probes {
			if at := s.probes[k]; a[at] != b[at] {
				continue
			}
		}
		for from < to && a[from] == b[from] {
			from++
		}
		if from == to {
			return false
		}
		for n := k; n < probes && (n == k || k == s.rows-1); n++ {
			s.probes[n] = from
		}
	}
	return s.rows > 0
}

// apart is how many entities, the first of those whose lanes these are, are seen
// at a glance to differ in each row.
func (s *shape) apart(a, b []uint32) (n int) {
	p, q, o, width := int(s.probes[0]), int(s.probes[1]), int(s.probes[2]), s.lanes
	if s.rows > probes || width <= 0 {
		return 0
	}
	for at := 0; at+width <= len(a) && at+width <= len(b); at += width {
		if a[at+p] == b[at+p] || a[at+q] == b[at+q] || a[at+o] == b[at+o] {
			break
		}
		n++
	}
	return n
}

// allApart reports whether all entities whose lanes these are are seen at a glance
// to differ in each row, as most often they do.
func (s *shape) allApart(a, b []uint32) bool {
	p, q, o, width := uint(s.probes[0]), uint(s.probes[1]), uint(s.probes[2]), uint(s.lanes)
	return s.rows <= probes && width > 0 && aparts(a, b, p, width) &&
		(q == p || aparts(a, b, q, width)) && (o == q || aparts(a, b, o, width))
}

// aparts reports whether every width-th lane differs, from one on.
func aparts(a, b []uint32, from, width uint) bool {
	if b = b[:len(a)]; width == 0 {
		return false
	}
	for at := from; at < uint(len(a)); at += width {
		if a[at] == b[at] {
			return false
		}
	}
	return true
}

// row is the lanes of a row of the mask, among those of all its rows.
func (s *shape) row(lanes []uint32, row int) []uint32 {
	at := s.at[row]
	return lanes[at : at+s.width[row]]
}

// shapes keeps those of the masks that were asked for last. Most worlds have
// few, and every record asks for one.
type shapes struct {
	schema *Schema
	kept   [1 << shapeBits]shape
}

const shapeBits = 4

func newShapes(schema *Schema) *shapes { return &shapes{schema: schema} }

// of is good until the next call.
func (s *shapes) of(mask Mask) *shape {
	kept := &s.kept[uint64(mask)*0x9E37_79B9_7F4A_7C15>>(64-shapeBits)]
	if kept.mask != mask {
		s.measure(kept, mask)
	}
	return kept
}

func (s *shapes) measure(kept *shape, mask Mask) {
	kept.mask, kept.lanes, kept.floats, kept.rows = mask, 0, s.schema.onlyFloats(mask), 0
	for m := mask; m != 0; m &= m - 1 {
		row := m.next()
		kept.at[row], kept.width[row] = int32(kept.lanes), s.schema.widths[row]
		if kept.width[row] > 0 {
			kept.cuts[kept.rows] = kept.at[row]
			kept.rows++
		}
		kept.lanes += int(s.schema.widths[row])
		kept.cuts[kept.rows] = int32(kept.lanes)
	}
	for k := range kept.probes {
		kept.probes[k] = kept.cuts[max(0, min(k, kept.rows-1))]
	}
}

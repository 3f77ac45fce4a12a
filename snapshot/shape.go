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
	kept.mask, kept.lanes, kept.floats = mask, 0, s.schema.onlyFloats(mask)
	for m := mask; m != 0; m &= m - 1 {
		row := m.next()
		kept.at[row], kept.width[row] = int32(kept.lanes), s.schema.widths[row]
		kept.lanes += int(s.schema.widths[row])
	}
}

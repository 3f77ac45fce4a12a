package snapshot

// Fetch reads one row of many entities: what [Replica.Row] does for one, without
// finding the column anew each time. It is good until the Replica changes.
type Fetch struct {
	pages [][]uint32
	lanes uint32
}

// Fetch returns the reader of a row, which must be one of the schema's.
func (r *Replica) Fetch(row int) Fetch {
	return Fetch{pages: r.rows.pages[row], lanes: uint32(r.schema.plans[row].Lanes())}
}

// At is the newest lanes of the row of an entity, which must be alive and have
// it, as its Mask says. The slice is the Replica's own: read it, do not keep it.
func (f *Fetch) At(index uint32) []uint32 {
	at := index % pageRows * f.lanes
	return f.pages[index/pageRows][at : at+f.lanes]
}

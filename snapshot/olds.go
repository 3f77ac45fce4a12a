package snapshot

import "github.com/arche-netcode/netcode/tick"

// olds are what remains of versions that have left the window: of each life the
// newest of them, and since when each row has had its value, so that a row which
// slept for an hour still has its baseline (rule 4). They lie in columns, by
// number of the life, so that one who leaves after another is written behind it.
type olds struct {
	schema *Schema
	heads  []older
	pages  [][][]uint32 // by row and page: for each life since when, in two words, and the lanes
}

// older is of which tick what remains is, and which rows it has.
type older struct {
	tick tick.Tick // tick.None when nothing has left yet
	mask Mask
}

// sinceWords is how many words of a row say since when it has its value.
const sinceWords = 2

func newOlds(schema *Schema) olds {
	return olds{schema: schema, pages: make([][][]uint32, schema.Rows())}
}

// place is that of a row of a life, made at the first use.
func (o *olds) place(life int32, row int) []uint32 {
	n, page := int(o.schema.widths[row])+sinceWords, int(life/pageRows)
	if pages := o.pages[row]; page >= len(pages) || pages[page] == nil {
		o.pages[row] = grown(pages, page+1, 0)
		o.pages[row][page] = make([]uint32, pageRows*n)
	}
	at := int(life%pageRows) * n
	return o.pages[row][page][at : at+n]
}

// take makes v, which is newer, what remains of its life. Lanes begin with
// those of v. When the version before v is not what remained, that one and others
// were followed soon, up to v. Nobody knows any more since when v's rows have had
// their values, and who leans on one of those that are gone says that they had
// them then.
func (o *olds) take(v *version, lanes []uint32) {
	h := &o.heads[v.life]
	was, since := h.mask, v.tick
	if h.tick != v.prev.tick {
		since = h.tick + 1
	}
	h.tick, h.mask = v.tick, v.mask
	page, in := int(uint32(v.life)/pageRows), int(uint32(v.life)%pageRows)
	for m := v.mask &^ o.schema.tags; m != 0; m &= m - 1 {
		row := m.next()
		n := int(o.schema.widths[row])
		var place []uint32
		if pages := o.pages[row]; page < len(pages) && pages[page] != nil {
			place = pages[page][in*(n+sinceWords):][:n+sinceWords]
		} else {
			place = o.place(v.life, row)
		}
		if !exchange(place[sinceWords:], lanes[:n]) || !was.Has(row) {
			place[0], place[1] = uint32(since), uint32(since>>32)
		}
		lanes = lanes[n:]
	}
}

// exchange copies lanes and reports whether they were the same.
func exchange(to, from []uint32) (same bool) {
	from = from[:len(to)]
	if len(to) == 3 { // most rows are of three words or four
		a, b := (*[3]uint32)(to), (*[3]uint32)(from)
		same = *a == *b
		*a = *b
		return same
	}
	differ := uint32(0)
	for i, n := range from {
		differ |= to[i] ^ n
		to[i] = n
	}
	return differ == 0
}

// row is the row of a life as of t, if what remains reaches back that far.
func (o *olds) row(life int32, row int, t tick.Tick) ([]uint32, bool) {
	h := &o.heads[life]
	if h.tick == tick.None || t > h.tick || !h.mask.Has(row) {
		return nil, false
	}
	if o.schema.tags.Has(row) {
		return nil, false
	}
	place := o.place(life, row)
	if tick.Tick(uint64(place[0])|uint64(place[1])<<32) > t {
		return nil, false
	}
	return place[sinceWords:], true
}

package snapshot

import (
	"slices"

	"github.com/arche-netcode/netcode/delta"
	"github.com/arche-netcode/netcode/tick"
)

// floatBodies encodes the deltas of a text in batches, straight into the text. All rows of the text must be exact floats, and all
// records have the same rows, T and T'. The plain code that it equals is EncodeCache.encodeSome.
type floatBodies struct {
	on       bool // the present text is such
	missing  bool // a baseline of a record is no longer in the history
	rows     Mask
	previous tick.Tick // T'
	next     int       // number in the batch of the next record to append
	columns  []delta.BatchColumn
	deltas   [delta.MaxStreamRows]*delta.Delta
}

// beginText begins a text. It returns false if the text is not such.
func (f *floatBodies) beginText(d *EncodeCache, t *pageText, v *View) bool {
	s, near := d.store, t.nearOf&t.of
	mask := t.maskOf(v, firstOf(t.page, t.of))
	f.rows, f.missing, f.previous, d.batch.n, f.next = mask.Minus(s.schema.Tags), false, t.near, 0, 0
	if near == 0 {
		f.previous = s.previousOf(t.ref, t.span)
	}
	f.on = (near == 0 || near == t.of) && s.watch == nil && s.schema.OnlyFloats(f.rows) && together(s.schema, f.rows)
	for of := t.of; of != 0 && f.on; of &= of - 1 {
		f.on = t.maskOf(v, firstOf(t.page, of)) == mask
	}
	for m, i := f.rows, 0; f.on && !m.IsZero(); m, i = m.Rest(), i+1 {
		f.deltas[i] = s.schema.Codes.Deltas[m.Lowest()]
		f.on = f.deltas[i].Floats()
	}
	if f.on {
		d.pages.group(t, mask, t.of)
	}
	return f.on
}

// append appends the delta of an entity to the text, and returns how many of its rows differ.
func (f *floatBodies) append(d *EncodeCache, t *pageText, at int) (rows int) {
	b := &d.batch
	if f.next == b.n {
		f.next, b.n = 0, 0
		for of := t.of >> at << at; of != 0 && b.n < delta.MaxStreams; of &= of - 1 {
			b.index[b.n] = firstOf(t.page, of)
			b.n++
		}
		columns, v := b.gatherRows(d.store, f.rows, t.ref, f.previous)
		b.strands.BeginFloats(b.n, d.store.schema.Codes.Which[len(columns)-1], f.deltas[:len(columns)], columns, &v)
		f.columns, f.missing = columns, f.missing || slices.Contains(b.missing[:b.n], true)
		d.deltas.made += uint64(b.n)
	}
	f.next++
	return d.pages.code.AppendFloats(&b.strands, f.next-1, f.columns)
}

package snapshot

import (
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// A component with distance bands (netcode.Bands) has a row for each band, with coarser steps. A component that has more fields than
// in an older build (Protocol.Support) has a row with the fields of that build. The game writes the component alone, and each commit
// derives the other rows from it, at their rates. A View shows one of these rows to its client and hides the others. So bands need no
// code of their own for deltas, baselines, losses and the delta cache.

// bands derives the rows of the bands.
type bands struct {
	rows   []bandRow
	before tick.Tick        // tick of the capture before this one
	ids    []wire.NetworkID // scratch: entities to replace
	lanes  []uint32         // scratch: their new rows
	one    []uint32         // scratch: one row
}

// bandRow is the row of one band.
type bandRow struct {
	row, of int // rows of the band, and of the component
	every   tick.Tick
	coarse  quantize.Conversion
	waits   bitset // entities whose component changed after the row was derived
}

func newBands(schema *Schema) (b bands) {
	for _, c := range schema.Families() {
		for _, band := range c.Bands {
			b.rows = append(b.rows, bandRow{
				row: band.Row, of: c.Row, every: tick.Tick(max(schema.Options(band.Row).Every, 1)),
				coarse: quantize.NewConversion(schema.Plan(c.Row), schema.Plan(band.Row)),
			})
		}
	}
	return b
}

// deriveBands derives the rows of all bands from their components.
func (s *Store) deriveBands() {
	for i := range s.bands.rows {
		b := &s.bands.rows[i]
		b.waits = b.waits.grownTo(len(s.gens))
		for _, w := range s.words {
			for left := s.changed[w]; left != 0; left &= left - 1 {
				if index := firstOf(w, left); s.past.changedAfter(b.of, index, s.tick-1) {
					b.waits.set(index)
				}
			}
		}
		for i := range s.refs.changed { // changes that only name other entities are not in s.changed
			if c := &s.refs.changed[i]; c.row == b.of {
				b.waits.set(c.index)
			}
		}
		s.deriveBand(b)
	}
}

// deriveBand derives the rows of one band that are due in this tick. A component that was added or removed is always due.
func (s *Store) deriveBand(b *bandRow) {
	all, n := &s.bands, int(s.schema.Widths[b.row])
	all.ids, all.lanes = all.ids[:0], all.lanes[:0]
	all.one = grown(all.one, n, n)[:n]
	for w, word := range b.waits {
		for left := word; left != 0; left &= left - 1 {
			index := firstOf(uint32(w), left)
			id := wire.NetworkID{Index: index, Generation: s.gens[index]}
			has, had := s.rows.masks[index].Has(b.of), s.rows.masks[index].Has(b.row)
			switch {
			case !s.alive.has(index) || !has && !had:
			case !has:
				s.Remove(id, b.row)
			case !had:
				b.coarse.Row(s.rows.row(index, b.of), all.one)
				s.Set(id, b.row, all.one)
			case s.schema.Tags.Union(s.schema.Refs).Has(b.row): // of an older build: bands have neither tags nor entity fields
				b.coarse.Row(s.rows.row(index, b.of), all.one)
				s.Set(id, b.row, all.one)
			case b.every > 1 && !s.Turn(id, b.every, all.before, s.tick):
				continue
			default:
				b.coarse.Row(s.rows.row(index, b.of), all.one)
				all.ids, all.lanes = append(all.ids, id), append(all.lanes, all.one...)
			}
			b.waits.unset(index)
		}
	}
	if len(all.ids) > 0 {
		s.ReplaceRows(all.ids, b.row, all.lanes)
	}
}

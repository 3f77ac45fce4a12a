package snapshot

import (
	"fmt"

	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// dumper prints one payload; it reads what decode reads, and changes nothing.
type dumper struct {
	schema *Schema
	b      wire.BitReader
	dst    []byte
	s      tick.Tick // the packet's own
	age    tick.Tick
	past   Past
	lanes  []uint32
}

// Past is what records lean on, as far as it is known.
type Past interface {
	// RowsAt is which rows an index had at a tick.
	RowsAt(index uint32, t tick.Tick) (Mask, bool)
	// LanesAt is a row as of a tick.
	LanesAt(index uint32, row int, t tick.Tick) ([]uint32, bool)
}

// AppendDump appends what a snapshot payload says, in lines, for people: entities, rows and fields by name. Ticks
// are read as near to the one given. Records lean on what the receiver has: past says it. Without a past, or where it
// does not know either, the dump ends there.
func (s *Schema) AppendDump(dst, payload []byte, near tick.Tick, past Past) []byte {
	d := dumper{schema: s, b: wire.NewBitReader(payload), dst: dst, past: past}
	d.s = tick.Near(uint16(d.b.Read(16)), near)
	d.printf("   tick %d\n", d.s)
	if d.b.Bool() {
		d.printf("   resynced, epoch %d\n", d.b.Read(16))
	}
	end := d.despawns() && d.records()
	switch {
	case d.b.Failed():
		d.printf("   no more: the payload is cut off or not legal\n")
	case end && !d.b.Done():
		d.printf("   %d bits too many\n", d.b.Remaining())
	}
	return d.dst
}

// AppendDump is Schema.AppendDump with what the replica knows. It may be asked before or after Read of the payload.
func (r *Replica) AppendDump(dst, payload []byte) []byte {
	return r.schema.AppendDump(dst, payload, r.newest, r)
}

// RowsAt is which rows an index had by the record that was decoded at t, if it is held.
func (r *Replica) RowsAt(index uint32, t tick.Tick) (Mask, bool) {
	base := r.baseline(index, t)
	if base.version == nil {
		return 0, false
	}
	return base.version.mask, true
}

// LanesAt is a row as of the record that was decoded at t, if it is held. The slice is the Replica's own.
func (r *Replica) LanesAt(index uint32, row int, t tick.Tick) ([]uint32, bool) {
	base := r.baseline(index, t)
	if base.life == nil {
		return nil, false
	}
	return base.row(r, row)
}

func (d *dumper) printf(format string, args ...any) { d.dst = fmt.Appendf(d.dst, format, args...) }

func (d *dumper) despawns() bool {
	var last uint32
	for d.b.Bool() {
		index, ok := readIndex(&d.b, &last)
		generation, legal := readGeneration(&d.b)
		if !ok || !legal {
			return d.illegal("despawn")
		}
		d.printf("   despawn %s\n", wire.NetworkID{Index: index, Generation: generation})
	}
	return !d.b.Failed()
}

func (d *dumper) illegal(what string) bool {
	d.printf("   no legal %s\n", what)
	return false
}

func (d *dumper) records() bool {
	var last uint32
	for d.b.Bool() {
		index, ok := readIndex(&d.b, &last)
		if !ok {
			return d.illegal("index")
		}
		if !d.record(index) {
			return false
		}
	}
	return !d.b.Failed()
}

// record prints one entity.
func (d *dumper) record(index uint32) bool {
	if !d.b.Bool() {
		generation, ok := readGeneration(&d.b)
		if !ok {
			return d.illegal("generation")
		}
		d.printf("   entity %s, whole\n", wire.NetworkID{Index: index, Generation: generation})
		return d.rows(index, Mask(d.b.Read(uint(d.schema.Rows()))), tick.None)
	}
	if !d.b.Bool() {
		d.age = tick.Tick(min(d.b.Var(), 1<<31)) + 1
	}
	base := d.s - d.age
	if d.b.Failed() || d.age <= 0 || base <= tick.None {
		return d.illegal("age")
	}
	d.printf("   entity at %d, against tick %d\n", index, base)
	if !d.b.Bool() {
		return d.rows(index, Mask(d.b.Read(uint(d.schema.Rows()))), base)
	}
	if d.past != nil {
		if mask, ok := d.past.RowsAt(index, base); ok {
			return d.rows(index, mask, base)
		}
	}
	d.printf("    rows as at tick %d, which is not known here\n", base)
	return false
}

// rows prints the rows of a record; those of a record against a base may stand as they were, or as what differs.
func (d *dumper) rows(index uint32, mask Mask, base tick.Tick) bool {
	for ; mask != 0; mask &= mask - 1 {
		row := mask.next()
		plan := d.schema.plans[row]
		if base != tick.None && !d.b.Bool() && !d.b.Failed() {
			d.printf("    %s as at tick %d\n", plan.Name(), base)
			continue
		}
		d.lanes = extended(d.lanes[:0], plan.Lanes())
		if base != tick.None && d.b.Bool() {
			var before []uint32
			known := d.past != nil
			if known {
				before, known = d.past.LanesAt(index, row, base)
			}
			if !known {
				d.printf("    %s against tick %d, which is not known here\n", plan.Name(), base)
				return false
			}
			if !plan.ReadNext(&d.b, before, d.lanes) {
				return d.illegal(plan.Name())
			}
		} else if !plan.ReadRow(&d.b, d.lanes) {
			return d.illegal(plan.Name())
		}
		d.printf("    %s ", plan.Name())
		d.dst = append(plan.AppendValues(d.dst, d.lanes), '\n')
	}
	return !d.b.Failed()
}

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
	masks  func(index uint32, t tick.Tick) (Mask, bool)
	lanes  []uint32
}

// AppendDump appends what a snapshot payload says, in lines, for people: entities, rows and fields by name. Ticks
// are read as near to the one given. A record may leave out which rows it has where the receiver knows: masks says
// which rows an index had at a tick. Without masks, or where it does not know either, the dump ends there.
func (s *Schema) AppendDump(dst, payload []byte, near tick.Tick, masks func(index uint32, t tick.Tick) (Mask, bool)) []byte {
	d := dumper{schema: s, b: wire.NewBitReader(payload), dst: dst, masks: masks}
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
	return r.schema.AppendDump(dst, payload, r.newest, func(index uint32, t tick.Tick) (Mask, bool) {
		base := r.baseline(index, t)
		if base.version == nil {
			return 0, false
		}
		return base.version.mask, true
	})
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
		return d.rows(Mask(d.b.Read(uint(d.schema.Rows()))), tick.None)
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
		return d.rows(Mask(d.b.Read(uint(d.schema.Rows()))), base)
	}
	if d.masks != nil {
		if mask, ok := d.masks(index, base); ok {
			return d.rows(mask, base)
		}
	}
	d.printf("    rows as at tick %d, which is not known here\n", base)
	return false
}

// rows prints the rows of a record; those of a record against a base may stand as they were.
func (d *dumper) rows(mask Mask, base tick.Tick) bool {
	for ; mask != 0; mask &= mask - 1 {
		plan := d.schema.plans[mask.next()]
		if base != tick.None && !d.b.Bool() && !d.b.Failed() {
			d.printf("    %s as at tick %d\n", plan.Name(), base)
			continue
		}
		d.lanes = extended(d.lanes[:0], plan.Lanes())
		if !plan.ReadRow(&d.b, d.lanes) {
			return d.illegal(plan.Name())
		}
		d.printf("    %s ", plan.Name())
		d.dst = append(plan.AppendValues(d.dst, d.lanes), '\n')
	}
	return !d.b.Failed()
}

package replica

import (
	"fmt"

	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// observer counts the bits of a payload while Replica.decode reads it, and prints it. Methods of a nil observer do nothing.
type observer struct {
	schema *format.Schema
	bits   *format.Bits
	prints bool
	text   []byte
	left   int    // bits that were not read at the last count
	rows   int    // kind of whole rows of the present record: format.SpawnRows or format.WholeRows
	index  uint32 // of the present record
}

// AppendDump appends a snapshot payload as lines of text: entities, rows and fields by name. Call it directly before or after Read of
// the payload. The text ends where the payload cannot be decoded. An empty Replica reads state that is in the payload itself.
func (r *Replica) AppendDump(dst, payload []byte) []byte {
	o := observer{schema: r.schema, bits: format.NewBits(r.schema), prints: true, text: dst}
	r.observe(payload, &o)
	return o.text
}

// AddBits adds the bits of a payload to counters. Call it directly before or after Read of the payload, and for a lost payload as soon
// as it was written. All bits after the first place that cannot be decoded are Unknown.
func (r *Replica) AddBits(to *format.Bits, payload []byte) {
	r.observe(payload, &observer{schema: r.schema, bits: to})
}

// observe decodes a payload for an observer. It changes nothing.
func (r *Replica) observe(payload []byte, o *observer) {
	b := wire.NewBitReader(payload)
	o.left = b.Remaining()
	s := tick.Near(uint16(b.Read(16)), r.newest)
	o.printf("   tick %d\n", s)
	err := ErrMalformed
	if !b.Failed() && s > tick.None {
		err = r.decodeFor(o, &b, payload, s)
	}
	switch err {
	case nil:
		o.add(&b, &o.bits.Padding)
		o.bits.Padding += uint64(o.left)
		return
	case ErrBaseline:
		o.printf("   the rest is coded against records which are not known here\n")
	case ErrMalformed:
		o.printf("   no more: the payload is cut off or not legal\n")
	default:
		o.printf("   no more: %v\n", err)
	}
	o.bits.Unknown += uint64(o.left)
}

// decodeFor decodes a payload of tick s for an observer, and drops it.
func (r *Replica) decodeFor(o *observer, b *wire.BitReader, payload []byte, s tick.Tick) error {
	stats, wanted := r.stats, r.wanted
	r.pending.begin(payload, r.history.blockOf(s))
	r.pending.upTo = s - 1 // Read may have decoded this payload before
	r.observer = o
	err := r.decode(b, s)
	r.observer = nil
	r.pending.drop()
	r.stats, r.wanted = stats, wanted
	return err
}

func (o *observer) printf(format string, args ...any) {
	if o.prints {
		o.text = fmt.Appendf(o.text, format, args...)
	}
}

// add adds the bits that were read since the last call to a counter.
func (o *observer) add(b *wire.BitReader, to *uint64) {
	*to += uint64(o.left - b.Remaining())
	o.left = b.Remaining()
}

// addRecord is add for bits of the present record.
func (o *observer) addRecord(b *wire.BitReader, to *uint64) {
	o.addEntity(o.left - b.Remaining())
	o.add(b, to)
}

// addEntity counts bits of the entity of the present record.
func (o *observer) addEntity(bits int) {
	if o.bits.Entities != nil && bits > 0 {
		o.bits.Entities[o.index] += uint64(bits)
	}
}

// purpose tells what bits are for.
type purpose uint8

const (
	headerBits purpose = iota
	placeBits
	despawnBits
	changedBits
)

// count adds the bits that were read since the last call to the counter of a purpose.
func (o *observer) count(b *wire.BitReader, of purpose) {
	if o != nil {
		if of == changedBits {
			o.addEntity(o.left - b.Remaining())
		}
		o.add(b, [...]*uint64{&o.bits.Header, &o.bits.List, &o.bits.Despawns, &o.bits.Changed}[of])
	}
}

// epoch notes a resync.
func (o *observer) epoch(epoch uint16) {
	if o != nil {
		o.printf("   resynced, epoch %d\n", epoch)
	}
}

// despawn notes a despawn record.
func (o *observer) despawn(index, generation uint32) {
	if o != nil {
		o.printf("   despawn %s\n", wire.NetworkID{Index: index, Generation: generation})
	}
}

// list notes the header of a list.
func (o *observer) list(b *wire.BitReader, l *readList) {
	if o != nil {
		o.printf("   entities of tick %d, also against tick %d\n", l.ref, l.near)
		o.add(b, &o.bits.List)
	}
}

// full notes the header of a record without a baseline.
func (o *observer) full(b *wire.BitReader, index, generation uint32) {
	if o != nil {
		o.printf("   entity %s, whole\n", wire.NetworkID{Index: index, Generation: generation})
		o.index = index
		o.addRecord(b, &o.bits.Heads)
		o.rows = format.SpawnRows
	}
}

// inRun notes a record of a run, which has no header.
func (o *observer) inRun(index, generation uint32) {
	if o != nil {
		o.printf("   entity %s, whole too\n", wire.NetworkID{Index: index, Generation: generation})
		o.index = index
	}
}

// against notes the header of a record that is coded against the record of tick t.
func (o *observer) against(b *wire.BitReader, index uint32, t tick.Tick) {
	if o != nil {
		o.printf("   entity at %d, against tick %d\n", index, t)
		o.index = index
		o.addRecord(b, &o.bits.Heads)
		o.rows = format.WholeRows
	}
}

// unchanged notes a row that is as at tick t.
func (o *observer) unchanged(row int, t tick.Tick) {
	if o != nil {
		o.printf("    %s as at tick %d\n", o.schema.Plan(row).Name(), t)
	}
}

// whole notes a row that was sent whole.
func (o *observer) whole(b *wire.BitReader, row int, lanes []uint32) {
	if o != nil {
		o.wholeRow(row, lanes, o.left-b.Remaining())
	}
}

// floats notes rows that were read at once, each as exact floats.
func (o *observer) floats(l *rowLayout, lanes []uint32) {
	if o == nil {
		return
	}
	for m := l.mask.Minus(o.schema.Tags); !m.IsZero(); m = m.Rest() {
		to := l.row(lanes, m.Lowest())
		o.wholeRow(m.Lowest(), to, 32*len(to))
	}
}

// wholeRow adds a row of some bits that was sent whole.
func (o *observer) wholeRow(row int, lanes []uint32, bits int) {
	c := &o.bits.Components[row]
	if o.rows == format.SpawnRows {
		c.Spawn += uint64(bits)
	} else {
		c.Whole += uint64(bits)
	}
	o.left -= bits
	o.addEntity(bits)
	c.Rows[o.rows]++
	o.schema.Plan(row).EachField(lanes, func(field, bits int) { c.Fields[field].Bits += uint64(bits) })
	o.printRow(row, lanes)
}

// delta notes a row that was sent as a delta. miss is v.Miss before it was read.
func (o *observer) delta(b *wire.BitReader, row int, lanes []uint32, v *quantize.Baselines, miss int) {
	if o == nil {
		return
	}
	c, before := &o.bits.Components[row], *v
	before.Miss = miss
	o.addRecord(b, &c.Delta)
	c.Rows[format.DeltaRows]++
	o.schema.Codes.Deltas[row].EachField(lanes, &before, func(field, bits int) {
		if field < 0 {
			c.Changed += uint64(bits)
			return
		}
		c.Fields[field].Bits += uint64(bits)
	})
	o.printRow(row, lanes)
}

// printRow prints a row by field.
func (o *observer) printRow(row int, lanes []uint32) {
	if o.prints {
		plan := o.schema.Plan(row)
		o.printf("    %s ", plan.Name())
		o.text = append(plan.AppendValues(o.text, lanes), '\n')
	}
}

package snapshot

import (
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// Bits says where the bits of snapshots went. All of them together are as many
// as the payloads had.
type Bits struct {
	Header     uint64          // tick, epoch, and to which earlier ticks lists refer
	List       uint64          // which entities are spoken of
	Heads      uint64          // records that are not the usual ones: generation, age, which components
	Despawns   uint64          // the whole list of them, its end included
	Changed    uint64          // which components of an entity changed
	Padding    uint64          // up to the byte
	Unknown    uint64          // after a place that could not be followed
	Components []ComponentBits // by row
}

// ComponentBits is one component's part.
type ComponentBits struct {
	Name    string      // wire name
	Spawn   uint64      // rows of entities that the client does not know
	Whole   uint64      // other rows that travelled whole: absolute, against nothing
	Delta   uint64      // rows that travelled as what differs
	Rows    [3]uint64   // rows, and not bits: by SpawnRows, WholeRows and DeltaRows
	Changed uint64      // of Delta: which fields changed
	Fields  []FieldBits // what of all these is a field's own
}

// The places in ComponentBits.Rows: how many rows travelled in each way.
const (
	SpawnRows = iota
	WholeRows
	DeltaRows
)

// FieldBits is one field's part of its component's bits.
type FieldBits struct {
	Name string // path inside the component
	Bits uint64 // of whole rows and of differences
}

// NewBits returns an empty account.
func (s *Schema) NewBits() *Bits {
	b := &Bits{Components: make([]ComponentBits, s.Rows())}
	for row := range b.Components {
		c := &b.Components[row]
		c.Name = s.plans[row].Name()
		for _, name := range s.plans[row].Fields() {
			c.Fields = append(c.Fields, FieldBits{Name: name})
		}
	}
	return b
}

// Total is the sum of everything.
func (b *Bits) Total() uint64 {
	sum := b.Header + b.List + b.Heads + b.Despawns + b.Changed + b.Padding + b.Unknown
	for i := range b.Components {
		c := &b.Components[i]
		sum += c.Spawn + c.Whole + c.Delta
	}
	return sum
}

// AddBits adds a payload to an account. The replica holds what it leans on: it
// may be asked before or after Read of the payload, and of one that was lost
// on the way as soon as it was written.
func (r *Replica) AddBits(to *Bits, payload []byte) {
	d := dumper{schema: r.schema, past: r, bits: to}
	d.all(payload, r.newest)
}

// account adds what was read since the last call to one of the sums.
func (d *dumper) account(to func(*Bits) *uint64) {
	left := d.b.Remaining()
	if d.bits != nil {
		*to(d.bits) += uint64(d.left - left)
	}
	d.left = left
}

// accountWhole adds a row that travelled whole.
func (d *dumper) accountWhole(row int, spawn bool) {
	if d.bits == nil {
		return
	}
	c := &d.bits.Components[row]
	to, way := &c.Whole, WholeRows
	if spawn {
		to, way = &c.Spawn, SpawnRows
	}
	d.account(func(*Bits) *uint64 { return to })
	c.Rows[way]++
	d.schema.plans[row].EachField(d.lanes, func(field, bits int) { c.Fields[field].Bits += uint64(bits) })
}

// accountDelta adds a row that travelled as what differs.
func (d *dumper) accountDelta(row int, v *quantize.Versions) {
	if d.bits == nil {
		return
	}
	c := &d.bits.Components[row]
	d.account(func(*Bits) *uint64 { return &c.Delta })
	c.Rows[DeltaRows]++
	d.schema.codes.deltas[row].EachField(d.lanes, v, func(field, bits int) {
		if field < 0 {
			c.Changed += uint64(bits)
			return
		}
		c.Fields[field].Bits += uint64(bits)
	})
}

func header(b *Bits) *uint64   { return &b.Header }
func places(b *Bits) *uint64   { return &b.List }
func heads(b *Bits) *uint64    { return &b.Heads }
func despawns(b *Bits) *uint64 { return &b.Despawns }
func padding(b *Bits) *uint64  { return &b.Padding }
func unknown(b *Bits) *uint64  { return &b.Unknown }

// all reads a payload, printing it or adding up its bits.
func (d *dumper) all(payload []byte, near tick.Tick) {
	d.b = wire.NewBitReader(payload)
	d.left = d.b.Remaining()
	d.s = tick.Near(uint16(d.b.Read(16)), near)
	d.printf("   tick %d\n", d.s)
	if d.b.Bool() {
		d.printf("   resynced, epoch %d\n", d.b.Read(16))
	}
	d.account(header)
	end := d.despawns() && d.records()
	switch {
	case d.b.Failed():
		d.printf("   no more: the payload is cut off or not legal\n")
	case end && !d.b.Padded():
		d.printf("   %d bits too many\n", d.b.Remaining())
	}
	rest := unknown
	if end && d.b.Padded() {
		rest = padding
	}
	if d.bits != nil {
		*rest(d.bits) += uint64(d.left)
	}
}

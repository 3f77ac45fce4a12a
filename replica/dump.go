package replica

import (
	"fmt"
	"math/bits"
	"slices"

	"github.com/arche-netcode/netcode/delta"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// dumper prints one payload, or counts its bits. It reads the same as Replica.decode and does not change the replica.
type dumper struct {
	schema  *format.Schema
	unknown format.Mask // rows that the server lacks
	b       wire.BitReader
	dst     []byte
	s       tick.Tick // tick of the payload
	upTo    tick.Tick // U: the newest R that lists may have, or s without lists
	listed  tick.Tick // R while a list is read, else tick.None
	near    tick.Tick // N while a list is read; tick.None: none
	past    Baselines
	lanes   []uint32
	bits    *Bits  // nil: print
	left    int    // remaining bits at the last account
	last    uint32 // index of the last record
}

// Baselines provides the baselines of records.
type Baselines interface {
	// RecordAt returns the rows of the record of an index at a tick, and the tick of that record's baseline, or
	// tick.None.
	RecordAt(index uint32, t tick.Tick) (rows format.Mask, base tick.Tick, ok bool)
	// NewestAt returns the tick of the newest record of an index, up to a tick.
	NewestAt(index uint32, upTo tick.Tick) (t tick.Tick, ok bool)
	// BaseAt returns a row as of t, for a record that is coded against t. It returns false if the row is unknown.
	BaseAt(index uint32, row int, t tick.Tick) ([]uint32, bool)
	// ListAt returns the indexes that have records of a tick, in ascending order.
	ListAt(t tick.Tick) ([]uint32, bool)
	// Window returns the history window W.
	Window() tick.Tick
}

// AppendDump appends a snapshot payload as lines of text: entities, rows and fields by name. Ticks are read as near to
// the given one. past provides the baselines. The dump ends at the first record whose baseline past does not have.
func AppendDump(s *format.Schema, dst, payload []byte, near tick.Tick, past Baselines) []byte {
	d := dumper{schema: s, unknown: s.Older, dst: dst, past: past}
	d.all(payload, near)
	return d.dst
}

// AppendDump is the function AppendDump with the replica's baselines. Call it directly before or after Read of the
// payload.
func (r *Replica) AppendDump(dst, payload []byte) []byte {
	d := dumper{schema: r.schema, unknown: r.unknown, dst: dst, past: r}
	d.all(payload, r.newest)
	return d.dst
}

// RecordAt implements Baselines.
func (r *Replica) RecordAt(index uint32, t tick.Tick) (format.Mask, tick.Tick, bool) {
	base := r.baseline(index, t)
	if base.version == nil {
		return format.Mask{}, tick.None, false
	}
	return base.version.mask, base.version.base(t), true
}

// NewestAt implements Baselines.
func (r *Replica) NewestAt(index uint32, upTo tick.Tick) (tick.Tick, bool) {
	base := r.newestAt(index, upTo)
	return base.tick, base.generation != 0
}

// ListAt implements Baselines.
func (r *Replica) ListAt(t tick.Tick) (list []uint32, ok bool) {
	l, ok := r.history.list(t)
	for i := range l.len() {
		list = append(list, l.at(i).index)
	}
	return list, ok
}

// Window implements Baselines.
func (r *Replica) Window() tick.Tick { return r.window }

// BaseAt implements Baselines. The slice belongs to the Replica.
func (r *Replica) BaseAt(index uint32, row int, t tick.Tick) ([]uint32, bool) {
	if base := r.baseline(index, t); base.generation != 0 {
		return r.baseRow(&base, row)
	}
	return nil, false
}

// LanesAt returns a row of the record of tick t, or nil if the entity lacked the row. It returns false if no record of
// the entity was decoded at t, or if t is about two windows ago or more. The slice belongs to the Replica.
func (r *Replica) LanesAt(index uint32, row int, t tick.Tick) ([]uint32, bool) {
	if t > r.newest || t <= r.history.horizon {
		return nil, false
	}
	base := r.baseline(index, t)
	if base.version == nil {
		return nil, false
	}
	lanes, _ := r.baseRow(&base, row)
	return lanes, true
}

func (d *dumper) printf(format string, args ...any) {
	if d.bits == nil {
		d.dst = fmt.Appendf(d.dst, format, args...)
	}
}

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
	d.account(despawns)
	return !d.b.Failed()
}

func (d *dumper) illegal(what string) bool {
	d.printf("   no legal %s\n", what)
	return false
}

func (d *dumper) records() bool {
	context := 0
	d.upTo = d.s
	if d.b.Bool() {
		context = 1
		if !d.lists() {
			return false
		}
	}
	d.account(header)
	var next uint32
	for {
		gap, odd, end := format.ReadGap(d.schema.Codes.Gap, context, &d.b)
		d.account(places)
		switch {
		case d.b.Failed():
			return false
		case end:
			return true
		case !d.record(next+gap, odd):
			return false
		}
		next = d.last + 1
	}
}

// lists prints the records of entities that had records of earlier ticks.
func (d *dumper) lists() bool {
	d.upTo = d.s - tick.Tick(min(d.b.Var(), 1<<31)) - 1
	for next := uint32(0); d.b.Bool(); {
		back, near, skip := uint64(0), uint64(1), uint64(0)
		if !d.b.Bool() {
			back, near, skip = d.b.Var(), d.b.Var(), d.b.Var()
		}
		d.listed, d.near = d.upTo-tick.Tick(min(back, 1<<31)), tick.None
		if d.b.Failed() || near > format.MaxNear || d.listed <= tick.None {
			return d.illegal("list")
		}
		if near > 0 {
			d.near = d.listed - tick.Tick(near)
		}
		next += uint32(min(skip, format.MaxPages))
		d.printf("   entities of tick %d, from %d on; those of tick %d against that too\n", d.listed, next*format.PageEntities, d.near)
		var list []uint32
		known := false
		if d.past != nil {
			list, known = d.past.ListAt(d.listed)
		}
		if !known {
			d.printf("   records of tick %d, which are not known here\n", d.listed)
			return false
		}
		for len(list) > 0 && list[0] < next*format.PageEntities {
			list = list[1:]
		}
		d.account(header)
		for end := false; !end; {
			var ok bool
			if list, end, ok = d.page(list, &next); !ok {
				return false
			}
		}
	}
	d.listed, d.near = tick.None, tick.None
	return !d.b.Failed()
}

// page prints the records of the first page of a list, and returns the rest of the list.
func (d *dumper) page(list []uint32, next *uint32) (rest []uint32, end, ok bool) {
	all := d.b.Bool()
	some := !all && d.b.Bool()
	end = !all && !some && !d.b.Bool()
	d.account(places)
	switch {
	case d.b.Failed():
		return nil, false, false
	case end:
		return nil, true, true
	case len(list) == 0:
		return nil, false, d.illegal("page")
	}
	n, number := 1, list[0]/format.PageEntities
	for n < len(list) && list[n]/format.PageEntities == number {
		n++
	}
	of := list[:n]
	list, *next = list[n:], number+1
	for i := 0; all && i < len(of); i++ {
		if !d.record(of[i], false) {
			return nil, false, false
		}
	}
	context := format.AfterAll
	for at := 0; some && at < len(of); at += format.NibbleSize {
		symbol := d.schema.Codes.Nibble.Read(&d.b, context)
		d.account(places)
		switch {
		case d.b.Failed():
			return nil, false, false
		case symbol == format.NibbleEnd:
			return list, false, true
		case at+bits.Len(uint(symbol)) > len(of):
			return nil, false, d.illegal("entity")
		}
		for m := symbol; m != 0; m &= m - 1 {
			if !d.record(of[at+bits.TrailingZeros(uint(m))], false) {
				return nil, false, false
			}
		}
		context = format.AfterNibble(symbol)
	}
	return list, false, true
}

// record prints one entity.
func (d *dumper) record(index uint32, odd bool) bool {
	d.last = index
	if odd && !d.b.Bool() {
		generation, ok := readGeneration(&d.b)
		if !ok {
			return d.illegal("generation")
		}
		mask, ok := d.schema.ReadMask(&d.b, d.unknown)
		if !ok {
			return d.illegal("rows")
		}
		d.account(heads)
		return d.run(generation, mask)
	}
	var base tick.Tick
	if odd && !d.b.Bool() {
		if base = d.s - tick.Tick(min(d.b.Var(), 1<<31)) - 1; d.b.Failed() || base <= tick.None {
			return d.illegal("age")
		}
	} else if guess, ok := d.guess(index); ok {
		base = guess
	} else {
		d.printf("   entity at %d, of which nothing is known here\n", index)
		return false
	}
	d.printf("   entity at %d, against tick %d\n", index, base)
	var rows format.Mask
	prior, known := tick.None, false
	if d.past != nil {
		rows, prior, known = d.past.RecordAt(index, base)
	}
	mask := rows
	if odd && !d.b.Bool() {
		var ok bool
		if mask, ok = d.schema.ReadMask(&d.b, d.unknown); !ok {
			return d.illegal("rows")
		}
	}
	if !known { // the rows at that tick decide which rows are coded against it
		d.printf("    rows as at tick %d, which is not known here\n", base)
		return false
	}
	d.account(heads)
	return d.against(index, mask, rows, base, d.before(index, rows, base, prior))
}

// run prints an entity whose rows are whole, and the entities of the run after it.
func (d *dumper) run(generation uint32, mask format.Mask) bool {
	d.printf("   entity %s, whole\n", wire.NetworkID{Index: d.last, Generation: generation})
	if !d.whole(mask, true) {
		return false
	}
	if !d.schema.OnlyFloats(mask) {
		return true
	}
	n := uint64(0)
	if d.b.Bool() {
		if !d.b.Align() {
			return d.illegal("padding")
		}
		if n = d.b.Read(8); n == 0 {
			return d.illegal("run")
		}
	}
	d.account(places)
	for ; n > 0; n-- {
		d.last++
		d.printf("   entity %s, whole too\n", wire.NetworkID{Index: d.last, Generation: generation})
		if !d.whole(mask, true) {
			return false
		}
	}
	return !d.b.Failed()
}

// guess returns T of an implicit record.
func (d *dumper) guess(index uint32) (tick.Tick, bool) {
	if d.listed != tick.None {
		return d.listed, true
	}
	if d.past == nil {
		return tick.None, false
	}
	return d.past.NewestAt(index, d.upTo)
}

// before returns T', or tick.None. T' is N, or without N the tick that the record of T was coded against.
func (d *dumper) before(index uint32, rows format.Mask, base, prior tick.Tick) tick.Tick {
	t := prior
	if d.near != tick.None {
		t = d.near
	}
	if t == tick.None || d.past == nil || d.s-t >= d.past.Window() {
		return tick.None
	}
	if was, _, ok := d.past.RecordAt(index, t); ok && was == rows {
		return t
	}
	return tick.None
}

// whole prints rows that are sent whole.
func (d *dumper) whole(rows format.Mask, spawn bool) bool {
	for ; !rows.IsZero(); rows = rows.Rest() {
		row := rows.Lowest()
		plan := d.schema.Plan(row)
		d.lanes = slices.Grow(d.lanes[:0], plan.Lanes())[:plan.Lanes()]
		if !plan.ReadRow(&d.b, d.lanes) {
			return d.illegal(plan.Name())
		}
		d.accountWhole(row, spawn)
		d.print(plan)
	}
	return !d.b.Failed()
}

// print prints d.lanes.
func (d *dumper) print(plan *quantize.Plan) {
	if d.bits != nil {
		return
	}
	d.printf("    %s ", plan.Name())
	d.dst = append(plan.AppendValues(d.dst, d.lanes), '\n')
}

// against prints the rows of a record: deltas first, then whole rows.
func (d *dumper) against(index uint32, mask, rows format.Mask, base, before tick.Tick) bool {
	told, miss := mask.Minus(rows), 0
	for m := mask.Intersect(rows).Minus(d.schema.Tags); !m.IsZero(); {
		var part [format.SymbolRows]baseRows
		n, moved := 0, uint(0)
		for ; !m.IsZero() && n < format.SymbolRows; n, m = n+1, m.Rest() {
			if part[n].row = m.Lowest(); d.schema.Whole.Has(part[n].row) {
				continue
			}
			if !d.versions(&part[n], index, base, before) {
				return false
			}
			if part[n].before != nil && !slices.Equal(part[n].base, part[n].before) {
				moved |= 1 << n
			}
		}
		changed := uint(d.schema.Codes.Which[n-1].Read(&d.b, delta.WhichContext(n, moved, before != tick.None, int64(d.s-base))))
		d.account(func(b *Bits) *uint64 { return &b.Changed })
		for i := range n {
			switch plan := d.schema.Plan(part[i].row); {
			case changed>>i&1 == 0:
				d.printf("    %s as at tick %d\n", plan.Name(), base)
			case d.schema.Whole.Has(part[i].row):
				told = told.With(part[i].row)
			default:
				v := quantize.Baselines{Base: part[i].base, Before: part[i].before, Age: int64(d.s - base), Span: int64(base - before), Miss: miss}
				asked := v
				d.lanes = slices.Grow(d.lanes[:0], plan.Lanes())[:plan.Lanes()]
				if !d.schema.Codes.Deltas[part[i].row].Read(&d.b, d.lanes, &v) {
					return d.illegal(plan.Name())
				}
				miss = v.Miss
				d.accountDelta(part[i].row, &asked)
				d.print(plan)
			}
		}
	}
	return d.whole(told.Minus(d.schema.Tags), false)
}

// versions finds the baselines of a row.
func (d *dumper) versions(r *baseRows, index uint32, base, before tick.Tick) (ok bool) {
	at := func(t tick.Tick) []uint32 {
		lanes, known := d.past.BaseAt(index, r.row, t)
		ok = ok && known
		return lanes
	}
	if ok = d.past != nil; ok {
		r.base = at(base)
	}
	if ok && before != tick.None {
		r.before = at(before)
	}
	if !ok {
		d.printf("    %s against tick %d, which is not known here\n", d.schema.Plan(r.row).Name(), base)
	}
	return ok
}

// Bits counts the bits of snapshots by purpose. Their sum is the size of the payloads.
type Bits struct {
	Header     uint64          // tick, epoch, and the earlier ticks of lists
	List       uint64          // which entities have records
	Heads      uint64          // heads of explicit records: generation, age, which components
	Despawns   uint64          // the list of despawns with its end
	Changed    uint64          // which components of an entity changed
	Padding    uint64          // padding to a byte
	Unknown    uint64          // bits after the first place that could not be decoded
	Components []ComponentBits // one entry for each row
}

// ComponentBits is the part of one component.
type ComponentBits struct {
	Name    string      // wire name
	Spawn   uint64      // rows of entities that are new at the client
	Whole   uint64      // other rows sent whole
	Delta   uint64      // rows sent as deltas
	Rows    [3]uint64   // number of rows, indexed by SpawnRows, WholeRows and DeltaRows
	Changed uint64      // part of Delta: which fields changed
	Fields  []FieldBits // part of each field
}

// Indexes of ComponentBits.Rows.
const (
	SpawnRows = iota
	WholeRows
	DeltaRows
)

// FieldBits is the part of one field of a component.
type FieldBits struct {
	Name string // path inside the component
	Bits uint64 // bits of whole rows and of deltas
}

// NewBits returns empty counters.
func NewBits(s *format.Schema) *Bits {
	b := &Bits{Components: make([]ComponentBits, s.Rows())}
	for row := range b.Components {
		c := &b.Components[row]
		c.Name = s.Plan(row).Name()
		for _, name := range s.Plan(row).Fields() {
			c.Fields = append(c.Fields, FieldBits{Name: name})
		}
	}
	return b
}

// Total returns the sum of all counters.
func (b *Bits) Total() uint64 {
	sum := b.Header + b.List + b.Heads + b.Despawns + b.Changed + b.Padding + b.Unknown
	for i := range b.Components {
		c := &b.Components[i]
		sum += c.Spawn + c.Whole + c.Delta
	}
	return sum
}

// AddBits adds the bits of a payload to counters. The replica provides the baselines. Call it directly before or after
// Read of the payload, and for a lost payload as soon as it was written.
func (r *Replica) AddBits(to *Bits, payload []byte) {
	d := dumper{schema: r.schema, unknown: r.unknown, past: r, bits: to}
	d.all(payload, r.newest)
}

// AddBits adds the bits of a payload to counters. Its tick is read as near to the given one. past provides the
// baselines: a replica, or View.Baselines of the server for a payload that was just written. All bits after the first
// record whose baseline past does not have are Unknown.
func AddBits(s *format.Schema, to *Bits, payload []byte, near tick.Tick, past Baselines) {
	d := dumper{schema: s, unknown: s.Older, past: past, bits: to}
	d.all(payload, near)
}

// account adds the bits read since the last call to one of the counters.
func (d *dumper) account(to func(*Bits) *uint64) {
	left := d.b.Remaining()
	if d.bits != nil {
		*to(d.bits) += uint64(d.left - left)
	}
	d.left = left
}

// accountWhole adds a row that was sent whole.
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
	d.schema.Plan(row).EachField(d.lanes, func(field, bits int) { c.Fields[field].Bits += uint64(bits) })
}

// accountDelta adds a row that was sent as a delta.
func (d *dumper) accountDelta(row int, v *quantize.Baselines) {
	if d.bits == nil {
		return
	}
	c := &d.bits.Components[row]
	d.account(func(*Bits) *uint64 { return &c.Delta })
	c.Rows[DeltaRows]++
	d.schema.Codes.Deltas[row].EachField(d.lanes, v, func(field, bits int) {
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

// all reads a payload. It prints it or counts its bits.
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

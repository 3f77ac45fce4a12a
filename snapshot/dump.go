package snapshot

import (
	"fmt"
	"math/bits"
	"slices"

	"github.com/arche-netcode/netcode/delta"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// dumper prints one payload, or adds up its bits; it reads what decode reads,
// and changes nothing.
type dumper struct {
	schema *Schema
	b      wire.BitReader
	dst    []byte
	s      tick.Tick // the packet's own
	upTo   tick.Tick // U: the newest R that lists may have, or the packet's own without lists
	listed tick.Tick // R, while a list is read; else tick.None
	near   tick.Tick // N then; tick.None: none
	past   Past
	lanes  []uint32
	bits   *Bits  // nil: it prints
	left   int    // bits that were not accounted for yet
	last   uint32 // index of the last record
}

// Past is what records lean on, as far as it is known.
type Past interface {
	// RecordAt is which rows an index had by the record of a tick, and what that one leant on, tick.None for nothing.
	RecordAt(index uint32, t tick.Tick) (rows Mask, base tick.Tick, ok bool)
	// NewestAt is the tick of the newest record of an index that is not after a tick.
	NewestAt(index uint32, upTo tick.Tick) (t tick.Tick, ok bool)
	// BaseAt is a row as a record that leans on tick t takes it; false when that is not known.
	BaseAt(index uint32, row int, t tick.Tick) ([]uint32, bool)
	// ListAt is the indexes of which there are records of a tick, in ascending order.
	ListAt(t tick.Tick) ([]uint32, bool)
	// Window is W.
	Window() tick.Tick
}

// AppendDump appends what a snapshot payload says, in lines, for people: entities, rows and fields by name. Ticks
// are read as near to the one given. Records lean on what the receiver has: past says it. Without a past, or where it
// does not know either, the dump ends there.
func (s *Schema) AppendDump(dst, payload []byte, near tick.Tick, past Past) []byte {
	d := dumper{schema: s, dst: dst, past: past}
	d.all(payload, near)
	return d.dst
}

// AppendDump is Schema.AppendDump with what the replica knows. It may be asked before or after Read of the payload.
func (r *Replica) AppendDump(dst, payload []byte) []byte {
	return r.schema.AppendDump(dst, payload, r.newest, r)
}

// RecordAt implements Past.
func (r *Replica) RecordAt(index uint32, t tick.Tick) (Mask, tick.Tick, bool) {
	base := r.baseline(index, t)
	if base.version == nil {
		return 0, tick.None, false
	}
	return base.version.mask, base.version.base(), true
}

// NewestAt implements Past.
func (r *Replica) NewestAt(index uint32, upTo tick.Tick) (tick.Tick, bool) {
	base := r.newestAt(index, upTo)
	return base.tick, base.generation != 0
}

// ListAt implements Past.
func (r *Replica) ListAt(t tick.Tick) (list []uint32, ok bool) {
	l, ok := r.history.list(t)
	for i := range l.len() {
		list = append(list, l.at(i).index)
	}
	return list, ok
}

// Window implements Past.
func (r *Replica) Window() tick.Tick { return r.window }

// BaseAt implements Past. The slice is the Replica's own.
func (r *Replica) BaseAt(index uint32, row int, t tick.Tick) ([]uint32, bool) {
	if base := r.baseline(index, t); base.generation != 0 {
		return r.baseRow(&base, row)
	}
	return nil, false
}

// LanesAt is a row as of the record that was decoded at t, nil when the entity lacked it. The slice is the Replica's own.
// Errors, as those of [Store.RowAt]: [ErrNoRow] when row is not one of the schema's, [ErrNotYet] when t is later than the
// newest tick, [ErrEvicted] when t is so long ago that records of it are not kept, some two windows, and [ErrNoRecord]
// when no record of the entity was decoded at t.
func (r *Replica) LanesAt(index uint32, row int, t tick.Tick) ([]uint32, error) {
	switch {
	case uint(row) >= uint(r.schema.Rows()):
		return nil, ErrNoRow
	case t > r.newest:
		return nil, ErrNotYet
	case t <= r.history.horizon:
		return nil, ErrEvicted
	}
	base := r.baseline(index, t)
	if base.version == nil {
		return nil, ErrNoRecord
	}
	lanes, _ := r.baseRow(&base, row)
	return lanes, nil
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
		gap, odd, end := readGap(d.schema.codes.gap, context, &d.b)
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

// lists prints the records about entities of which there were records of earlier ticks.
func (d *dumper) lists() bool {
	d.upTo = d.s - tick.Tick(min(d.b.Var(), 1<<31)) - 1
	for next := uint32(0); d.b.Bool(); {
		back, near, skip := uint64(0), uint64(1), uint64(0)
		if !d.b.Bool() {
			back, near, skip = d.b.Var(), d.b.Var(), d.b.Var()
		}
		d.listed, d.near = d.upTo-tick.Tick(min(back, 1<<31)), tick.None
		if d.b.Failed() || near > mostNear || d.listed <= tick.None {
			return d.illegal("list")
		}
		if near > 0 {
			d.near = d.listed - tick.Tick(near)
		}
		next += uint32(min(skip, maxPages))
		d.printf("   entities of tick %d, from %d on; those of tick %d against that too\n", d.listed, next*pageEntities, d.near)
		var list []uint32
		known := false
		if d.past != nil {
			list, known = d.past.ListAt(d.listed)
		}
		if !known {
			d.printf("   records of tick %d, which are not known here\n", d.listed)
			return false
		}
		for len(list) > 0 && list[0] < next*pageEntities {
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

// page prints the records about the entities of the first page of a list, and returns the rest of the list.
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
	n, number := 1, list[0]/pageEntities
	for n < len(list) && list[n]/pageEntities == number {
		n++
	}
	of := list[:n]
	list, *next = list[n:], number+1
	for i := 0; all && i < len(of); i++ {
		if !d.record(of[i], false) {
			return nil, false, false
		}
	}
	context := afterAll
	for at := 0; some && at < len(of); at += fourSize {
		symbol := d.schema.codes.four.Read(&d.b, context)
		d.account(places)
		switch {
		case d.b.Failed():
			return nil, false, false
		case symbol == fourNone:
			return list, false, true
		case at+bits.Len(uint(symbol)) > len(of):
			return nil, false, d.illegal("entity")
		}
		for m := symbol; m != 0; m &= m - 1 {
			if !d.record(of[at+bits.TrailingZeros(uint(m))], false) {
				return nil, false, false
			}
		}
		context = afterFour(symbol)
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
		mask := Mask(d.b.Read(uint(d.schema.Rows())))
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
	var rows Mask
	prior, known := tick.None, false
	if d.past != nil {
		rows, prior, known = d.past.RecordAt(index, base)
	}
	mask := rows
	if odd && !d.b.Bool() {
		mask = Mask(d.b.Read(uint(d.schema.Rows())))
		if !known {
			rows = mask
		}
	} else if !known {
		d.printf("    rows as at tick %d, which is not known here\n", base)
		return false
	}
	d.account(heads)
	return d.against(index, mask, rows, base, d.before(index, rows, base, prior))
}

// run prints an entity whose rows are whole, and those that follow in a run.
func (d *dumper) run(generation uint32, mask Mask) bool {
	d.printf("   entity %s, whole\n", wire.NetworkID{Index: d.last, Generation: generation})
	if !d.whole(mask, true) {
		return false
	}
	if !d.schema.onlyFloats(mask) {
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

// guess is T of a record that does not say.
func (d *dumper) guess(index uint32) (tick.Tick, bool) {
	if d.listed != tick.None {
		return d.listed, true
	}
	if d.past == nil {
		return tick.None, false
	}
	return d.past.NewestAt(index, d.upTo)
}

// before is T' if there is one: N where that is named, else prior, what the record of T was coded against.
func (d *dumper) before(index uint32, rows Mask, base, prior tick.Tick) tick.Tick {
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

// whole prints rows that travel whole.
func (d *dumper) whole(rows Mask, spawn bool) bool {
	for ; rows != 0; rows &= rows - 1 {
		row := rows.next()
		plan := d.schema.plans[row]
		d.lanes = room(d.lanes[:0], plan.Lanes(), 0)[:plan.Lanes()]
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

// against prints the body of a record and what follows it whole.
func (d *dumper) against(index uint32, mask, rows Mask, base, before tick.Tick) bool {
	told, miss := mask&^rows, 0
	for m := mask & rows &^ d.schema.tags; m != 0; {
		var part [whichRows]rowVersions
		n, moved := 0, uint(0)
		for ; m != 0 && n < whichRows; n, m = n+1, m&(m-1) {
			if part[n].row = m.next(); d.schema.whole.Has(part[n].row) {
				continue
			}
			if !d.versions(&part[n], index, base, before) {
				return false
			}
			if part[n].before != nil && !slices.Equal(part[n].base, part[n].before) {
				moved |= 1 << n
			}
		}
		changed := uint(d.schema.codes.which[n-1].Read(&d.b, delta.WhichContext(n, moved, before != tick.None, int64(d.s-base))))
		d.account(func(b *Bits) *uint64 { return &b.Changed })
		for i := range n {
			switch plan := d.schema.plans[part[i].row]; {
			case changed>>i&1 == 0:
				d.printf("    %s as at tick %d\n", plan.Name(), base)
			case d.schema.whole.Has(part[i].row):
				told = told.With(part[i].row)
			default:
				v := quantize.Versions{Base: part[i].base, Before: part[i].before, Age: int64(d.s - base), Span: int64(base - before), Miss: miss}
				asked := v
				d.lanes = room(d.lanes[:0], plan.Lanes(), 0)[:plan.Lanes()]
				if !d.schema.codes.deltas[part[i].row].Read(&d.b, d.lanes, &v) {
					return d.illegal(plan.Name())
				}
				miss = v.Miss
				d.accountDelta(part[i].row, &asked)
				d.print(plan)
			}
		}
	}
	return d.whole(told&^d.schema.tags, false)
}

// versions finds what a row leans on.
func (d *dumper) versions(r *rowVersions, index uint32, base, before tick.Tick) (ok bool) {
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
		d.printf("    %s against tick %d, which is not known here\n", d.schema.plans[r.row].Name(), base)
	}
	return ok
}

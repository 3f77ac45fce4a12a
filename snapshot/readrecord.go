package snapshot

import (
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// lent is what a record leans on, as this end holds it.
type lent struct {
	base   baseline
	mask   Mask     // rows of T
	before *version // T', nil when it is not leaned on
}

// baseline is the state that a record leans on: the version decoded at T, or
// what remains of the entity's older past.
type baseline struct {
	tick    tick.Tick
	life    int32    // -1: there is none
	place   int32    // of version
	version *version // nil when the record of T itself has left the window
}

// baseline finds the record of T. At most one generation of an index had a
// record at any tick, so index and T name it: among what remains of lives
// whose records have left, the lowest generation that reaches T.
func (r *Replica) baseline(index uint32, t tick.Tick) baseline {
	remains := baseline{tick: t, life: -1, place: -1}
	for n := r.head(index); n >= 0; n = r.lives[n].lower {
		for ref := r.lives[n].newest; ref.tick >= t; {
			v := r.past.at(ref)
			if v == nil {
				break
			}
			if ref.tick == t {
				return baseline{tick: t, life: n, place: ref.place, version: v}
			}
			ref = v.prev
		}
		if r.olds.heads[n].tick >= t {
			remains.life = n
		}
	}
	return remains
}

// row is one row as of T.
func (base *baseline) row(r *Replica, row int) ([]uint32, bool) {
	if base.version == nil {
		return r.olds.row(base.life, row, base.tick)
	}
	if !base.version.mask.Has(row) {
		return nil, false
	}
	return r.past.row(base.version, row), true
}

// decodeRecord stages one entity with all its rows.
func (r *Replica) decodeRecord(b *wire.BitReader, s tick.Tick, index uint32, odd bool) error {
	if odd && !b.Bool() {
		return r.decodeWhole(b, s, index)
	}
	usual := r.stage.age > 0
	if odd {
		before := r.stage.age
		if !r.decodeAge(b, s) {
			return r.malformed()
		}
		usual = r.stage.age == before
	} else if !usual {
		return r.malformed()
	}
	l := &r.stage.leant
	*l = lent{base: r.baseline(index, s-r.stage.age)}
	if l.base.life < 0 {
		return r.noBaseline()
	}
	rec := r.stage.add(s, wire.NetworkID{Index: index, Generation: r.lives[l.base.life].generation})
	rec.version.base, rec.version.basePlace = l.base.tick, l.base.place
	if err := r.decodeMask(b, rec, odd, usual); err != nil {
		return err
	}
	if err := r.findBefore(s); err != nil {
		return err
	}
	return r.decodeRows(b, rec)
}

// add begins a record.
func (s *stage) add(t tick.Tick, id wire.NetworkID) *staged {
	s.records = append(s.records, staged{id: id, version: version{tick: t, basePlace: -1, first: int32(len(s.lanes))}})
	return &s.records[len(s.records)-1]
}

// decodeWhole stages a record that leans on nothing.
func (r *Replica) decodeWhole(b *wire.BitReader, s tick.Tick, index uint32) error {
	generation, ok := readGeneration(b)
	if !ok {
		return r.malformed()
	}
	rec := r.stage.add(s, wire.NetworkID{Index: index, Generation: generation})
	mask := Mask(b.Read(uint(r.schema.Rows())))
	rec.version.mask = mask
	shape := r.shapes.of(mask)
	r.stage.lanes = extended(r.stage.lanes, shape.lanes)
	lanes := r.stage.lanes[rec.version.first:]
	for m := mask &^ r.schema.tags; m != 0; m &= m - 1 {
		row := m.next()
		n := int(r.schema.widths[row])
		if !r.schema.plans[row].ReadRow(b, lanes[:n]) {
			return r.malformed()
		}
		lanes = lanes[n:]
	}
	if b.Failed() {
		return r.malformed()
	}
	return nil
}

// leanAgain leans on the version that a list names, if it is of the life that
// its entity has now. Else the record has to be looked for.
func (r *Replica) leanAgain(t tick.Tick, index uint32, place int32) bool {
	if place < 0 {
		return false
	}
	v := &r.past.block(t).versions[place]
	if r.heads[index] != v.life || r.lives[v.life].generation != v.generation {
		return false
	}
	r.stage.leant = lent{base: baseline{tick: t, life: v.life, place: place, version: v}, mask: v.mask}
	return true
}

// decodeUsual stages a record that has the rows of the version leaned on.
func (r *Replica) decodeUsual(b *wire.BitReader, s tick.Tick, index uint32) error {
	l := &r.stage.leant
	rec := r.stage.add(s, wire.NetworkID{Index: index, Generation: l.base.version.generation})
	rec.version.base, rec.version.basePlace = l.base.tick, l.base.place
	rec.version.mask = l.mask
	if err := r.findBefore(s); err != nil {
		return err
	}
	return r.decodeRows(b, rec)
}

// decodeMask reads which rows a record has. A record that says it is odd and
// is not has another encoding.
func (r *Replica) decodeMask(b *wire.BitReader, rec *staged, odd, usual bool) error {
	l := &r.stage.leant
	if !odd || b.Bool() {
		if odd && usual {
			return r.malformed()
		}
		if l.base.version == nil {
			return r.noBaseline()
		}
		l.mask = l.base.version.mask
		rec.version.mask = l.mask
		return nil
	}
	rec.version.mask = Mask(b.Read(uint(r.schema.Rows())))
	l.mask = rec.version.mask // T has left the window: the server holds that they are the same
	if l.base.version != nil {
		l.mask = l.base.version.mask
	}
	return nil
}

// findBefore finds T', the tick that T's own record leant on, where that is to
// be leaned on too (rule 3).
func (r *Replica) findBefore(s tick.Tick) error {
	l := &r.stage.leant
	v := l.base.version
	if v == nil || v.base == tick.None || s-v.base >= r.window {
		return nil
	}
	if v.basePlace < 0 {
		return r.noBaseline()
	}
	w := r.past.at(versionRef{tick: v.base, place: v.basePlace})
	if w == nil || w.life != v.life {
		return r.noBaseline()
	}
	if w.mask == v.mask {
		l.before = w
	}
	return nil
}

// decodeAge reads how far back the baseline lies, and refuses ticks that
// never were.
func (r *Replica) decodeAge(b *wire.BitReader, s tick.Tick) bool {
	if !b.Bool() {
		age := b.Var()
		if b.Failed() || age >= uint64(s) {
			return false
		}
		if tick.Tick(age)+1 == r.stage.age {
			return false // one legal encoding
		}
		r.stage.age = tick.Tick(age) + 1
	}
	return r.stage.age > 0 && r.stage.age < s
}

// decodeRows stages the rows of a record's mask: those of T as its body says,
// the others whole.
func (r *Replica) decodeRows(b *wire.BitReader, rec *staged) error {
	mask, l := rec.version.mask, &r.stage.leant
	shape := r.shapes.of(mask)
	r.stage.lanes = extended(r.stage.lanes, shape.lanes)
	lanes := r.stage.lanes[rec.version.first:]
	told, err := r.decodeBody(b, rec, lanes)
	if err != nil {
		return err
	}
	for whole := mask&^r.schema.tags&^l.mask | told; whole != 0; whole &= whole - 1 {
		row := whole.next()
		if !r.schema.plans[row].ReadRow(b, r.shapes.of(mask).row(lanes, row)) {
			return r.malformed()
		}
	}
	if b.Failed() {
		return r.malformed()
	}
	return nil
}

// decodeBody stages the rows that were there at T, and returns those that
// follow whole.
func (r *Replica) decodeBody(b *wire.BitReader, rec *staged, lanes []uint32) (told Mask, err error) {
	l := &r.stage.leant
	v := wire.Versions{Age: int64(rec.version.tick - l.base.tick)}
	if l.before != nil {
		v.Span = int64(l.base.tick - l.before.tick)
	}
	for rows := rec.version.mask & l.mask &^ r.schema.tags; rows != 0; {
		part, n, moved := rows, 0, uint(0)
		for ; rows != 0 && n < whichRows; n, rows = n+1, rows&(rows-1) {
			if l.before != nil && l.base.version.moved.Has(rows.next()) {
				moved |= 1 << n
			}
		}
		changed := uint(r.schema.codes.which[n-1].Read(b, wire.WhichContext(n, moved, l.before != nil, v.Age)))
		for ; n > 0; n, part, changed = n-1, part&(part-1), changed>>1 {
			row := part.next()
			if changed&1 != 0 && r.schema.whole.Has(row) {
				told = told.With(row)
				continue
			}
			if err := r.decodeRow(b, rec, row, changed&1 != 0, lanes, &v); err != nil {
				return 0, err
			}
		}
	}
	return told, nil
}

// decodeRow stages a row as it was at T, or as what differs.
func (r *Replica) decodeRow(b *wire.BitReader, rec *staged, row int, changed bool, lanes []uint32, v *wire.Versions) error {
	l := &r.stage.leant
	base, ok := l.base.row(r, row)
	if !ok {
		return r.noBaseline()
	}
	lanes = r.shapes.of(rec.version.mask).row(lanes, row)
	if !changed {
		copy(lanes, base)
		return nil
	}
	v.Base = base
	if l.before != nil {
		v.Before = r.past.row(l.before, row)
	}
	if !r.schema.codes.deltas[row].Read(b, lanes, v) {
		return r.malformed()
	}
	rec.version.moved |= bit(row)
	return nil
}

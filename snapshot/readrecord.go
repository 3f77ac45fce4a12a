package snapshot

import (
	"slices"

	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// lent is what a record leans on, as this end holds it.
type lent struct {
	base   baseline
	mask   Mask     // rows of T
	before *version // T', nil when it is not leaned on
}

// decodeRecord stages one entity with all its rows.
func (r *Replica) decodeRecord(b *wire.BitReader, s tick.Tick, index uint32, odd bool) error {
	rec := staged{version: version{tick: s, first: len(r.stage.lanes)}}
	if odd && !b.Bool() {
		generation, ok := readGeneration(b)
		if !ok {
			return r.malformed()
		}
		rec.id = wire.NetworkID{Index: index, Generation: generation}
		rec.version.mask = Mask(b.Read(uint(r.schema.Rows())))
		r.stage.leant = lent{}
		return r.decodeRows(b, rec)
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
	if l.base.life == nil {
		return r.noBaseline()
	}
	rec.id = wire.NetworkID{Index: index, Generation: l.base.life.generation}
	rec.version.base = l.base.tick
	if err := r.decodeMask(b, &rec, odd, usual); err != nil {
		return err
	}
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
	for w := r.past.at(v.prev); w != nil && w.tick >= v.base; w = r.past.at(w.prev) {
		if w.tick == v.base {
			if w.mask == v.mask {
				l.before = w
			}
			return nil
		}
	}
	return r.noBaseline()
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

// decodeRows stages the rows of rec.version.mask: those of T as its body says,
// the others whole.
func (r *Replica) decodeRows(b *wire.BitReader, rec staged) error {
	mask, l := rec.version.mask, &r.stage.leant
	r.stage.lanes = extended(r.stage.lanes, r.schema.lanes(mask))
	whole := mask &^ r.schema.tags
	if l.base.life != nil {
		told, err := r.decodeBody(b, &rec)
		if err != nil {
			return err
		}
		whole = whole&^l.mask | told
	}
	for ; whole != 0; whole &= whole - 1 {
		row := whole.next()
		if !r.schema.plans[row].ReadRow(b, r.stageRow(&rec, row)) {
			return r.malformed()
		}
	}
	if b.Failed() {
		return r.malformed()
	}
	if r.guard != nil && !r.guard(rec.id, mask) {
		r.stats.Guarded++
		return ErrGuarded
	}
	r.stage.records = append(r.stage.records, rec)
	return nil
}

// decodeBody stages the rows that were there at T, and returns those that
// follow whole.
func (r *Replica) decodeBody(b *wire.BitReader, rec *staged) (told Mask, err error) {
	l := &r.stage.leant
	age := int64(rec.version.tick - l.base.tick)
	for rows := rec.version.mask & l.mask &^ r.schema.tags; rows != 0; {
		var part [whichRows]int
		n, moved := 0, uint(0)
		for ; rows != 0 && n < whichRows; n, rows = n+1, rows&(rows-1) {
			part[n] = rows.next()
			if l.before != nil && !r.schema.whole.Has(part[n]) && !slices.Equal(r.past.row(l.base.version, part[n]), r.past.row(l.before, part[n])) {
				moved |= 1 << n
			}
		}
		changed := uint(r.schema.codes.which[n-1].Read(b, wire.WhichContext(n, moved, l.before != nil, age)))
		for i, row := range part[:n] {
			if changed>>i&1 != 0 && r.schema.whole.Has(row) {
				told = told.With(row)
				continue
			}
			if err := r.decodeRow(b, rec, row, changed>>i&1 != 0, age); err != nil {
				return 0, err
			}
		}
	}
	return told, nil
}

// decodeRow stages a row as it was at T, or as what differs.
func (r *Replica) decodeRow(b *wire.BitReader, rec *staged, row int, changed bool, age int64) error {
	l := &r.stage.leant
	before, ok := l.base.row(r, row)
	if !ok {
		return r.noBaseline()
	}
	lanes := r.stageRow(rec, row)
	if !changed {
		copy(lanes, before)
		return nil
	}
	v := wire.Versions{Base: before, Age: age}
	if l.before != nil {
		v.Before, v.Span = r.past.row(l.before, row), int64(l.base.tick-l.before.tick)
	}
	if !r.schema.codes.deltas[row].Read(b, lanes, &v) {
		return r.malformed()
	}
	return nil
}

// stageRow is the place of a row of a record.
func (r *Replica) stageRow(rec *staged, row int) []uint32 {
	at := rec.version.first + r.schema.lanes(rec.version.mask&(bit(row)-1))
	return r.stage.lanes[at : at+r.schema.plans[row].Lanes()]
}

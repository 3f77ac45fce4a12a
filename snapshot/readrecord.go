package snapshot

import (
	"slices"

	"github.com/arche-netcode/netcode/delta"
	"github.com/arche-netcode/netcode/quantize"
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
	after   *version // then, where nothing remained of that one: the one that followed
}

// baseline finds the record of T. At most one generation of an index had a
// record at any tick, so index and T name it: among what remains of lives
// whose records have left, the lowest generation that reaches T.
func (r *Replica) baseline(index uint32, t tick.Tick) baseline {
	remains := baseline{tick: t, life: -1, place: -1}
	for n := r.head(index); n >= 0; n = r.lives[n].lower {
		var after *version
		ref := r.lives[n].newest
		for ref.tick >= t {
			v := r.past.at(ref)
			if v == nil {
				break
			}
			if ref.tick == t {
				return baseline{tick: t, life: n, place: ref.place, version: v}
			}
			after, ref = v, v.prev
		}
		switch {
		case r.olds.heads[n].tick >= t:
			remains.life, remains.after = n, nil
		case after != nil && ref.tick >= t: // it has left, and was followed
			remains.life, remains.after = n, after
		}
	}
	return remains
}

// newestAt is the newest record of an index up to a tick, or what remains of
// it. One from before Lose says nothing: there may have been a newer one.
func (r *Replica) newestAt(index uint32, upTo tick.Tick) baseline {
	for n := r.head(index); n >= 0; n = r.lives[n].lower {
		ref := r.lives[n].newest
		for v := r.past.at(ref); v != nil; v = r.past.at(ref) {
			if ref.tick <= upTo && ref.tick > r.lostAt {
				return baseline{tick: ref.tick, life: n, place: ref.place, version: v}
			}
			ref = v.prev
		}
		if t := r.olds.heads[n].tick; t != tick.None && t > r.lostAt {
			return baseline{tick: t, life: n, place: -1}
		}
	}
	return baseline{life: -1}
}

// row is one row as of T.
func (base *baseline) row(r *Replica, row int) ([]uint32, bool) {
	v := base.version
	if v == nil {
		v = base.after
	}
	switch {
	case v == nil:
		return r.olds.row(base.life, row, base.tick)
	case !v.mask.Has(row):
		return nil, false
	}
	return r.past.row(v, row), true
}

// decodeRecord stages one entity that leans on something, with all its rows.
func (r *Replica) decodeRecord(b *wire.BitReader, s tick.Tick, index uint32, odd bool) error {
	l := &r.stage.leant
	*l = lent{}
	usual := !odd || b.Bool()
	if usual {
		l.base = r.newestAt(index, r.stage.upTo)
	} else {
		age := b.Var()
		if b.Failed() || age+1 >= uint64(s) {
			return r.malformed()
		}
		l.base = r.baseline(index, s-tick.Tick(age)-1)
	}
	if l.base.life < 0 {
		return r.noBaseline()
	}
	v := r.stage.add(s, index, r.lives[l.base.life].generation)
	v.base, v.basePlace = l.base.tick, l.base.place
	if err := r.decodeMask(b, v, odd, usual); err != nil {
		return err
	}
	if err := r.findBefore(s); err != nil {
		return err
	}
	return r.decodeRows(b, v)
}

// add begins a record. Its fields are written one by one: a version that is
// put together elsewhere and copied costs several times as much.
func (s *stage) add(t tick.Tick, index, generation uint32) *version {
	s.indexes = append(s.indexes, index)
	n := len(s.versions)
	if n == cap(s.versions) {
		s.moreVersions(1)
	} else {
		s.versions = s.versions[:n+1]
	}
	v := &s.versions[n]
	v.tick, v.generation, v.first = t, generation, int32(len(s.lanes))
	v.base, v.basePlace = tick.None, -1
	return v
}

// decodeWhole stages a record that leans on nothing, and those that follow it in
// a run. It returns how many these are.
func (r *Replica) decodeWhole(b *wire.BitReader, s tick.Tick, index uint32) (more uint32, err error) {
	generation, ok := readGeneration(b)
	if !ok {
		return 0, r.malformed()
	}
	mask := Mask(b.Read(uint(r.schema.Rows())))
	shape, first := r.shapes.of(mask), len(r.stage.lanes)
	r.stage.extend(shape.lanes)
	lanes := r.stage.lanes[first:]
	if shape.floats && !wire.ReadFloats(b, lanes) {
		return 0, r.malformed()
	}
	if shape.floats && b.Bool() {
		return r.decodeRun(b, s, run{index: index, generation: generation, mask: mask, first: first, width: shape.lanes})
	}
	v := r.stage.add(s, index, generation)
	if v.mask, v.first = mask, int32(first); shape.floats {
		return 0, nil
	}
	for m := v.mask &^ r.schema.tags; m != 0; m &= m - 1 {
		row := m.next()
		n := r.schema.widths[row]
		if !r.schema.plans[row].ReadRow(b, lanes[:n]) {
			return 0, r.malformed()
		}
		lanes = lanes[n:]
	}
	if b.Failed() {
		return 0, r.malformed()
	}
	return 0, nil
}

// leanAgain leans on the version that a list names, if it is of the life that
// its entity has now. Else the record has to be looked for.
func (r *Replica) leanAgain(t tick.Tick, index uint32, place int32) bool {
	if place < 0 {
		return false
	}
	v := r.past.at(versionRef{tick: t, place: place})
	if v == nil || r.heads[index] != v.life || r.lives[v.life].generation != v.generation {
		return false
	}
	l := &r.stage.leant
	l.base.tick, l.base.life, l.base.place, l.base.version = t, v.life, place, v
	l.mask, l.before = v.mask, nil
	return true
}

// decodeMask reads which rows a record has. A record that says it is odd and
// is not has another encoding.
func (r *Replica) decodeMask(b *wire.BitReader, v *version, odd, usual bool) error {
	l := &r.stage.leant
	if !odd || b.Bool() {
		if odd && usual {
			return r.malformed()
		}
		if l.base.version == nil {
			return r.noBaseline()
		}
		l.mask = l.base.version.mask
		v.mask = l.mask
		return nil
	}
	v.mask = Mask(b.Read(uint(r.schema.Rows())))
	l.mask = v.mask // T has left the window: the server holds that they are the same
	if l.base.version != nil {
		l.mask = l.base.version.mask
	}
	return nil
}

// findBefore finds T', the record that T's own record was coded against, where that is a baseline too (rule 3).
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

// moves is which rows differ between T' and T.
func (l *lent) moves(r *Replica, a *against) (moves Mask) {
	v := l.base.version
	shape, base := r.shapes.of(v.mask), r.past.lanes(v)
	for rows := v.mask &^ r.schema.tags &^ r.schema.whole; rows != 0; rows &= rows - 1 {
		row := rows.next()
		if !slices.Equal(shape.row(base, row), shape.row(a.before, row)) {
			moves |= bit(row)
		}
	}
	return moves
}

// decodeRows stages the rows of a version's mask: those of T as its body says,
// the others whole.
func (r *Replica) decodeRows(b *wire.BitReader, v *version) error {
	l := &r.stage.leant
	shape := r.shapes.of(v.mask)
	r.stage.extend(shape.lanes)
	lanes := r.stage.lanes[v.first:]
	told, err := r.decodeBody(b, v, lanes)
	if err != nil {
		return err
	}
	for whole := v.mask&^r.schema.tags&^l.mask | told; whole != 0; whole &= whole - 1 {
		row := whole.next()
		if !r.schema.plans[row].ReadRow(b, r.shapes.of(v.mask).row(lanes, row)) {
			return r.malformed()
		}
	}
	if b.Failed() {
		return r.malformed()
	}
	return nil
}

// against is the lanes that the body of a record is read against.
type against struct {
	versions quantize.Versions
	direct   bool // the record has the rows of T, and T its own version
	base     []uint32
	before   []uint32
}

// lean finds the lanes of what a version leans on.
func (r *Replica) lean(v *version) (a against) {
	l := &r.stage.leant
	a.versions.Age = int64(v.tick - l.base.tick)
	if l.before != nil {
		a.versions.Span = int64(l.base.tick - l.before.tick)
		a.before = r.past.lanes(l.before)
	}
	if l.base.version != nil {
		a.base = r.past.lanes(l.base.version)
		a.direct = l.base.version.mask == v.mask
	}
	return a
}

// decodeBody stages the rows that were there at T, and returns those that
// follow whole.
func (r *Replica) decodeBody(b *wire.BitReader, v *version, lanes []uint32) (told Mask, err error) {
	a, moves, known := r.lean(v), Mask(0), r.stage.leant.before != nil
	if known {
		moves = r.stage.leant.moves(r, &a)
	}
	for rows := v.mask & r.stage.leant.mask &^ r.schema.tags; rows != 0; {
		part, n, moved := rows, 0, uint(0)
		for ; rows != 0 && n < whichRows; n, rows = n+1, rows&(rows-1) {
			moved |= uint(moves>>rows.next()&1) << n
		}
		changed := uint(r.schema.codes.which[n-1].Read(b, delta.WhichContext(n, moved, known, a.versions.Age)))
		for ; n > 0; n, part, changed = n-1, part&(part-1), changed>>1 {
			row := part.next()
			if changed&1 != 0 && r.schema.whole.Has(row) {
				told = told.With(row)
				continue
			}
			if err := r.decodeRow(b, v, row, changed&1 != 0, lanes, &a); err != nil {
				return 0, err
			}
		}
	}
	return told, nil
}

// decodeRow stages a row as it was at T, or as what differs.
func (r *Replica) decodeRow(b *wire.BitReader, v *version, row int, changed bool, lanes []uint32, a *against) error {
	l := &r.stage.leant
	base, shape := a.base, r.shapes.of(v.mask)
	from, width := shape.at[row], shape.width[row]
	lanes = lanes[from : from+width]
	if a.direct {
		base = base[from : from+width]
	} else {
		var ok bool
		if base, ok = l.base.row(r, row); !ok {
			return r.noBaseline()
		}
	}
	if !changed {
		copy(lanes, base)
		return nil
	}
	a.versions.Base = base
	switch {
	case l.before == nil:
	case a.direct: // T' has the rows of T
		a.versions.Before = a.before[from : from+width]
	default:
		a.versions.Before = r.past.row(l.before, row)
	}
	if !r.schema.codes.deltas[row].Read(b, lanes, &a.versions) {
		return r.malformed()
	}
	return nil
}

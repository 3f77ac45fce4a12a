package snapshot

import (
	"slices"

	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// staged is one record of a payload that is being decoded. Nothing of a
// payload takes effect before all of it has been decoded.
type staged struct {
	id      wire.NetworkID
	version version // first counts in stage.lanes
}

// stage is reused from payload to payload.
type stage struct {
	epoch    uint16
	despawns []wire.NetworkID
	records  []staged
	lanes    []uint32
	age      tick.Tick
}

// Read decodes one snapshot payload, whole or not at all. The packet that
// carried it may be acknowledged only if the error is nil. Errors:
// [ErrStale], [ErrBaseline], [ErrMalformed].
func (r *Replica) Read(payload []byte) error {
	b := wire.NewBitReader(payload)
	s := tick.Near(uint16(b.Read(16)), r.newest)
	switch {
	case b.Failed() || s <= tick.None:
		return r.malformed()
	case s <= r.newest-r.window:
		r.stats.Stale++
		return ErrStale
	}
	r.stage.reset()
	if err := r.decode(&b, s); err != nil {
		return err
	}
	r.commit(s)
	return nil
}

func (s *stage) reset() {
	s.epoch, s.age = 0, 0
	s.despawns, s.records, s.lanes = s.despawns[:0], s.records[:0], s.lanes[:0]
}

func (r *Replica) malformed() error {
	r.stats.Malformed++
	return ErrMalformed
}

// noBaseline asks for a resync, unless one that covers this packet is already
// on its way.
func (r *Replica) noBaseline() error {
	r.stats.NoBaseline++
	if int16(r.stage.epoch-r.wanted) >= 0 {
		r.ask()
	}
	return ErrBaseline
}

// decode reads everything after the tick into the stage.
func (r *Replica) decode(b *wire.BitReader, s tick.Tick) error {
	if b.Bool() {
		r.stage.epoch = uint16(b.Read(16))
		if r.stage.epoch == 0 || int16(r.stage.epoch-r.wanted) > 0 {
			return r.malformed() // served, but never asked for
		}
	}
	if !r.decodeDespawns(b) {
		return r.malformed()
	}
	var last uint32
	for b.Bool() {
		index, ok := readIndex(b, &last)
		if !ok {
			return r.malformed()
		}
		if err := r.decodeRecord(b, s, index); err != nil {
			return err
		}
	}
	if !b.Done() {
		return r.malformed()
	}
	return nil
}

// readIndex reads a gap.
func readIndex(b *wire.BitReader, last *uint32) (index uint32, ok bool) {
	gap := b.Var()
	index = *last + uint32(gap)
	*last = index + 1
	return index, !b.Failed() && gap <= 1<<32-1 && index < MaxEntities
}

// readGeneration reads a generation, which is never zero.
func readGeneration(b *wire.BitReader) (generation uint32, ok bool) {
	g := b.Var()
	return uint32(g), !b.Failed() && g != 0 && g <= 1<<32-1
}

func (r *Replica) decodeDespawns(b *wire.BitReader) bool {
	var last uint32
	for b.Bool() {
		index, ok := readIndex(b, &last)
		generation, legal := readGeneration(b)
		if !ok || !legal {
			return false
		}
		r.stage.despawns = append(r.stage.despawns, wire.NetworkID{Index: index, Generation: generation})
	}
	return !b.Failed()
}

// decodeRecord stages one entity with all its rows.
func (r *Replica) decodeRecord(b *wire.BitReader, s tick.Tick, index uint32) error {
	rec := staged{version: version{tick: s, first: len(r.stage.lanes)}}
	if !b.Bool() {
		generation, ok := readGeneration(b)
		if !ok {
			return r.malformed()
		}
		rec.id = wire.NetworkID{Index: index, Generation: generation}
		rec.version.mask = Mask(b.Read(uint(r.schema.Rows())))
		return r.decodeRows(b, rec, nil)
	}
	if !r.decodeAge(b, s) {
		return r.malformed()
	}
	base := r.baseline(index, s-r.stage.age)
	if base.life == nil {
		return r.noBaseline()
	}
	rec.id = wire.NetworkID{Index: index, Generation: base.life.generation}
	rec.version.base = base.tick
	if b.Bool() {
		if base.version == nil {
			return r.noBaseline()
		}
		rec.version.mask = base.version.mask
	} else {
		rec.version.mask = Mask(b.Read(uint(r.schema.Rows())))
	}
	return r.decodeRows(b, rec, &base)
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

// decodeRows stages the rows of rec.version.mask: whole, or against the baseline.
func (r *Replica) decodeRows(b *wire.BitReader, rec staged, base *baseline) error {
	for m := rec.version.mask; m != 0; m &= m - 1 {
		row := m.next()
		var err error
		switch {
		case base == nil:
			err = r.decodeWhole(b, row)
		case !b.Bool() && !b.Failed():
			err = r.decodeSame(base, row)
		case !b.Bool():
			err = r.decodeWhole(b, row)
		default:
			err = r.decodeDelta(b, base, row)
		}
		if err != nil {
			return err
		}
	}
	if b.Failed() {
		return r.malformed()
	}
	r.stage.records = append(r.stage.records, rec)
	return nil
}

// decodeWhole stages an absolute row.
func (r *Replica) decodeWhole(b *wire.BitReader, row int) error {
	if !r.schema.plans[row].ReadRow(b, r.stageRow(row)) {
		return r.malformed()
	}
	return nil
}

// decodeSame stages a row as it was at the baseline.
func (r *Replica) decodeSame(base *baseline, row int) error {
	before, ok := base.row(r, row)
	if !ok {
		return r.noBaseline()
	}
	r.stage.lanes = append(r.stage.lanes, before...)
	return nil
}

// decodeDelta stages a row as what differs from the baseline, which is
// something, and is not for rows that name entities.
func (r *Replica) decodeDelta(b *wire.BitReader, base *baseline, row int) error {
	if r.schema.refs.Has(row) {
		return r.malformed()
	}
	before, ok := base.row(r, row)
	if !ok {
		return r.noBaseline()
	}
	lanes := r.stageRow(row)
	if !r.schema.plans[row].ReadNext(b, before, lanes) || slices.Equal(before, lanes) {
		return r.malformed()
	}
	return nil
}

// stageRow makes room for a row.
func (r *Replica) stageRow(row int) []uint32 {
	at, n := len(r.stage.lanes), r.schema.plans[row].Lanes()
	r.stage.lanes = extended(r.stage.lanes, n)
	return r.stage.lanes[at : at+n]
}

// extended returns s with n more elements, of any content.
func extended(s []uint32, n int) []uint32 {
	if len(s)+n <= cap(s) {
		return s[:len(s)+n]
	}
	return append(s, make([]uint32, n)...)
}

// baseline is the state that a record leans on: the version decoded at T, or
// what remains of the entity's older past.
type baseline struct {
	tick    tick.Tick
	life    *life
	version *version // nil when the record of T itself has left the window
}

// baseline finds the record of T. At most one generation of an index had a
// record at any tick, so index and T name it: among what remains of lives
// whose records have left, the lowest generation that reaches T.
func (r *Replica) baseline(index uint32, t tick.Tick) baseline {
	remains := baseline{tick: t}
	for n := r.head(index); n >= 0; n = r.lives[n].lower {
		l := &r.lives[n]
		for v := r.past.at(l.newest); v != nil && v.tick >= t; v = r.past.at(v.prev) {
			if v.tick == t {
				return baseline{tick: t, life: l, version: v}
			}
		}
		if l.old.tick >= t {
			remains.life = l
		}
	}
	return remains
}

// row is one row as of T.
func (base *baseline) row(r *Replica, row int) ([]uint32, bool) {
	if base.version == nil {
		return base.life.old.row(r.schema, row, base.tick)
	}
	if !base.version.mask.Has(row) {
		return nil, false
	}
	return r.past.row(base.version, row), true
}

// commit makes a decoded payload take effect.
func (r *Replica) commit(s tick.Tick) {
	r.stats.Snapshots++
	if int16(r.stage.epoch-r.epoch) > 0 {
		r.epoch = r.stage.epoch
	}
	if s > r.newest {
		r.newest = s
		r.past.advance(s, r.leave)
		r.forget()
	}
	for _, id := range r.stage.despawns {
		r.despawn(id, s)
	}
	for i := range r.stage.records {
		r.record(&r.stage.records[i])
	}
}

// leave keeps the newest version that has left the window.
func (r *Replica) leave(v *version) { r.lives[v.life].old.take(&r.past, v) }

// despawn ends the life of id and of every generation below it.
func (r *Replica) despawn(id wire.NetworkID, s tick.Tick) {
	r.stats.Despawns++
	n := r.ensure(id.Index, id.Generation)
	l := &r.lives[n]
	if s <= l.applied {
		r.stats.Late++
		return
	}
	l.applied = s
	r.bury(n)
}

// record enters a version into the past, and into the world if it is newer
// than what is there (rule 6).
func (r *Replica) record(rec *staged) {
	r.stats.Records++
	n := r.ensure(rec.id.Index, rec.id.Generation)
	l := &r.lives[n]
	lanes := r.stage.lanes[rec.version.first:]
	lanes = lanes[:r.schema.lanes(rec.version.mask)]
	r.remember(n, rec.version, lanes)
	if r.heads[l.index] != n || rec.version.tick <= l.applied {
		r.stats.Late++
		return
	}
	l.applied = rec.version.tick
	if l.gone {
		l.gone = false
		r.living++
	}
	r.rows.masks[l.index] = rec.version.mask
	for m := rec.version.mask; m != 0; m &= m - 1 {
		row := m.next()
		k := r.schema.plans[row].Lanes()
		copy(r.rows.row(l.index, row), lanes[:k])
		lanes = lanes[k:]
	}
	r.touch(l.index)
}

// remember links a version into its life's past, newest tick first.
func (r *Replica) remember(n int32, v version, lanes []uint32) {
	l := &r.lives[n]
	var after *version
	ref := l.newest
	for {
		before := r.past.at(ref)
		if before == nil || before.tick < v.tick {
			break
		}
		if before.tick == v.tick {
			return // an entity has one record a tick
		}
		after, ref = before, before.prev
	}
	v.life, v.prev = n, ref
	if after == nil {
		l.newest = r.past.add(v, lanes)
		return
	}
	after.prev = r.past.add(v, lanes) // after is of another tick, so of another block
}

package snapshot

import (
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
	part     int
	leant    lent
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
	s.epoch, s.age, s.part = 0, 0, 0
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
	part := b.Var()
	if part >= maxParts {
		return r.malformed()
	}
	r.stage.part = int(part)
	if !r.decodeDespawns(b) {
		return r.malformed()
	}
	context := 0
	if b.Bool() {
		if err := r.decodeAgain(b, s); err != nil {
			return err
		}
		context = 1
	}
	if err := r.decodeOthers(b, s, context); err != nil {
		return err
	}
	if !b.Done() {
		return r.malformed()
	}
	return nil
}

// maxParts is how many payloads a tick may have.
const maxParts = 1 << 14

// decodeAgain reads the records about entities of an earlier payload.
func (r *Replica) decodeAgain(b *wire.BitReader, s tick.Tick) error {
	age, part := b.Var(), b.Var()
	if b.Failed() || age >= uint64(s) || part >= maxParts {
		return r.malformed()
	}
	r.stage.age = tick.Tick(age) + 1
	list, ok := r.past.list(s-r.stage.age, int(part))
	if !ok {
		return r.noBaseline()
	}
	for at, odd := 0, false; ; {
		symbol := r.schema.codes.next.Read(b, 0)
		switch {
		case b.Failed():
			return r.malformed()
		case symbol == nextNone:
			if odd {
				return r.malformed()
			}
			return nil
		case symbol == nextOdd:
			if odd {
				return r.malformed()
			}
			odd = true
			continue
		case symbol == nextSkip:
			at += nextMost + 1
			continue
		}
		if at += symbol; at >= len(list) {
			return r.malformed()
		}
		if err := r.decodeRecord(b, s, list[at], odd); err != nil {
			return err
		}
		at, odd = at+1, false
	}
}

// decodeOthers reads the records about any other entities.
func (r *Replica) decodeOthers(b *wire.BitReader, s tick.Tick, context int) error {
	var next uint32
	for {
		gap, odd, end := readGap(r.schema.codes.gap, context, b)
		if b.Failed() {
			return r.malformed()
		}
		if end {
			return nil
		}
		index := next + gap
		next = index + 1
		if index >= MaxEntities {
			return r.malformed()
		}
		if err := r.decodeRecord(b, s, index, odd); err != nil {
			return err
		}
	}
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
		if r.guard != nil && r.find(index, generation) < 0 {
			continue // What was never heard of takes no memory.
		}
		r.stage.despawns = append(r.stage.despawns, wire.NetworkID{Index: index, Generation: generation})
	}
	return !b.Failed()
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
	r.past.open(s, r.stage.part)
	for i := range r.stage.records {
		r.past.note(s, r.stage.records[i].id.Index)
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
	l.ended = s
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

package snapshot

import (
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// stage is what a payload says that is being decoded. Nothing of it takes effect
// before all of it has been decoded. It is reused from payload to payload. Its
// versions and lanes lie where they stay when the payload counts: behind those
// of the block that begin gave.
type stage struct {
	payload  []byte // that is being read
	epoch    uint16
	despawns []wire.NetworkID
	indexes  []uint32 // of each record that is not in a run
	versions []version
	from     int // how many of them the block had already
	lanes    []uint32
	runs     []run
	block    *block
	upTo     tick.Tick // U: the newest R that lists may have, or S without lists
	leant    lent
	batch    readBatch
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
	r.stage.reset(r.past.begin(s))
	r.stage.payload = payload
	err := r.decode(&b, s)
	r.stage.payload = nil
	r.stage.back()
	if err == nil {
		err = r.allowed()
	}
	if err == nil && r.numbers.used+r.stage.most() > mostLivesEach*int(r.most) {
		err = r.fits()
	}
	if err != nil {
		return err
	}
	r.commit(s)
	return nil
}

// allowed asks the guard about every record of the stage.
func (r *Replica) allowed() error {
	if r.guard == nil {
		return nil
	}
	fresh := r.stage.versions[r.stage.from:]
	for i, index := range r.stage.indexes {
		v := &fresh[i]
		if !r.guard(wire.NetworkID{Index: index, Generation: v.generation}, v.mask) {
			r.stats.Guarded++
			return ErrGuarded
		}
	}
	return nil
}

func (s *stage) reset(b *block) {
	s.epoch = 0
	s.block, s.lanes, s.versions, s.from = b, b.lanes, b.versions, len(b.versions)
	s.despawns, s.indexes, s.runs = s.despawns[:0], s.indexes[:0], s.runs[:0]
}

// back gives the block its memory back, which may have moved, having grown.
func (s *stage) back() {
	begun, m := s.block, s.block.memory
	begun.lanes = moved(&m.lanes, begun.lanes, s.lanes[:len(begun.lanes)], nil)
	copy(s.versions, begun.versions) // which may have been settled since they moved
	begun.versions = moved(&m.versions, begun.versions, s.versions[:len(begun.versions)], nil)
}

// extend adds n lanes, of any content.
func (s *stage) extend(n int) {
	m := &s.block.memory.lanes
	s.lanes = moved(m, s.lanes, m.grow(s.lanes, n, 0), s.block.lanes)[:len(s.lanes)+n]
}

// moreVersions adds n versions, of any content.
func (s *stage) moreVersions(n int) {
	m := &s.block.memory.versions
	s.versions = moved(m, s.versions, m.grow(s.versions, n, 0), s.block.versions)[:len(s.versions)+n]
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
	r.stage.upTo = s
	if err := r.decodeDespawns(b); err != nil {
		return err
	}
	context := 0
	if b.Bool() {
		context = 1
		if err := r.decodeLists(b, s); err != nil {
			return err
		}
	}
	if err := r.decodeOthers(b, s, context); err != nil {
		return err
	}
	if !b.Padded() {
		return r.malformed()
	}
	return nil
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
		if index >= r.most {
			return r.beyond(index)
		}
		if odd && !b.Bool() {
			more, err := r.decodeWhole(b, s, index)
			if err != nil {
				return err
			}
			next += more
		} else if err := r.decodeRecord(b, s, index, odd); err != nil {
			return err
		}
	}
}

// readIndex reads a gap.
func readIndex(b *wire.BitReader, last *uint32) (index uint32, ok bool) {
	gap := b.Var()
	index = *last + uint32(gap)
	*last = index + 1
	return index, !b.Failed() && gap <= 1<<32-1
}

// readGeneration reads a generation, which is never zero.
func readGeneration(b *wire.BitReader) (generation uint32, ok bool) {
	g := b.Var()
	return uint32(g), !b.Failed() && g != 0 && g <= 1<<32-1
}

func (r *Replica) decodeDespawns(b *wire.BitReader) error {
	var last uint32
	for b.Bool() {
		index, ok := readIndex(b, &last)
		generation, legal := readGeneration(b)
		if !ok || !legal {
			return r.malformed()
		}
		if index >= r.most && (r.guard == nil || index >= MaxEntities) {
			return r.beyond(index)
		}
		if r.guard != nil && r.find(index, generation) < 0 {
			continue // What was never heard of takes no memory.
		}
		r.stage.despawns = append(r.stage.despawns, wire.NetworkID{Index: index, Generation: generation})
	}
	if b.Failed() {
		return r.malformed()
	}
	return nil
}

// extended returns s with n more elements, of any content.
func extended(s []uint32, n int) []uint32 {
	return room(s, n, 0)[:len(s)+n]
}

// commit makes a decoded payload take effect.
func (r *Replica) commit(s tick.Tick) {
	r.stats.Snapshots++
	if int16(r.stage.epoch-r.epoch) > 0 {
		r.epoch = r.stage.epoch
	}
	if s > r.newest {
		r.turn(s)
	}
	for _, id := range r.stage.despawns {
		r.despawn(id, s)
	}
	b := r.past.enter(s, r.stage.block)
	r.stats.Records += uint64(len(r.stage.versions) - r.stage.from)
	r.commitRecords(b)
}

// turn makes a newer tick the newest.
func (r *Replica) turn(s tick.Tick) {
	r.newest = s
	r.past.advance(s, &r.olds)
	r.forget()
}

// commitRecords enters the records of the stage, whose versions lie at the end
// of the block but for those of entities that had one in it already.
func (r *Replica) commitRecords(b *block) {
	indexes, runs := r.stage.indexes, r.stage.runs
	first, end := len(b.versions), len(b.lanes)
	place := first
	b.versions, b.lanes = r.stage.versions, r.stage.lanes
	for i := 0; first+i < len(b.versions); i++ {
		var index uint32
		if len(runs) > 0 && runs[0].at == i {
			u := &runs[0]
			if place == first+i && u.n >= leastRun {
				n := r.commitRun(b, u, place)
				b.noteRun(u.index-uint32(n), int32(place), n)
				i, place, end = i+n, place+n, end+n*u.width
			}
			if u.n == 0 {
				runs, i = runs[1:], i-1
				continue
			}
			index = u.index
			u.version(&b.versions[first+i], b.tick)
			if u.skip(1); u.n == 0 {
				runs = runs[1:]
			}
		} else {
			index, indexes = indexes[0], indexes[1:]
		}
		v := &b.versions[first+i]
		n := r.shapes.of(v.mask).lanes
		if first+i != place { // of an entity before this one there was a record already
			copy(b.lanes[end:end+n], b.lanes[v.first:])
			b.versions[place] = *v
			v = &b.versions[place]
			v.first = int32(end)
		}
		if r.record(index, v, int32(place)) {
			b.note(index, int32(place))
			place, end = place+1, end+n
		} else {
			b.note(index, -1)
		}
	}
	b.versions, b.lanes = b.versions[:place], b.lanes[:end]
}

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

// record enters a version into the past, where it lies in the block of its tick
// already, and into the world if it is newer than what is there (rule 6). It
// reports whether the place is taken: an entity has one record a tick.
func (r *Replica) record(index uint32, v *version, place int32) (taken bool) {
	n := r.head(index)
	if n < 0 || r.lives[n].generation != v.generation {
		n = r.ensure(index, v.generation)
	}
	l := &r.lives[n]
	v.life = n
	if l.newest.tick < v.tick {
		if before := l.newest.tick; before == l.applied && !l.gone && before > r.past.horizon && v.tick-before <= spareTicks &&
			r.masks[index] == v.mask {
			r.past.block(before).follow(l.newest.place, 1)
		}
		v.prev, l.newest, l.first = l.newest, versionRef{tick: v.tick, place: place}, v.first
		taken = true
	} else {
		taken = r.insert(l, v, place)
	}
	if v.tick <= l.applied || r.heads[index] != n {
		r.stats.Late++
		return taken
	}
	l.applied = v.tick
	if l.gone {
		l.gone = false
		r.living++
	}
	if r.masks[index] = v.mask; l.newest.tick != v.tick || l.newest.place != place {
		r.masks[index] = r.past.at(l.newest).mask // which is what is shown
	}
	r.touched.add(index, 1)
	return taken
}

// insert links a version into its life's past, newest tick first, behind one of
// a newer. It reports whether there was none of that tick.
func (r *Replica) insert(l *life, v *version, place int32) bool {
	var after *version
	ref := l.newest
	for {
		before := r.past.at(ref)
		if before == nil || before.tick < v.tick {
			break
		}
		if before.tick == v.tick {
			return false // an entity has one record a tick
		}
		after, ref = before, before.prev
	}
	v.prev = ref
	if here := (versionRef{tick: v.tick, place: place}); after == nil {
		l.newest, l.first = here, v.first
	} else {
		after.prev = here // after is of another tick, so of another block
	}
	return true
}

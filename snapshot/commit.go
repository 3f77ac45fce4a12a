package snapshot

import (
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// mostLivesEach is for how many lives there is room for each entity that a Replica takes: those that are alive, and those that ended
// so lately that something on its way may be about them. So all entities may be replaced at once.
const mostLivesEach = 2

// admit asks the guard about every record of the pending payload, and counts the lives that it begins.
func (r *Replica) admit() error {
	p := &r.pending
	records := p.block.versions[p.from:]
	if r.guard != nil {
		for i := range records {
			v := &records[i]
			if !r.guard(wire.NetworkID{Index: v.index, Generation: v.generation}, v.mask) {
				r.stats.Guarded++
				return ErrGuarded
			}
		}
	}
	used, most := len(r.lives)-len(r.free), mostLivesEach*int(r.most)
	if used+len(records)+len(p.despawns) <= most {
		return nil
	}
	for _, id := range p.despawns {
		if r.find(id.Index, id.Generation) < 0 {
			used++
		}
	}
	for i := range records {
		if r.find(records[i].index, records[i].generation) < 0 {
			used++
		}
	}
	if used > most {
		r.stats.TooMany++
		return ErrTooMany
	}
	return nil
}

// commit makes the pending payload take effect.
func (r *Replica) commit(s tick.Tick) {
	p := &r.pending
	r.stats.Snapshots++
	if int16(p.epoch-r.epoch) > 0 {
		r.epoch = p.epoch
	}
	if s > r.newest {
		r.newest = s
		r.advance(s)
		r.forget()
	}
	for _, id := range p.despawns {
		r.despawn(id, s)
	}
	b := p.block
	r.history.enter(b)
	r.stats.Records += uint64(len(b.versions) - p.from)
	place := p.from
	for i := p.from; i < len(b.versions); i++ {
		if place != i { // an entity before this one had a record already
			b.versions[place] = b.versions[i]
		}
		v := &b.versions[place]
		if r.record(v, int32(place)) {
			b.unsorted = b.unsorted || place > 0 && b.versions[place-1].index >= v.index
			place++
		}
	}
	b.lasting += place - p.from
	b.versions = b.versions[:place]
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

// record links a version into its life's versions, and applies it if it is newer than what is there (rule 6). It is false when the
// life has a version of that tick already: an entity has one record a tick.
func (r *Replica) record(v *version, place int32) (taken bool) {
	n := r.head(v.index)
	if n < 0 || r.lives[n].generation != v.generation {
		n = r.ensure(v.index, v.generation)
	}
	l := &r.lives[n]
	if taken = v.tick > l.newest.tick; taken {
		if v.tick-l.newest.tick <= graceTicks && l.newest.tick == l.applied && !l.gone && l.mask == v.mask && l.newest.tick > r.history.horizon {
			before := r.history.block(l.newest.tick)
			before.versions[l.newest.place].superseded = true
			before.lasting--
		}
		v.setOlder(l.newest)
		l.newest = versionRef{tick: v.tick, place: place}
	} else {
		taken = r.insert(l, v, place)
	}
	if v.tick <= l.applied || r.heads[v.index] != n {
		r.stats.Late++
		return taken
	}
	l.applied = v.tick
	if l.gone {
		l.gone = false
		r.living++
	}
	if l.mask = v.mask; l.newest.tick != v.tick || l.newest.place != place {
		l.mask = r.history.at(l.newest).mask // the newest version is shown
	}
	r.changed.add(v.index)
	return taken
}

// insert links a version into its life's versions, newest first, behind a newer one. It is false when there is one of that tick.
func (r *Replica) insert(l *life, v *version, place int32) bool {
	newer := r.history.at(l.newest)
	for newer.tick > v.tick {
		older := r.history.at(newer.older())
		if older == nil || older.tick < v.tick {
			v.setOlder(newer.older())
			newer.setOlder(versionRef{tick: v.tick, place: place})
			return true
		}
		newer = older
	}
	return false
}

package snapshot

import (
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// Where everything moves, a payload is records of the same kind, each of the
// entity behind the one before. Such a run takes effect as one: what is the same
// in all of its records is kept once. Of records that are coded against nothing,
// and whose rows are exact floats, a run is also written and read as one.

// run is records of entities one behind the other by index, with the same generation and the same rows, none of which names entities.
type run struct {
	at, n             int // the first among the records of the stage, and how many
	index, generation uint32
	mask              Mask
	first, width      int       // lanes of the first in the block, and of each
	base              tick.Tick // T of each, tick.None where they are coded against nothing
	basePlace         int32     // of the first one's version of T, behind which those of the others are; of no meaning without T

	// Of a run that took effect. The places of what it follows, and the lives, are
	// one behind the other too.
	place, life int32
	prev        versionRef
}

// skip takes away the first records.
func (u *run) skip(n int) {
	u.at, u.n, u.index, u.first = u.at+n, u.n-n, u.index+uint32(n), u.first+n*u.width
	u.place, u.life, u.prev.place, u.basePlace = u.place+int32(n), u.life+int32(n), u.prev.place+int32(n), u.basePlace+int32(n)
}

// end is the index behind the last one.
func (u *run) end() uint32 { return u.index + uint32(u.n) }

// goesOn reports whether another run lies right behind in every respect but that
// of what they follow.
func (u *run) goesOn(v *run) bool {
	n := int32(u.n)
	return u.end() == v.index && u.generation == v.generation && u.mask == v.mask &&
		u.first+u.n*u.width == v.first && u.place+n == v.place && u.life+n == v.life
}

// version makes v the version of the first record.
func (u *run) version(v *version, t tick.Tick) {
	*v = version{
		life: u.life, generation: u.generation, first: int32(u.first), basePlace: -1, tick: t, base: u.base, mask: u.mask, prev: u.prev,
	}
	if u.base != tick.None {
		v.basePlace = u.basePlace
	}
}

// decodeRun stages a run of which the first record has been read but not staged,
// and returns how many follow that. Where somebody is asked about each record they
// are staged one by one.
func (r *Replica) decodeRun(b *wire.BitReader, now tick.Tick, u run) (uint32, error) {
	s, n := &r.stage, 0
	if b.Align() {
		n = int(b.Read(8))
	}
	if n == 0 {
		return 0, r.malformed()
	}
	if last := u.index + uint32(n); last >= r.most {
		return 0, r.beyond(last)
	}
	if r.guard != nil || r.apart {
		v := s.add(now, u.index, u.generation)
		v.mask, v.first = u.mask, int32(u.first)
		return uint32(n), r.decodeApart(b, now, u.index+1, v, n)
	}
	rest := s.payload[len(s.payload)-b.Remaining()/8:]
	from, lanes := len(s.lanes), n*u.width
	if len(rest) < 4*lanes {
		return 0, r.malformed()
	}
	s.extend(lanes)
	if !r.schema.floats.Copy(s.lanes[from:], rest) {
		return 0, r.malformed()
	}
	b.Skip(4 * lanes)
	to := s.addRun()
	to.at, to.n, to.index, to.generation, to.mask = len(s.versions)-s.from, 1+n, u.index, u.generation, u.mask
	to.first, to.width, to.base, to.basePlace = u.first, u.width, tick.None, 0
	s.moreVersions(1 + n)
	return uint32(n), nil
}

// addRun begins a run. As in add its fields are written one by one.
func (s *stage) addRun() *run {
	n := len(s.runs)
	if n == cap(s.runs) {
		s.runs = room(s.runs, 1, usualSpans)
	}
	s.runs = s.runs[:n+1]
	return &s.runs[n]
}

// leastRun is how many records take effect as a run at least: of fewer, one by one is quicker.
const leastRun = 4

// mostInRun is how many records of a run may follow the first.
const mostInRun = 255

// decodeApart is decodeRun record by record.
func (r *Replica) decodeApart(b *wire.BitReader, now tick.Tick, next uint32, like *version, n int) error {
	s, generation, mask := &r.stage, like.generation, like.mask
	for i := range uint32(n) {
		v := s.add(now, next+i, generation)
		v.mask = mask
		s.extend(r.shapes.of(mask).lanes)
		if !wire.ReadFloats(b, s.lanes[v.first:]) {
			return r.malformed()
		}
	}
	return nil
}

// commitRun enters the first records of a run as record does, with places from
// place on, and takes them away from it: all until one about which there is more
// to say. It returns how many. Their lives are written, and their versions put
// together, when somebody asks for one. Nothing of a run or a cover is copied
// where all goes on as it did: what was just written field by field and is then
// read in larger pieces is waited for.
func (r *Replica) commitRun(b *block, u *run, place int) (done int) {
	if len(r.covers.list) > r.covers.most {
		r.uncover()
	}
	for u.n > 0 && int(u.index) < len(r.heads) {
		i, in := r.covers.seek(u.index)
		if in && !r.covers.list[i].precedes(u, b.tick) {
			r.bare(u.index)
			i, in = r.covers.seek(u.index)
		}
		all := u.n
		u.place = int32(place + done)
		switch {
		case in:
			c := &r.covers.list[i]
			skipped := int(u.index - c.index)
			u.n = min(u.n, c.n-skipped)
			u.life, u.prev.tick, u.prev.place = c.life+int32(skipped), c.tick, c.place+int32(skipped)
		default:
			if i < len(r.covers.list) {
				u.n = min(u.n, int(r.covers.list[i].index-u.index))
			}
			r.beginRun(u, b.tick)
		}
		n := u.n
		if n > 0 {
			r.follow(b.tick, u.prev, n)
			b.enter(u)
			r.touched.add(u.index, n)
			r.covers.put(i, in, u, b.tick)
		}
		u.n = all
		if n == 0 {
			break
		}
		u.skip(n)
		done += n
	}
	return done
}

// precedes reports whether there is nothing to say about the lives of a cover but
// that they have the versions of a run, as far as it is about them.
func (c *cover) precedes(u *run, now tick.Tick) bool {
	return c.generation == u.generation && c.mask == u.mask && c.tick < now
}

// beginRun finds whom the records of a run are about, when no cover says so. It
// takes away all from the first on of which there is more to say than that it has
// another version, or that is not behind the one before, with a version behind
// that one's.
func (r *Replica) beginRun(u *run, now tick.Tick) {
	h, n := r.heads[u.index], 0
	if h < 0 {
		u.n = 0
		return
	}
	most := min(u.n, len(r.heads)-int(u.index), len(r.lives)-int(h))
	lives, heads, masks := r.lives[h:][:most], r.heads[u.index:][:most], r.masks[u.index:][:most]
	prev, first := lives[0].newest, lives[0].first
	u.life, u.prev = h, prev
	for ; n < len(lives); n++ {
		l := &lives[n]
		if heads[n] != h+int32(n) || l.newest.tick != prev.tick || l.newest.place != prev.place+int32(n) || l.applied != prev.tick ||
			l.first != first+int32(n*u.width) || l.generation != u.generation || l.gone || masks[n] != u.mask || prev.tick >= now {
			break
		}
	}
	u.n = n
}

// follow notes that versions of a run follow those before, which have the same rows.
func (r *Replica) follow(now tick.Tick, prev versionRef, n int) {
	if prev.tick > r.past.horizon && now-prev.tick <= spareTicks {
		r.past.block(prev.tick).follow(prev.place, n)
	}
}

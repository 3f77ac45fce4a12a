package snapshot

import (
	"encoding/binary"
	"slices"

	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// maxStride is the longest interval, in ticks, at which an entity is believed to be captured.
const maxStride = 16

// PayloadTick is the tick that a payload says it is of, read as near to another; tick.None when it says none. It may still
// turn out to be malformed.
func PayloadTick(payload []byte, near tick.Tick) tick.Tick {
	if len(payload) < 2 {
		return tick.None
	}
	return max(tick.Near(binary.LittleEndian.Uint16(payload), near), tick.None)
}

// Whole says that of the ticks from <= t < to nothing is missing: everything that the server sent in them was decoded, or
// it sent nothing. An entity without a version of such a tick did not change in it, as far as the server had room to say.
func (r *Replica) Whole(from, to tick.Tick) {
	size := tick.Tick(len(r.complete))
	for t := max(from, to-size, tick.None+1); t < to; t++ {
		r.complete[t%size] = t
	}
	r.known = max(r.known, to-1)
}

// Heard is the newest tick of which anything is known: one that was decoded, or in which the server is known to have sent nothing.
func (r *Replica) Heard() tick.Tick { return max(r.newest, r.known) }

// Doubt takes back what Whole said of a tick.
func (r *Replica) Doubt(t tick.Tick) {
	if t > tick.None && r.isWhole(t) {
		r.complete[t%tick.Tick(len(r.complete))] = tick.None
	}
}

func (r *Replica) isWhole(t tick.Tick) bool { return r.complete[t%tick.Tick(len(r.complete))] == t }

// Sample is an entity around a moment: the two versions that the moment lies between, or the newest before it.
type Sample struct {
	Start tick.Tick // when the way from the first version to the second begins; the first held until then
	From  Version   // the last one that is not later than the moment
	To    Version   // zero when nothing newer is known

	Before      Version   // with it To is zero: a version in front of From, for going on beyond; else zero
	BeforeStart tick.Tick // when the way from Before to From began

	// Still says that the entity is known not to have changed since From, so that time alone changes nothing.
	Still bool
}

// Version is an entity as of a tick. The zero Version is none. It is good until the Replica changes.
type Version struct {
	Tick    tick.Tick // as of which it is so
	Mask    Mask      // rows present
	schema  *Schema
	lanes   []uint32  // of all rows
	evicted *rowPages // with it the rows are the evicted ones of a life
	life    int32
}

// Row is the lanes of a row, nil when the entity lacked it. The slice is the Replica's own.
func (v *Version) Row(row int) []uint32 {
	if !v.Mask.Has(row) {
		return nil
	}
	if v.evicted != nil {
		if v.schema.tags.Has(row) {
			return []uint32{}
		}
		return v.evicted.row(uint32(v.life), row)[sinceWords:]
	}
	n := v.schema.lanes(v.Mask & (bit(row) - 1))
	return v.lanes[n : n+v.schema.plans[row].Lanes() : n+v.schema.plans[row].Lanes()]
}

// Latest tells as of which tick the newest version of an entity is, and as of which it was last gone; tick.None for
// what is not known. Nothing about how the entity looked at a moment before both changes while they stay, but for versions
// that arrive late.
func (r *Replica) Latest(id wire.NetworkID) (newest, ended tick.Tick) {
	n := r.find(id.Index, id.Generation)
	if n < 0 {
		return tick.None, tick.None
	}
	l := &r.lives[n]
	return max(l.newest.tick, l.evicted.tick), l.ended
}

// Around finds an entity around a moment. It is false when the entity was not there then: not yet, not any more, hidden, or
// so long ago that it is forgotten. Moments up to twice the window ago can be asked for. It allocates nothing.
func (r *Replica) Around(id wire.NetworkID, at tick.Time) (s Sample, ok bool) {
	n := r.find(id.Index, id.Generation)
	if n < 0 {
		return s, false
	}
	l := &r.lives[n]
	var to *version
	v := r.history.at(l.newest)
	for ; v != nil && v.tick > at.Tick; v = r.history.at(v.older()) {
		to = v
	}
	switch {
	case v != nil:
		s.From = r.version(v)
	case r.lives[n].evicted.tick != tick.None && r.lives[n].evicted.tick <= at.Tick:
		old := &r.lives[n].evicted
		s.From = Version{Tick: old.tick, Mask: old.mask, schema: r.schema, evicted: &r.evicted, life: n}
	default:
		return s, false
	}
	if s.From.Tick < l.ended && l.ended <= at.Tick {
		return s, false
	}
	if l.ended <= s.From.Tick {
		s.Before, s.BeforeStart = r.ahead(l, v)
	}
	stride := stride(&s.Before, &s.From)
	if to == nil || s.From.Tick < l.ended && l.ended <= to.tick {
		s.Still = s.From.Tick < l.ended || r.quiet(s.From.Tick, at.Tick, stride)
		return s, true
	}
	s.To, s.Before = r.version(to), Version{}
	s.Start = r.begins(s.From.Tick, to.tick, stride)
	return s, true
}

func (r *Replica) version(v *version) Version {
	return Version{Tick: v.tick, Mask: v.mask, schema: r.schema, lanes: r.history.lanes(v)}
}

// ahead is the version in front of v in the same stretch of being there, and when the way from it to v began.
func (r *Replica) ahead(l *life, v *version) (before Version, start tick.Tick) {
	if v == nil {
		return before, start
	}
	w := r.history.at(v.older())
	if w == nil || w.tick < l.ended && l.ended <= v.tick {
		return before, start
	}
	before = r.version(w)
	interval := tick.Tick(1)
	if u := r.history.at(w.older()); u != nil {
		further := r.version(u)
		interval = stride(&further, &before)
	}
	return before, r.begins(w.tick, v.tick, interval)
}

// stride is at what interval an entity travelled that went from one version to the next. One that is repeated rested.
func stride(before, v *Version) tick.Tick {
	if before.Tick == tick.None || before.Mask == v.Mask && slices.Equal(before.lanes, v.lanes) {
		return 1
	}
	return min(v.Tick-before.Tick, maxStride)
}

// begins is when an entity left the state of one version for the next: not before the last ticks in which it would have
// travelled, had it moved. stride is at what interval it did so last.
func (r *Replica) begins(from, to, stride tick.Tick) tick.Tick {
	quiet := tick.Tick(0)
	for t := to - 1; t > from && t > to-tick.Tick(len(r.complete)); t-- {
		if r.isWhole(t) {
			if quiet++; quiet == stride {
				return t
			}
		}
	}
	return from
}

// quiet reports whether there were whole ticks enough after from to know that nothing changed up to at.
func (r *Replica) quiet(from, at, stride tick.Tick) bool {
	if at-from >= tick.Tick(len(r.complete)) {
		return true // as long as anything is remembered
	}
	quiet := tick.Tick(0)
	for t := from + 1; t <= at+maxStride; t++ {
		if r.isWhole(t) {
			if quiet++; quiet == stride {
				return true
			}
		}
	}
	return false
}

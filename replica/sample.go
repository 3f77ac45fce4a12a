package replica

import (
	"encoding/binary"
	"reflect"
	"slices"
	"time"

	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// maxStride is the longest capture interval, in ticks, that is assumed of an entity.
const maxStride = 16

// PayloadTick returns the tick of a payload, read as near to another; tick.None when there is none. The payload may still be malformed.
func PayloadTick(payload []byte, near tick.Tick) tick.Tick {
	if len(payload) < 2 {
		return tick.None
	}
	return max(tick.Near(binary.LittleEndian.Uint16(payload), near), tick.None)
}

// Whole notes that nothing is missing of the ticks from <= t < to: every packet that the server sent in them was decoded. An entity
// without a version of such a tick did not change in it, unless the server lacked room.
func (r *Replica) Whole(from, to tick.Tick) {
	size := tick.Tick(len(r.complete))
	for t := max(from, to-size, tick.None+1); t < to; t++ {
		r.complete[t%size] = t
	}
	r.known = max(r.known, to-1)
}

// Follow takes over from another Replica of the same packets, which is ahead of this one, the resyncs that it asked for and its
// knowledge of whole ticks, up to a tick.
func (r *Replica) Follow(ahead *Replica, to tick.Tick) {
	r.wanted = ahead.wanted
	size := tick.Tick(len(r.complete))
	for t := max(to-size, tick.None) + 1; t <= to; t++ {
		if r.complete[t%size] = tick.None; ahead.isWhole(t) {
			r.complete[t%size] = t
		}
	}
	r.known = max(r.known, min(ahead.known, to))
}

// Complete tells if nothing is missing of the ticks from <= t <= to: every packet that the server sent in them was decoded.
func (r *Replica) Complete(from, to tick.Tick) bool {
	if from <= tick.None || to-from >= tick.Tick(len(r.complete)) {
		return false
	}
	for t := from; t <= to; t++ {
		if !r.isWhole(t) {
			return false
		}
	}
	return true
}

// Heard returns the newest known tick: one that was decoded, or in which the server sent nothing.
func (r *Replica) Heard() tick.Tick { return max(r.newest, r.known) }

// Doubt revokes Whole for a tick.
func (r *Replica) Doubt(t tick.Tick) {
	if t > tick.None && r.isWhole(t) {
		r.complete[t%tick.Tick(len(r.complete))] = tick.None
	}
}

func (r *Replica) isWhole(t tick.Tick) bool { return r.complete[t%tick.Tick(len(r.complete))] == t }

// Sample is an entity around a moment: the two versions that the moment lies between, or the newest before it.
type Sample struct {
	Start tick.Tick // begin of the motion from the first version to the second; the first was valid until then
	From  Version   // the last one that is not later than the moment
	To    Version   // zero when nothing newer is known

	Before      Version   // the version before From, for extrapolation; zero unless To is zero
	BeforeStart tick.Tick // begin of the motion from Before to From

	// Still reports that the entity did not change since From.
	Still bool
}

// Version is the state of an entity as of a tick. The zero Version is none. It is valid until the Replica changes.
type Version struct {
	Tick    tick.Tick   // of the record that it is of
	Mask    format.Mask // rows present, a component for each of its bands
	rows    format.Mask // rows as they were sent
	bands   *bandReader
	schema  *format.Schema
	lanes   []uint32  // of all rows
	evicted *rowPages // not nil: the rows are the evicted ones of a life
	life    int32
}

// Row returns the lanes of a row, nil when the entity lacked it. The slice is the Replica's own.
func (v *Version) Row(row int) []uint32 {
	if !v.rows.Has(row) {
		if v.bands == nil { // also of the zero Version
			return nil
		}
		band := v.schema.Band(v.rows, row)
		if band < 0 {
			return nil
		}
		return v.bands.fine(band, v.sent(band))
	}
	return v.sent(row)
}

// sent returns the lanes of a row that was sent.
func (v *Version) sent(row int) []uint32 {
	if v.evicted != nil {
		if v.schema.Tags.Has(row) {
			return []uint32{}
		}
		return v.evicted.row(uint32(v.life), row)[sinceWords:]
	}
	n := v.schema.Lanes(v.rows.Below(row))
	return v.lanes[n : n+v.schema.Plan(row).Lanes() : n+v.schema.Plan(row).Lanes()]
}

// Latest returns the tick of an entity's newest version and the tick as of which it was last gone; tick.None where unknown. While both
// stay, only late versions change the entity's state at a moment before them.
func (r *Replica) Latest(id wire.NetworkID) (newest, ended tick.Tick) {
	n := r.find(id.Index, id.Generation)
	if n < 0 {
		return tick.None, tick.None
	}
	l := &r.lives[n]
	return max(l.newestTick, r.evicted[n].tick), l.ended
}

// AsOf returns the state of an entity as of a tick: From of the sample at the tick's begin. It is false where Around is. It allocates
// nothing.
func (r *Replica) AsOf(id wire.NetworkID, at tick.Tick) (v Version, ok bool) {
	n := r.find(id.Index, id.Generation)
	if n < 0 {
		return v, false
	}
	v, _, _, _, ok = r.lives[n].asOf(r, n, at)
	return v, ok
}

// asOf returns the state of a life as of a tick, its place, and the version after it.
func (l *life) asOf(r *Replica, n int32, at tick.Tick) (from Version, ref versionRef, to *version, toTick tick.Tick, ok bool) {
	ref = l.newest()
	v := r.history.at(ref)
	for v != nil && ref.tick > at {
		to, toTick = v, ref.tick
		ref = v.older(ref.tick)
		v = r.history.at(ref)
	}
	switch {
	case v != nil:
		from = r.version(ref.tick, v)
	case r.evicted[n].tick != tick.None && r.evicted[n].tick <= at:
		old := &r.evicted[n]
		from = Version{Tick: old.tick, Mask: r.schema.Fold(old.mask), rows: old.mask, bands: r.bands, schema: r.schema, evicted: &r.left, life: n}
	default:
		return from, ref, to, toTick, false
	}
	return from, ref, to, toTick, !(from.Tick < l.ended && l.ended <= at)
}

// Around samples an entity around a moment. It is false when the entity was not there: not yet, not any more, hidden, or forgotten.
// Moments are at most twice the window ago. It allocates nothing.
func (r *Replica) Around(id wire.NetworkID, at tick.Time) (s Sample, ok bool) {
	n := r.find(id.Index, id.Generation)
	if n < 0 {
		return s, false
	}
	l := &r.lives[n]
	from, ref, to, toTick, there := l.asOf(r, n, at.Tick)
	if !there {
		return s, false
	}
	s.From = from
	if l.ended <= s.From.Tick {
		s.Before, s.BeforeStart = r.ahead(l, ref)
	}
	stride := stride(&s.Before, &s.From)
	if to == nil || s.From.Tick < l.ended && l.ended <= toTick {
		s.Still = s.From.Tick < l.ended || r.quiet(s.From.Tick, at.Tick, stride)
		return s, true
	}
	s.To, s.Before = r.version(toTick, to), Version{}
	s.Start = r.begins(s.From.Tick, toTick, stride)
	return s, true
}

func (r *Replica) version(t tick.Tick, v *version) Version {
	return Version{Tick: t, Mask: r.schema.Fold(v.mask), rows: v.mask, bands: r.bands, schema: r.schema, lanes: r.history.lanes(t, v)}
}

// ahead returns the version before the one of ref without an end of the entity between them, and when the motion from it began.
func (r *Replica) ahead(l *life, ref versionRef) (before Version, start tick.Tick) {
	v := r.history.at(ref)
	if v == nil {
		return before, start
	}
	older := v.older(ref.tick)
	w := r.history.at(older)
	if w == nil || older.tick < l.ended && l.ended <= ref.tick {
		return before, start
	}
	before = r.version(older.tick, w)
	interval := tick.Tick(1)
	oldest := w.older(older.tick)
	if u := r.history.at(oldest); u != nil {
		further := r.version(oldest.tick, u)
		interval = stride(&further, &before)
	}
	return before, r.begins(older.tick, ref.tick, interval)
}

// stride returns the capture interval of an entity between two versions, 1 when it rested.
func stride(before, v *Version) tick.Tick {
	if before.Tick == tick.None || before.rows == v.rows && slices.Equal(before.lanes, v.lanes) {
		return 1
	}
	return min(v.Tick-before.Tick, maxStride)
}

// begins returns when an entity left the state of one version for the next: not before the last complete ticks in which a change would
// have been sent. stride is its last capture interval.
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

// quiet reports whether enough complete ticks followed from to know that nothing changed up to at.
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

// Interpolation configures how a row is shown between its versions.
type Interpolation struct {
	Row      int                    // of the component
	Speed    int                    // the row that holds its velocities, -1 without one
	Teleport int                    // the row that changes when the entity is moved without a motion, -1 without one
	Twin     reflect.Type           // the component type that gets the shown value
	Ahead    time.Duration          // limit of extrapolation beyond the newest version
	Blend    func() *quantize.Blend // a blend of its own for each goroutine
}

// Way fills way with a row's motion at a moment, between the versions that Around found for it. It is false when the entity lacks the row.
func (in *Interpolation) Way(s *Sample, at tick.Time, rate int, way *quantize.BlendInput) bool {
	from := s.From.Row(in.Row)
	if from == nil {
		return false
	}
	*way = quantize.BlendInput{From: from, To: from}
	switch {
	case s.To.Tick != tick.None:
		to := s.To.Row(in.Row)
		if to == nil || in.teleported(&s.From, &s.To) {
			return true
		}
		way.To = to
		way.Part = min(max(at.Along(s.Start, s.To.Tick), 0), tick.OneTick).Float()
		in.speeds(way, &s.From, &s.To, s.Start, rate)
		if s.Start > s.From.Tick {
			way.FromSpeed = nil // the entity rested
		}
	case !s.Still && s.Before.Tick != tick.None:
		before := s.Before.Row(in.Row)
		if before == nil || in.Ahead <= 0 || in.teleported(&s.Before, &s.From) {
			return true
		}
		beyond := min(at.Sub(s.From.Tick.Begin()), tick.SpanOf(in.Ahead, rate))
		way.From = before
		way.Part = 1 + beyond.Float()/float64(s.From.Tick-s.BeforeStart)
		in.speeds(way, &s.Before, &s.From, s.BeforeStart, rate)
	}
	return true
}

// speeds sets the velocities at both ends of the way.
func (in *Interpolation) speeds(way *quantize.BlendInput, from, to *Version, start tick.Tick, rate int) {
	if in.Speed >= 0 {
		way.FromSpeed, way.ToSpeed = from.Row(in.Speed), to.Row(in.Speed)
		way.Seconds = float64(to.Tick-start) / float64(rate)
	}
}

// teleported reports whether an entity was moved from one version to another without a motion.
func (in *Interpolation) teleported(from, to *Version) bool {
	if in.Teleport < 0 {
		return false
	}
	a, b := from.Row(in.Teleport), to.Row(in.Teleport)
	if a == nil || b == nil {
		return (a == nil) != (b == nil)
	}
	for i := range a {
		if a[i] != b[i] {
			return true
		}
	}
	return false
}

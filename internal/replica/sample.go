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

// maxStride is the largest capture interval that is assumed for an entity, in ticks.
const maxStride = 16

// PayloadTick returns the tick of a payload, read as near to another tick, or tick.None. The payload may still be
// malformed.
func PayloadTick(payload []byte, near tick.Tick) tick.Tick {
	if len(payload) < 2 {
		return tick.None
	}
	return max(tick.Near(binary.LittleEndian.Uint16(payload), near), tick.None)
}

// MarkComplete notes that the ticks from <= t < to are complete: every packet that the server sent in them was decoded. An
// entity without a version of a complete tick did not change in it, unless the server had no space for it.
func (r *Replica) MarkComplete(from, to tick.Tick) {
	size := tick.Tick(len(r.complete))
	for t := max(from, to-size, tick.None+1); t < to; t++ {
		r.complete[t%size] = t
	}
	r.known = max(r.known, to-1)
}

// Follow copies state from another Replica that reads the same packets and is ahead of this one. It copies the
// requested resyncs, and the complete ticks up to tick to.
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

// Complete reports whether all ticks from <= t <= to are complete: see MarkComplete.
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

// NewestKnown returns the newest tick that was decoded or in which the server sent nothing.
func (r *Replica) NewestKnown() tick.Tick { return max(r.newest, r.known) }

// ClearComplete revokes MarkComplete for a tick.
func (r *Replica) ClearComplete(t tick.Tick) {
	if t > tick.None && r.isWhole(t) {
		r.complete[t%tick.Tick(len(r.complete))] = tick.None
	}
}

func (r *Replica) isWhole(t tick.Tick) bool { return r.complete[t%tick.Tick(len(r.complete))] == t }

// Sample is an entity around a moment: the two versions before and after the moment, or the newest version before it.
type Sample struct {
	Start tick.Tick // the tick when the motion from From to To began; until then From was valid
	From  Version   // the last version not later than the moment
	To    Version   // the version after From; zero if none is known

	Before      Version   // the version before From, for extrapolation; zero unless To is zero
	BeforeStart tick.Tick // the tick when the motion from Before to From began

	// Still reports that the entity did not change since From.
	Still bool
}

// Version is the state of an entity as of a tick. The zero Version is none. It is valid until the Replica changes.
type Version struct {
	Tick    tick.Tick   // tick of its record
	Mask    format.Mask // rows present; a band counts as its component
	rows    format.Mask // rows as they were sent
	bands   *bandReader
	schema  *format.Schema
	lanes   []uint32  // lanes of all rows
	evicted *rowPages // not nil: the rows are the evicted rows of life
	life    int32
}

// Row returns the lanes of a row, or nil if the entity lacked it. The slice belongs to the Replica.
func (v *Version) Row(row int) []uint32 {
	if !v.rows.Has(row) {
		if v.bands == nil { // includes the zero Version
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

// sent returns the lanes of a row as it was sent.
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

// Latest returns the tick of an entity's newest version and the tick of its last end, each tick.None if unknown. While
// both stay the same, only late versions change the entity's state at a moment before them.
func (r *Replica) Latest(id wire.NetworkID) (newest, ended tick.Tick) {
	n := r.find(id.Index, id.Generation)
	if n < 0 {
		return tick.None, tick.None
	}
	l := &r.lives[n]
	return max(l.newestTick, r.evicted[n].tick), l.ended
}

// AsOf returns the state of an entity as of a tick: From of the sample at the tick's begin. It returns false if Around
// would. It does not allocate.
func (r *Replica) AsOf(id wire.NetworkID, at tick.Tick) (v Version, ok bool) {
	n := r.find(id.Index, id.Generation)
	if n < 0 {
		return v, false
	}
	v, _, _, _, ok = r.lives[n].asOf(r, n, at)
	return v, ok
}

// asOf returns the state of a life as of a tick, the ref of its version, and the version after it.
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
		from = Version{Tick: old.tick, Mask: r.schema.Fold(old.mask), rows: old.mask, bands: r.bands, schema: r.schema, evicted: &r.evictedRows, life: n}
	default:
		return from, ref, to, toTick, false
	}
	return from, ref, to, toTick, !(from.Tick < l.ended && l.ended <= at)
}

// Around samples an entity around a moment. It returns false if the entity did not exist then, was hidden, or is no
// longer stored. Moments are at most two windows ago. Around does not allocate.
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
		s.Still = s.From.Tick < l.ended || r.unchangedUntil(s.From.Tick, at.Tick, stride)
		return s, true
	}
	s.To, s.Before = r.version(toTick, to), Version{}
	s.Start = r.begins(s.From.Tick, toTick, stride)
	return s, true
}

func (r *Replica) version(t tick.Tick, v *version) Version {
	return Version{Tick: t, Mask: r.schema.Fold(v.mask), rows: v.mask, bands: r.bands, schema: r.schema, lanes: r.history.lanes(t, v)}
}

// ahead returns the version before the version of ref, and the tick when the motion from it began. The entity must not
// have ended between them.
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

// stride returns the capture interval of an entity between two versions, or 1 if it did not change.
func stride(before, v *Version) tick.Tick {
	if before.Tick == tick.None || before.rows == v.rows && slices.Equal(before.lanes, v.lanes) {
		return 1
	}
	return min(v.Tick-before.Tick, maxStride)
}

// begins returns the tick when an entity left the state of version from for version to. It is not before the last
// complete ticks in which a change would have been sent. stride is the entity's last capture interval.
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

// unchangedUntil reports whether enough complete ticks followed from to be sure that nothing changed up to at.
func (r *Replica) unchangedUntil(from, at, stride tick.Tick) bool {
	if at-from >= tick.Tick(len(r.complete)) {
		return true // longer than complete ticks are stored
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
	Row      int                    // row of the component
	Speed    int                    // row of its velocities; -1: none
	Teleport int                    // row that changes when the entity teleports; -1: none
	Twin     reflect.Type           // component type of the shown value
	Ahead    time.Duration          // longest extrapolation beyond the newest version
	Blend    func() *quantize.Blend // returns a new blend; each goroutine needs its own; nil for a relation
	Relation bool                   // the target of a relation is shown late; the component has no twin
}

// Way sets way to a row's motion at a moment, between the versions of a sample from Around. It returns false if the
// entity lacks the row.
func (in *Interpolation) Way(s *Sample, at tick.Time, rate int, way *quantize.BlendInput) bool {
	from := s.From.Row(in.Row)
	if from == nil {
		return false
	}
	*way = quantize.BlendInput{From: from, To: from}
	switch {
	case s.To.Tick != tick.None:
		to := s.To.Row(in.Row)
		if to == nil || in.Teleported(&s.From, &s.To) {
			return true
		}
		way.To = to
		way.Part = min(max(at.Along(s.Start, s.To.Tick), 0), tick.OneTick).Float()
		in.speeds(way, &s.From, &s.To, s.Start, rate)
		if s.Start > s.From.Tick {
			way.FromSpeed = nil // the entity did not move before
		}
	case !s.Still && s.Before.Tick != tick.None:
		before := s.Before.Row(in.Row)
		if before == nil || in.Ahead <= 0 || in.Teleported(&s.Before, &s.From) {
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

// Teleported reports whether an entity teleported from one version to another.
func (in *Interpolation) Teleported(from, to *Version) bool {
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

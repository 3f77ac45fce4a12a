package netcode

import (
	"reflect"
	"slices"

	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
)

// Past is the world as one client showed it to its player, for the time of one Rewind. Nothing is copied for it: the
// store keeps what rows were before they changed, for Config.Window ticks.
type Past struct {
	server  *Server
	session *session
	at      tick.Time
	clamped bool
	open    bool
}

// Rewind lets game code look at the world as a client's player saw it in the tick that is simulated: when it aimed. The
// moment is what the client says that it presented when it made the input that InputOf gives, or, where it sends no
// inputs, the newest tick that it has acknowledged. A client is believed no farther back than Config.Rewind and never
// ahead of what was captured. Rewind says false, without a call, if there is no such client, or nothing was captured or
// is known of it yet. view is good during the call, and reads only. It allocates nothing.
func (s *Server) Rewind(client ClientID, look func(view *Past)) bool {
	c := s.present(client)
	if c == nil || s.store.Tick() == tick.None {
		return false
	}
	c.past = Past{server: s}
	at, ok := c.presented(s.Tick())
	if !ok {
		return false
	}
	p := &c.past
	*p = Past{server: s, session: c, at: at, open: true}
	oldest := s.Tick().Begin().Add(-tick.SpanOf(s.config.Rewind, s.config.TickRate))
	newest := s.store.Tick().Begin()
	switch {
	case at.Before(oldest):
		p.at, p.clamped = oldest, true
	case at.After(newest):
		p.at, p.clamped = newest, true
	}
	if p.clamped {
		s.stats.RewindsClamped++
	}
	s.stats.Rewinds++
	s.observe(c)
	look(p)
	p.open = false
	return true
}

// presented is what a client's player saw in a tick, as far as the client says.
func (c *session) presented(at tick.Tick) (tick.Time, bool) {
	if c.near != nil { // A host looks at the world itself.
		return c.past.server.store.Tick().Begin(), true
	}
	if c.inputs.rows != nil {
		if shown, ok := c.inputs.presented(at); ok {
			return shown, true
		}
	}
	return c.acknowledged.Begin(), c.acknowledged != tick.None
}

// At is the moment that the client showed: the tick that had begun in what it showed, and what went by of it.
func (p *Past) At() tick.Time { return p.at }

// Clamped tells that the client named another moment, which lies outside of what it may.
func (p *Past) Clamped() bool { return p.clamped }

// All yields the entities that lived then and that the client was shown then, hidden as they may be by now; of what is gone
// since, and its index another's, what it might have been shown. Sight is remembered as far as an entity's present, or last, stay
// in it and the one before; which components the client may see is not asked. It allocates nothing.
func (p *Past) All(yield func(NetworkID) bool) {
	if !p.open {
		return
	}
	p.server.store.EachAt(p.at.Tick, func(id NetworkID) bool { return !p.shows(id) || yield(id) })
}

// shows tells if the client was shown an entity then, or might have been, if nobody knows any more.
func (p *Past) shows(id NetworkID) bool {
	if saw, known := p.session.view.SawAt(id, p.at.Tick); known {
		return saw
	}
	return !p.server.store.Alive(id)
}

// Has tells if the client was shown an entity then.
func (p *Past) Has(id NetworkID) bool {
	if !p.open || !p.shows(id) {
		return false
	}
	_, err := p.server.store.MaskAt(id, p.at.Tick)
	return err == nil
}

// PastOf is component T of an entity as the client showed it. A component with an interpolation (Interpolate) is what lies
// between the two ticks around the moment, by the same rule as on the client; any other is what it was in the tick that
// had begun. It is false if T is not registered with Replicate, or the entity did not live then, lacked the component or was
// hidden from the client then. Entity handles in T are zero.
func PastOf[T any](p *Past, id NetworkID) (v T, ok bool) {
	if !p.open || !p.shows(id) {
		return v, false
	}
	schema := p.server.protocol.schema
	row := rowOfType(schema, reflect.TypeFor[T]())
	if row < 0 {
		p.server.report.misused("PastOf", reflect.TypeFor[T](), ErrNoComponent)
		return v, false
	}
	from, err := p.server.store.RowAt(id, row, p.at.Tick)
	if err != nil || from == nil && schema.Plan(row).Lanes() > 0 {
		return v, false
	}
	if from == nil {
		mask, _ := p.server.store.MaskAt(id, p.at.Tick)
		return v, mask.Has(row)
	}
	if r := p.server.pastRow(reflect.TypeFor[T](), row); r != nil && p.between(r, id, from) {
		if held, same := r.held.(*T); same {
			quantize.MixInto(r.blend, &r.way, held)
			return *held, true
		}
	}
	schema.Plan(row).Dequantise(from, reflect.ValueOf(&v).UnsafePointer())
	return v, true
}

// between finds the way of an interpolated row from the tick that had begun to the next one; false where there is none.
func (p *Past) between(r *shownRow, id NetworkID, from []uint32) bool {
	store, next := p.server.store, p.at.Tick+1
	to, err := store.RowAt(id, r.Row, next)
	if p.at.Fraction == 0 || err != nil || to == nil {
		return false
	}
	if r.Teleport >= 0 {
		before, _ := store.RowAt(id, r.Teleport, p.at.Tick)
		after, _ := store.RowAt(id, r.Teleport, next)
		if !slices.Equal(before, after) {
			return false
		}
	}
	r.way = quantize.Way{From: from, To: to, Part: tick.Span(p.at.Fraction).Float()}
	if r.Speed >= 0 {
		r.way.FromSpeed, _ = store.RowAt(id, r.Speed, p.at.Tick)
		r.way.ToSpeed, _ = store.RowAt(id, r.Speed, next)
		r.way.Seconds = p.server.config.interval().Seconds()
	}
	return true
}

// pastRow finds or makes what PastOf needs for an interpolated component; nil for any other.
func (s *Server) pastRow(t reflect.Type, row int) *shownRow {
	for _, r := range s.pastRows {
		if r.of == t {
			return r
		}
	}
	list := s.protocol.interpolations
	i := slices.IndexFunc(list, func(in snapshot.Interpolation) bool { return in.Row == row })
	if i < 0 {
		return nil
	}
	r := &shownRow{of: t, held: reflect.New(t).Interface(), Interpolation: list[i]}
	r.blend = r.Blend()
	s.pastRows = append(s.pastRows, r)
	return r
}

// rowOfType is the row of a component type, -1 if it does not replicate.
func rowOfType(schema *snapshot.Schema, t reflect.Type) int {
	for row := range schema.Rows() {
		if schema.Plan(row).Type() == t {
			return row
		}
	}
	return -1
}

package rewind

import (
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/errs"
	"github.com/arche-netcode/netcode/extend"
	"github.com/arche-netcode/netcode/internal/replica"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
)

// DefaultLimit bounds how far back a client's presented moment is trusted, unless Limit sets another bound.
const DefaultLimit = 500 * time.Millisecond

// Stats counts the views of one server.
type Stats struct {
	Views   uint64 // Views that At gave.
	Clamped uint64 // Views whose moment was outside of the limits and was moved to the nearest legal moment.
}

// rewinder is a server's state for its views.
type rewinder struct {
	limit time.Duration
	stats Stats
	rows  []*blendedRow
}

// of returns a server's state for its views. The first call adds it.
func of(s *netcode.Server) *rewinder {
	if r, ok := extend.ExtensionOf[*rewinder](s); ok {
		return r
	}
	r := &rewinder{limit: DefaultLimit}
	extend.OfServer(s).Extend(extend.ServerHooks{
		State:  r,
		Opened: func(c extend.Session) any { return &View{server: s, rewinder: r} },
		Closed: func(c extend.Session) {
			if v, ok := extend.ExtensionOf[*View](c); ok {
				v.open = false
			}
		},
	})
	return r
}

// Limit sets how far back a client's presented moment is trusted; 0 disables rewinding. It panics below 0.
func Limit(s *netcode.Server, limit time.Duration) {
	if limit < 0 {
		panic(fmt.Sprintf("netcode: rewind.Limit(%v): it is not negative", limit))
	}
	of(s).limit = limit
}

// StatsOf returns a copy of the counters of a server.
func StatsOf(s *netcode.Server) Stats { return of(s).stats }

// View is the world as one client presented it to its player, during one call of At. It copies nothing: the store has the
// earlier versions of rows for Config.Window ticks.
type View struct {
	server   *netcode.Server
	view     *snapshot.View // The client's.
	rewinder *rewinder
	at       tick.Time
	clamped  bool
	open     bool
}

// At calls look with the world as a client's player saw it when it made the input of the simulated tick. A client sends
// the moment that it presented with each input (package input). For a client without inputs the moment is the newest tick
// that it has acknowledged. The moment is clamped: not farther back than Limit, not after the newest capture.
//
// At returns false, without a call of look, for an unknown client, before the first capture, and if no moment is known.
// view is read-only and valid during the call. At allocates nothing except at the first call for a server.
func At(s *netcode.Server, client netcode.ClientID, look func(view *View)) bool {
	c := extend.OfServer(s).Session(client)
	if c == nil || s.Store().Tick() == tick.None {
		return false
	}
	at, ok := c.Presented(s.Tick())
	if !ok {
		return false
	}
	r := of(s)
	p, _ := extend.ExtensionOf[*View](c)
	p.view, p.at, p.clamped, p.open = c.View(), at, false, true
	oldest := s.Tick().Begin().Add(-tick.SpanOf(r.limit, s.TickRate()))
	newest := s.Store().Tick().Begin()
	switch {
	case at.Before(oldest):
		p.at, p.clamped = oldest, true
	case at.After(newest):
		p.at, p.clamped = newest, true
	}
	if p.clamped {
		r.stats.Clamped++
	}
	r.stats.Views++
	look(p)
	p.open = false
	return true
}

// At returns the moment that the client presented: a tick and the fraction of it that had passed.
func (p *View) At() tick.Time { return p.at }

// Clamped reports whether the client named a moment outside of the limits.
func (p *View) Clamped() bool { return p.clamped }

// All yields the entities that existed at the moment and that the client was shown then, even if they are hidden now.
// Visibility is known for an entity's present, or last, lifetime at the client and for the one before. It is unknown for a
// removed entity whose index is reused; All yields such an entity. The visibility of single components is not considered.
// All allocates nothing.
func (p *View) All(yield func(netcode.NetworkID) bool) {
	if !p.open {
		return
	}
	p.server.Store().EachAt(p.at.Tick, func(id netcode.NetworkID) bool { return !p.shows(id) || yield(id) })
}

// shows reports whether the client was shown an entity at the moment. If that is unknown, it is true for a removed
// entity.
func (p *View) shows(id netcode.NetworkID) bool {
	if saw, known := p.view.SawAt(id, p.at.Tick); known {
		return saw
	}
	return !p.server.Store().Alive(id)
}

// Has reports whether the client was shown an entity at the moment.
func (p *View) Has(id netcode.NetworkID) bool {
	if !p.open || !p.shows(id) {
		return false
	}
	_, err := p.server.Store().MaskAt(id, p.at.Tick)
	return err == nil
}

// Of returns component T of an entity as the client presented it. A component with an interpolation (package interpolate)
// is interpolated between the two ticks around the moment, by the same rule as on the client. Another component has its
// value of the earlier tick.
//
// ok is false if T is not replicated, and if at the moment the entity did not exist, had no T or was hidden from the
// client. Entity handles in T are zero.
func Of[T any](p *View, id netcode.NetworkID) (v T, ok bool) {
	if !p.open || !p.shows(id) {
		return v, false
	}
	protocol, store := p.server.Protocol(), p.server.Store()
	row := protocol.Schema().RowOf(reflect.TypeFor[T]())
	if row < 0 {
		extend.Misused(p.server, "rewind.Of", reflect.TypeFor[T](), errs.ErrNoComponent)
		return v, false
	}
	plan := protocol.Schema().Plan(row)
	from, err := store.RowAt(id, row, p.at.Tick)
	if err != nil || from == nil && plan.Lanes() > 0 {
		return v, false
	}
	if from == nil {
		mask, _ := store.MaskAt(id, p.at.Tick)
		return v, mask.Has(row)
	}
	if r := p.rewinder.row(protocol, reflect.TypeFor[T](), row); r != nil && p.between(r, id, from) {
		if held, same := r.held.(*T); same {
			quantize.MixInto(r.blend, &r.way, held)
			return *held, true
		}
	}
	plan.Dequantise(from, reflect.ValueOf(&v).UnsafePointer())
	return v, true
}

// blendedRow is a component with an interpolation.
type blendedRow struct {
	replica.Interpolation
	of    reflect.Type
	blend *quantize.Blend
	held  any // A pointer to a T, so that no call allocates.
	way   quantize.BlendInput
}

// between prepares the blend of an interpolated row from the tick of the moment to the next tick. It returns false if
// there is nothing to blend.
func (p *View) between(r *blendedRow, id netcode.NetworkID, from []uint32) bool {
	store, next := p.server.Store(), p.at.Tick+1
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
	r.way = quantize.BlendInput{From: from, To: to, Part: tick.Span(p.at.Fraction).Float()}
	if r.Speed >= 0 {
		r.way.FromSpeed, _ = store.RowAt(id, r.Speed, p.at.Tick)
		r.way.ToSpeed, _ = store.RowAt(id, r.Speed, next)
		r.way.Seconds = p.server.Interval().Seconds()
	}
	return true
}

// row returns the state of an interpolated component, nil for a component without an interpolation.
func (r *rewinder) row(protocol *netcode.Protocol, t reflect.Type, row int) *blendedRow {
	for _, b := range r.rows {
		if b.of == t {
			return b
		}
	}
	in, ok := extend.SettingOf[replica.Interpolation](protocol, row)
	if !ok || in.Relation {
		return nil
	}
	b := &blendedRow{of: t, held: reflect.New(t).Interface(), Interpolation: in}
	b.blend = b.Blend()
	r.rows = append(r.rows, b)
	return b
}

// String tells the moment and whether it was clamped.
func (v *View) String() string {
	text := fmt.Sprintf("the world as of %v", v.at)
	if v.clamped {
		text += ", clamped"
	}
	return text
}

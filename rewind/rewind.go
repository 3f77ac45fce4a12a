package rewind

import (
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/replica"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
)

// DefaultLimit bounds how far back a client is believed to have seen the world, unless Limit decides otherwise.
const DefaultLimit = 500 * time.Millisecond

// Stats counts the views of one server.
type Stats struct {
	Views   uint64 // Views of the past that At gave.
	Clamped uint64 // Of these, those of clients that claimed to show what lies farther back than Limit, or is still to come.
}

// rewinder is a server's state for its views.
type rewinder struct {
	limit time.Duration
	stats Stats
	rows  []*blendedRow
}

// of finds or makes a server's state for its views.
func of(s *netcode.Server) *rewinder {
	if r, ok := netcode.ExtensionOf[*rewinder](s); ok {
		return r
	}
	r := &rewinder{limit: DefaultLimit}
	s.Extend(netcode.ServerHooks{
		State:  r,
		Opened: func(c *netcode.Session) any { return &View{server: s, rewinder: r} },
		Closed: func(c *netcode.Session) {
			if v, ok := netcode.ExtensionOf[*View](c); ok {
				v.open = false
			}
		},
	})
	return r
}

// Limit sets how far back a client of a server is believed to have seen the world; 0 is not at all. It panics below 0.
func Limit(s *netcode.Server, limit time.Duration) {
	if limit < 0 {
		panic(fmt.Sprintf("netcode: rewind.Limit(%v): it is not negative", limit))
	}
	of(s).limit = limit
}

// StatsOf is a copy of the counters of a server.
func StatsOf(s *netcode.Server) Stats { return of(s).stats }

// View is the world as one client showed it to its player, during one call of At. Nothing is copied for it: the store keeps the
// earlier versions of rows for Config.Window ticks.
type View struct {
	server   *netcode.Server
	view     *snapshot.View // Of the client.
	rewinder *rewinder
	at       tick.Time
	clamped  bool
	open     bool
}

// At lets game code look at the world as a client's player saw it in the tick that is simulated: when it aimed. The client tells
// with each input which moment it presented (package input). Where it sends no inputs, the moment is the newest tick that it has
// acknowledged. A client is believed no farther back than Limit and never ahead of what was
// captured. At returns false, without a call, if there is no such client, or nothing was captured or is known of it yet. view is
// good during the call, and reads only. At allocates nothing but at the first call for a server.
func At(s *netcode.Server, client netcode.ClientID, look func(view *View)) bool {
	c := s.Session(client)
	if c == nil || s.Store().Tick() == tick.None {
		return false
	}
	at, ok := c.Presented(s.Tick())
	if !ok {
		return false
	}
	r := of(s)
	p, _ := netcode.ExtensionOf[*View](c)
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

// At is the moment that the client showed: the tick that had begun in what it showed, and what went by of it.
func (p *View) At() tick.Time { return p.at }

// Clamped tells that the client named another moment, which lies outside of what it may.
func (p *View) Clamped() bool { return p.clamped }

// All yields the entities that lived then and that the client was shown then, hidden as they may be by now; of what is gone
// since, and its index another's, what it might have been shown. Sight is remembered as far as an entity's present, or last, stay
// in it and the one before; which components the client may see is not asked. It allocates nothing.
func (p *View) All(yield func(netcode.NetworkID) bool) {
	if !p.open {
		return
	}
	p.server.Store().EachAt(p.at.Tick, func(id netcode.NetworkID) bool { return !p.shows(id) || yield(id) })
}

// shows tells if the client was shown an entity then, or might have been, if nobody knows any more.
func (p *View) shows(id netcode.NetworkID) bool {
	if saw, known := p.view.SawAt(id, p.at.Tick); known {
		return saw
	}
	return !p.server.Store().Alive(id)
}

// Has tells if the client was shown an entity then.
func (p *View) Has(id netcode.NetworkID) bool {
	if !p.open || !p.shows(id) {
		return false
	}
	_, err := p.server.Store().MaskAt(id, p.at.Tick)
	return err == nil
}

// Of is component T of an entity as the client showed it. A component with an interpolation (package interpolate) is what lies
// between the two ticks around the moment, by the same rule as on the client; any other is what it was in the tick that had
// begun. It is false if T is not registered with Replicate, or the entity did not live then, lacked the component or was hidden
// from the client then. Entity handles in T are zero.
func Of[T any](p *View, id netcode.NetworkID) (v T, ok bool) {
	if !p.open || !p.shows(id) {
		return v, false
	}
	protocol, store := p.server.Protocol(), p.server.Store()
	row := protocol.RowOf(reflect.TypeFor[T]())
	if row < 0 {
		netcode.Misused(p.server, "rewind.Of", reflect.TypeFor[T](), netcode.ErrNoComponent)
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
	held  any // A pointer to the component, so that no call allocates.
	way   quantize.BlendInput
}

// between finds the way of an interpolated row from the tick that had begun to the next one; false where there is none.
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

// row finds or makes what Of needs for an interpolated component; nil for any other.
func (r *rewinder) row(protocol *netcode.Protocol, t reflect.Type, row int) *blendedRow {
	for _, b := range r.rows {
		if b.of == t {
			return b
		}
	}
	in, ok := netcode.SettingOf[replica.Interpolation](protocol, row)
	if !ok {
		return nil
	}
	b := &blendedRow{of: t, held: reflect.New(t).Interface(), Interpolation: in}
	b.blend = b.Blend()
	r.rows = append(r.rows, b)
	return b
}

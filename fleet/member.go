package fleet

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/extend"
	"github.com/arche-netcode/netcode/record"
	"github.com/arche-netcode/netcode/systems"
)

// ErrLost is returned by Run after an Event of the kind Lost.
var ErrLost = errors.New("fleet: the server lost its lease")

const (
	// ticketPatience bounds the wait of a player whose ticket names a match that the fleet has not told yet.
	ticketPatience = 2 * time.Second
	// moveTime bounds a move. A player that is still here then is moved again: the other server may have died.
	moveTime = 45 * time.Second
	// inboxSize bounds the events that wait for the next frame.
	inboxSize = 256
)

// Member is a server that is attached to its fleet. Its methods, except Run and Stats, belong to the loop.
type Member struct {
	config    Config
	runner    *systems.Runner
	server    *netcode.Server
	lifecycle Lifecycle
	any       bool // Of None: tickets of all matches are good.

	// The loop owns these.
	matches matches
	waiting []*waiting
	ready   uint64 // The number of times that the server became ready.
	drain   *draining
	changed bool // The status is another than the last one told.
	players int

	events    chan Event
	moves     chan moveAsk
	found     chan moveFound
	news      news
	end       context.CancelFunc // Ends the loop.
	saved     []byte             // The bytes of record.Save; nil: none.
	saveError error
	lost      error
	ended     bool
	counters  counters
}

// waiting is a player whose match the fleet has not told yet.
type waiting struct {
	approval *netcode.Approval
	ticket   Ticket
	until    netcode.Tick
}

// draining is the state of a drain.
type draining struct {
	until netcode.Tick
	asked map[netcode.ClientID]netcode.Tick // Players for whom a destination was asked, and when to ask again.
}

// Stats has the counters of a Member.
type Stats struct {
	Matches  uint64 // Matches that were allocated to the server.
	Ignored  uint64 // Allocated matches that were malformed, or beyond MaxMatches.
	Refused  uint64 // Players refused because of their ticket.
	Drained  uint64 // Players refused because the server drains.
	Moved    uint64 // Calls of Config.Move without an error.
	Unmoved  uint64 // Failed calls of Config.Move and of Destinations.
	Failed   uint64 // Failed calls of the Lifecycle.
	Stalled  uint64 // Times at which Health was due and no tick had run.
	Answered uint64 // Calls of the Lifecycle without an error.
}

type counters struct {
	matches, ignored, refused, drained, moved, unmoved, failed, stalled, answered atomic.Uint64
}

// Stats returns the counters. Any goroutine may call it.
func (m *Member) Stats() Stats {
	c := &m.counters
	return Stats{
		Matches: c.matches.Load(), Ignored: c.ignored.Load(), Refused: c.refused.Load(), Drained: c.drained.Load(), Moved: c.moved.Load(),
		Unmoved: c.unmoved.Load(), Failed: c.failed.Load(), Stalled: c.stalled.Load(), Answered: c.answered.Load(),
	}
}

// Attach attaches a server, and the loop that runs it, to a fleet. Call it before the first frame, and Member.Run instead of
// Runner.Run. It takes Server.OnApprove for itself: see Config.Approve. It panics on nil.
func Attach(runner *systems.Runner, server *netcode.Server, lifecycle Lifecycle, config Config) *Member {
	if runner == nil || server == nil || lifecycle == nil {
		panic("fleet: Attach: the runner, the server or the lifecycle is nil: give fleet.None() outside of a fleet")
	}
	_, alone := lifecycle.(none)
	m := &Member{
		config: config.withDefaults(), runner: runner, server: server, lifecycle: lifecycle, any: alone, matches: newMatches(),
		events: make(chan Event, inboxSize), moves: make(chan moveAsk, inboxSize), found: make(chan moveFound, inboxSize),
		changed: true, end: func() {},
	}
	m.news.wake = make(chan struct{}, 1)
	server.OnApprove(m.Approve)
	server.OnConnect(func(client netcode.ClientID) {
		m.players++
		m.changed = true
		m.matches.enter(client, m.MatchOf(client), server.Tick())
	})
	server.OnDisconnect(func(netcode.ClientID, *netcode.CloseError) {
		m.players--
		m.changed = true
	})
	server.OnLeave(func(client netcode.ClientID) { m.matches.leave(client, server.Tick()) })
	extend.OfServer(server).Extend(extend.ServerHooks{BeginFrame: m.frame, AfterSend: m.becomeReady})
	return m
}

// TicketOf returns the ticket of a connected player. ok is false for a player without one.
func (m *Member) TicketOf(client netcode.ClientID) (t Ticket, ok bool) {
	_, data, ok := m.server.Proved(client)
	if !ok {
		return t, false
	}
	return ParseTicket(data)
}

// MatchOf returns the ID of the match of a player that is connected or away, also in OnConnect; empty for a player without one.
func (m *Member) MatchOf(client netcode.ClientID) string {
	if t, ok := m.TicketOf(client); ok {
		return t.Match
	}
	if p := m.matches.of[client]; p != nil {
		return p.ID
	}
	return ""
}

// Matches returns the matches that are not over, in the order of their allocation.
func (m *Member) Matches() []Match { return m.matches.list() }

// EndMatch ends a match before its players have left. New players of it are refused. It returns false if there is no such match.
func (m *Member) EndMatch(id string) bool {
	p := m.matches.byID[id]
	if p != nil {
		m.over(p)
	}
	return p != nil
}

// MoveAgain asks for another destination for a player whose move has failed after Config.Move returned. Without it that happens after 45 s.
func (m *Member) MoveAgain(client netcode.ClientID) {
	if m.drain != nil {
		delete(m.drain.asked, client)
	}
}

// Draining reports whether the server drains.
func (m *Member) Draining() bool { return m.drain != nil }

// ticks converts a duration to ticks, rounded up.
func (m *Member) ticks(d time.Duration) netcode.Tick {
	interval := m.server.Interval()
	return netcode.Tick((max(d, 0) + interval - 1) / interval)
}

// frame begins each frame of the server.
func (m *Member) frame() {
	m.take()
	m.decide()
	if m.server.TickDue() && m.config.Empty >= 0 && !m.ended {
		if now, empty := m.server.Tick(), m.ticks(m.config.Empty); now > empty {
			for p := m.matches.empty(now - empty); p != nil; p = m.matches.empty(now - empty) {
				m.over(p)
			}
		}
	}
	m.stepDrain()
	m.tell()
}

// becomeReady ends the first frame.
func (m *Member) becomeReady() {
	if m.ready == 0 {
		m.ready, m.changed = 1, true
		m.tell()
	}
}

// take takes what came from other goroutines.
func (m *Member) take() {
	for range inboxSize {
		select {
		case e := <-m.events:
			m.takeEvent(e)
		case f := <-m.found:
			m.moveTo(f)
		default:
			return
		}
	}
}

func (m *Member) takeEvent(e Event) {
	switch e.Kind {
	case Allocated:
		if m.drain != nil || m.matches.byID[e.Match.ID] != nil {
			return
		}
		if !m.matches.add(e.Match, m.server.Tick()) {
			m.counters.ignored.Add(1)
			return
		}
		m.counters.matches.Add(1)
		m.changed = true
		for client := range m.server.Clients { // Those who have come from another server may be faster than this news.
			m.matches.enter(client, m.MatchOf(client), m.server.Tick())
		}
		if m.config.OnMatch != nil {
			extend.Contain(extend.OfServer(m.server), "fleet.Config.OnMatch", func() { m.config.OnMatch(e.Match) })
		}
	case Drain:
		if e.Err != nil && m.drain == nil {
			m.config.Logger.Info("fleet: the server drains", "why", e.Err)
		}
		m.startDrain()
	case cutDrain:
		if m.drain != nil {
			m.drain.until = m.server.Tick()
		}
	case Lost:
		m.lost = errors.Join(ErrLost, e.Err)
		m.ended = true
		m.end()
	}
}

// over ends a match.
func (m *Member) over(p *played) {
	m.matches.end(p)
	m.changed = true
	if m.config.OnOver != nil {
		extend.Contain(extend.OfServer(m.server), "fleet.Config.OnOver", func() { m.config.OnOver(p.Match) })
	}
	switch {
	case len(m.matches.all) > 0 || m.drain != nil:
	case m.config.Single:
		m.startDrain()
	default:
		m.ready++
	}
}

// Approve decides about a player that wants to join. Attach gives it to Server.OnApprove. Give it to a feature that takes that for
// itself, such as one that lets players arrive from other servers.
func (m *Member) Approve(a *netcode.Approval) {
	ticket, ok := ParseTicket(a.Data)
	switch {
	case a.Host || len(a.Data) == 0:
		ticket, ok = Ticket{}, true // The player in this process, a world without matches, or a socket that proves nothing.
	case !ok:
		m.counters.refused.Add(1)
		a.Refuse("the connect token has no ticket of a fleet")
		return
	}
	switch {
	case m.drain != nil && !m.returns(a.User):
		m.counters.drained.Add(1)
		a.Refuse("the server drains: ask for another one")
	case m.any || ticket.Match == "" || m.matches.byID[ticket.Match] != nil:
		m.config.Approve(a, ticket)
	default:
		m.waiting = append(m.waiting, &waiting{a, ticket, m.server.Tick() + m.ticks(ticketPatience)})
	}
}

// returns reports whether a user is a player that is connected or away.
func (m *Member) returns(user string) bool {
	if user == "" {
		return false
	}
	for client := range m.server.Clients {
		if m.server.Identity(client) == user {
			return true
		}
	}
	for client := range m.server.Away {
		if m.server.Identity(client) == user {
			return true
		}
	}
	return false
}

// decide decides about waiting players whose match was told, and about those that waited long enough.
func (m *Member) decide() {
	m.waiting = slices.DeleteFunc(m.waiting, func(w *waiting) bool {
		switch {
		case !w.approval.Open():
		case m.drain != nil, m.matches.byID[w.ticket.Match] != nil:
			extend.Contain(extend.OfServer(m.server), "fleet.Config.Approve", func() { m.Approve(w.approval) })
		case m.server.Tick() >= w.until:
			m.counters.refused.Add(1)
			w.approval.Refuse("the match is not at this server, or it is over")
		default:
			return false
		}
		return true
	})
}

// startDrain begins a drain, once.
func (m *Member) startDrain() {
	if m.drain != nil {
		return
	}
	m.drain = &draining{until: m.server.Tick() + m.ticks(m.config.Drain), asked: map[netcode.ClientID]netcode.Tick{}}
	m.changed = true
	if m.config.OnDrain != nil {
		extend.Contain(extend.OfServer(m.server), "fleet.Config.OnDrain", func() { m.config.OnDrain(m.config.Drain) })
	}
}

// stepDrain moves players, and ends the server when it is empty or its time is over.
func (m *Member) stepDrain() {
	if m.drain == nil || m.ended {
		return
	}
	if m.players == 0 || m.server.Tick() >= m.drain.until {
		m.ended = true
		m.save()
		m.end()
		return
	}
	if _, ok := m.lifecycle.(Destinations); !ok || m.config.Move == nil {
		return
	}
	for client := range m.server.Clients {
		if m.server.Tick() < m.drain.asked[client] {
			continue
		}
		match := Match{ID: m.MatchOf(client)}
		if p := m.matches.byID[match.ID]; p != nil {
			match = p.Match
		}
		select {
		case m.moves <- moveAsk{client, m.server.Identity(client), match}:
			m.drain.asked[client] = m.drain.until // Until there is an answer.
		default:
			return
		}
	}
}

// moveTo moves a player to a server that was found for it.
func (m *Member) moveTo(f moveFound) {
	if m.drain == nil || m.server.Identity(f.client) != f.user {
		return // It left meanwhile.
	}
	err := f.err
	if err == nil {
		err = errors.New("fleet: Config.Move panicked")
		extend.Contain(extend.OfServer(m.server), "fleet.Config.Move", func() { err = m.config.Move(f.client, f.token) })
	}
	if err != nil {
		m.counters.unmoved.Add(1)
		m.config.Logger.Warn("fleet: a player could not be moved", "client", f.client, "error", err)
		delete(m.drain.asked, f.client)
		return
	}
	m.counters.moved.Add(1)
	m.drain.asked[f.client] = m.server.Tick() + m.ticks(moveTime)
}

// save makes the checkpoint. A server without a tick yet has nothing to save.
func (m *Member) save() {
	if m.config.Checkpoint == nil {
		return
	}
	var b bytes.Buffer
	if err := record.Save(m.server, &b); err == nil {
		m.saved = b.Bytes()
	} else if !errors.Is(err, record.ErrNothingSaved) {
		m.saveError = err
	}
}

// tell passes the state of the frame to the other goroutine.
func (m *Member) tell() {
	m.news.tick.Store(uint64(m.server.Tick()))
	if !m.changed {
		return
	}
	m.changed = false
	s := Status{Players: m.players, Places: m.server.Config().Clients, Matches: m.matches.list(), Draining: m.drain != nil}
	for client := range m.server.Clients {
		if user := m.server.Identity(client); user != "" {
			s.Users = append(s.Users, user)
		}
	}
	slices.Sort(s.Users)
	m.news.put(s, m.ready)
}

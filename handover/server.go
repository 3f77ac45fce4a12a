package handover

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	netecs "github.com/arche-netcode/netcode/ecs"
	"github.com/arche-netcode/netcode/errs"
	"github.com/arche-netcode/netcode/extend"
	"github.com/arche-netcode/netcode/record"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/tick"
)

// drainTime bounds the time in which the last messages to a client that has moved are delivered.
const drainTime = time.Second

// Stats counts the moves of one server.
type Stats struct {
	Begun   uint64 // Moves of players of this server.
	Moved   uint64 // Of these, players that are at their new server.
	Stayed  uint64 // Of these, players that are here as before.
	Unknown uint64 // Of these, players whose client is gone.
	Arrived uint64 // Players that came from another server.
	Refused uint64 // Messages and passes that do not open, or are for another session: forged, or sent twice.
	Void    uint64 // Players that can no longer arrive, since another server asked.
}

// Server moves players from and to one server. It belongs to the goroutine of the server.
type Server struct {
	server *netcode.Server
	group  *systems.ServerSystems // nil before Attach
	config Config
	seal   seal
	stats  Stats

	leaving  map[netcode.ClientID]*departing
	moved    map[netcode.ClientID]bool // clients whose player is at another server, until the frame after their session
	ended    []netcode.ClientID        // of moved: those whose session has ended
	coming   map[string]coming         // approved players that are not connected yet, by identity
	arriving map[netcode.ClientID]*arriving
	known    ids // moves that were begun here from another server

	losses   losses
	work     []func(w *netecs.World) // waits for the world
	onDepart []func(*Departure)
	onEnd    []func(netcode.ClientID, Outcome, error)
	onArrive []func(*Arrival)
	approve  func(*netcode.Approval)
}

// phase is the progress of a player that leaves.
type phase uint8

const (
	offered  phase = iota // the client connects to the new server
	going                 // it has the new world: the next capture is carried
	held                  // what it carries was given out
	asking                // Ask was called
	draining              // the player has left, and its last messages are on the way
)

// departing is one player that leaves.
type departing struct {
	id      ID
	client  netcode.ClientID
	to      string
	phase   phase
	until   netcode.Tick // the end of Patience or Lease, or of draining
	nonce   nonce
	carried []netcode.NetworkID
	gone    bool // its session has ended
}

// newServer makes the state of a server.
func newServer(s *netcode.Server) *Server {
	return &Server{
		server: s, leaving: map[netcode.ClientID]*departing{}, moved: map[netcode.ClientID]bool{},
		coming: map[string]coming{}, arriving: map[netcode.ClientID]*arriving{},
	}
}

// Attach lets players move from and to a server. Call it once, before the first frame. It sets Server.OnApprove: give the game's own
// function to OnApprove of the result. It panics without Register, on a second call and on a Key of zeros.
func Attach(group *systems.ServerSystems, config Config) *Server {
	s, ok := extend.ExtensionOf[*Server](group.Server)
	switch {
	case !ok:
		panic(ErrUnregistered.Error())
	case s.group != nil:
		panic("netcode: handover.Attach: the server has moves already")
	case config.Key == [32]byte{}:
		panic("netcode: handover.Attach: Config.Key is zero: give all servers of the game the same 32 secret bytes")
	}
	if config.Patience <= 0 {
		config.Patience = 30 * time.Second
	}
	if config.Lease <= 0 {
		config.Lease = 10 * time.Second
	}
	if config.Random == nil {
		config.Random = rand.Reader
	}
	sealed, err := newSeal(config.Key, config.Random)
	if err != nil {
		panic("netcode: handover.Attach: " + err.Error())
	}
	s.group, s.config, s.seal = group, config, sealed
	s.server.OnApprove(s.approval)
	s.server.OnConnect(s.connected)
	s.server.OnDisconnect(s.disconnected)
	group.Add(tick.EarlyUpdate, systems.Func(s.update))
	return s
}

// Move begins to move a client to another server. OnEnd tells how it ended. Until then the client plays on. The errors are
// ErrMoving, ErrHost, ErrDestination, errs.ErrNotConnected and that of Config.Random.
func (s *Server) Move(client netcode.ClientID, to Destination) error {
	c := extend.OfServer(s.server).Session(client)
	switch {
	case c == nil || !c.Connected():
		return errs.ErrNotConnected
	case c.Local():
		return ErrHost
	case s.leaving[client] != nil || s.moved[client] || s.Arriving(client):
		return ErrMoving
	case to.Server == "" || len(to.Server) > maxServer || len(to.Token) > maxToken:
		return ErrDestination
	}
	n, err := draw(s.config.Random)
	if err != nil {
		return err
	}
	user := s.server.Identity(client)
	if user == "" {
		user = fmt.Sprintf("move %016x", n)
	}
	ticket, err := s.seal.close(kindPass, (&pass{id: ID(n), user: user}).append(nil))
	if err != nil {
		return err
	}
	if err := netcode.Send(s.server, netcode.To(client), &offer{ID: n, Server: to.Server, Token: to.Token, Pass: ticket}); err != nil {
		return err
	}
	s.stats.Begun++
	s.leaving[client] = &departing{id: ID(n), client: client, to: to.Server, until: s.after(s.config.Patience)}
	return nil
}

// OnDepart adds a function that is called when a player's entities are about to be carried.
func (s *Server) OnDepart(f func(d *Departure)) { s.onDepart = append(s.onDepart, f) }

// OnEnd adds a function that is called when a move from this server has ended. With Moved the player's entities were just removed here. With
// Stayed err is the reason.
func (s *Server) OnEnd(f func(client netcode.ClientID, outcome Outcome, err error)) {
	s.onEnd = append(s.onEnd, f)
}

// OnUndelivered adds a function that is told each reliable message that may not have been handled, when the connection to a client has ended for
// any reason: in the frame after OnDisconnect.
func (s *Server) OnUndelivered(f func(u *Undelivered)) { s.losses.told = append(s.losses.told, f) }

// Moving reports whether a client moves from this server.
func (s *Server) Moving(client netcode.ClientID) bool {
	d := s.leaving[client]
	return d != nil && d.phase < draining
}

// Held reports whether the new server may have a client's player already. Its entities here go on moving. What happens to them
// is lost if the move succeeds: make no deals with it.
func (s *Server) Held(client netcode.ClientID) bool {
	d := s.leaving[client]
	return d != nil && (d.phase == held || d.phase == asking)
}

// Moved reports whether a client's player is at another server: in OnDisconnect it tells that the player has not left the game.
func (s *Server) Moved(client netcode.ClientID) bool { return s.moved[client] }

// Stats returns the counters.
func (s *Server) Stats() Stats { return s.stats }

// after returns the tick after a time.
func (s *Server) after(d time.Duration) netcode.Tick {
	return s.server.Tick() + netcode.Tick(d/s.server.Interval()) + 1
}

// update does what waits for the world.
func (s *Server) update(w *netecs.World) {
	for i := 0; i < len(s.work); i++ {
		s.work[i](w)
	}
	clear(s.work)
	s.work = s.work[:0]
}

// beginFrame ends what takes too long.
func (s *Server) beginFrame() {
	for _, client := range s.ended {
		delete(s.moved, client)
	}
	s.ended = s.ended[:0]
	s.losses.tell(extend.OfServer(s.server))
	if !s.server.TickDue() || len(s.leaving) == 0 {
		return
	}
	now := s.server.Tick()
	for _, d := range s.inOrder() {
		switch {
		case d.phase == draining:
			s.drain(d)
		case now < d.until:
		case d.phase < held:
			s.tell(d, ErrPatience.Error())
			s.end(d, Stayed, ErrPatience)
		case d.phase == held && s.config.Ask != nil:
			s.ask(d)
		case d.phase == held: // Nobody but the client can know, and it says nothing.
			s.release(d)
		}
	}
}

// inOrder returns the players that leave, in the order of their ids.
func (s *Server) inOrder() []*departing {
	list := make([]*departing, 0, len(s.leaving))
	for _, d := range s.leaving {
		list = append(list, d)
	}
	slices.SortFunc(list, func(a, b *departing) int { return int(int64(a.client) - int64(b.client)) })
	return list
}

// captured gives out what players carry, when the world was captured.
func (s *Server) captured() {
	for _, d := range s.inOrder() {
		if d.phase == going {
			if err := s.depart(d); err != nil {
				s.tell(d, err.Error())
				s.end(d, Stayed, err)
			}
		}
	}
}

// depart gives out what a player carries.
func (s *Server) depart(d *departing) error {
	out := Departure{Client: d.client}
	store := s.server.Store()
	for id := range store.All {
		if store.Owner(id) == d.client {
			out.Entities = append(out.Entities, id)
		}
	}
	for _, f := range s.onDepart {
		f(&out)
	}
	var saved bytes.Buffer
	if err := record.SaveSome(s.server, &saved, out.Entities, s.without()); err != nil {
		return err
	}
	c := carried{id: d.id, nonce: d.nonce, data: out.Data, saved: saved.Bytes()}
	sealed, err := s.seal.close(kindCarried, c.append(nil))
	if err != nil {
		return err
	}
	m := carry{ID: uint64(d.id), Tick: uint16(s.server.Tick()), Sealed: sealed}
	switch {
	case s.config.Deliver != nil:
		m.Sealed = nil
	case len(sealed) > MaxCarried:
		return ErrTooLarge
	}
	if err := netcode.Send(s.server, netcode.To(d.client), &m); err != nil {
		return err
	}
	d.phase, d.carried, d.until = held, out.Entities, s.after(s.config.Lease)
	if s.config.Deliver != nil {
		s.config.Deliver(d.to, d.id, sealed)
	}
	return nil
}

// without returns the components that mean something to the old server alone.
func (s *Server) without() (rows snapshot.Mask) {
	if row := s.server.Protocol().Schema().RowOf(reflect.TypeFor[components.SpawnOf]()); row >= 0 {
		rows = rows.With(row)
	}
	return rows
}

// departing returns a client's move of an id.
func (s *Server) departing(client netcode.ClientID, id uint64) *departing {
	if d := s.leaving[client]; d != nil && uint64(d.id) == id {
		return d
	}
	return nil
}

// ready handles the message ready.
func (s *Server) ready(from netcode.ClientID, m *ready) error {
	if d := s.departing(from, m.ID); d != nil && d.phase == offered {
		d.phase, d.nonce = going, m.Nonce
	}
	return nil
}

// left handles the message left.
func (s *Server) left(from netcode.ClientID, m *left) error {
	plain, err := s.seal.open(kindReceipt, m.Receipt)
	if err != nil {
		return err
	}
	id, n, err := parseProof(plain)
	if err != nil {
		return err
	}
	if d := s.departing(from, uint64(id)); d != nil && d.nonce == n && (d.phase == held || d.phase == asking) {
		s.release(d)
	}
	return nil
}

// cancel handles the message cancel.
func (s *Server) cancel(from netcode.ClientID, m *cancel) error {
	d := s.departing(from, m.ID)
	switch {
	case d == nil || d.phase >= asking:
	case d.phase == held && s.config.Ask != nil:
		s.ask(d)
	default:
		s.end(d, Stayed, fmt.Errorf("%w: %q", ErrCancelled, m.Text))
	}
	return nil
}

// ask asks the new server whether a player has arrived.
func (s *Server) ask(d *departing) {
	d.phase = asking
	s.config.Ask(d.to, d.id, func(arrived bool) {
		switch {
		case d.phase != asking:
		case arrived:
			s.release(d)
		default:
			s.tell(d, ErrCancelled.Error())
			s.end(d, Stayed, ErrCancelled)
		}
	})
}

// release removes a player that is at its new server.
func (s *Server) release(d *departing) {
	d.phase, d.until = draining, s.after(drainTime)
	if !d.gone {
		s.moved[d.client] = true
	}
	s.work = append(s.work, func(w *netecs.World) {
		for _, id := range d.carried {
			if e, ok := s.group.Entity(id); ok && w.Alive(e) {
				w.RemoveEntity(e)
			} else {
				s.server.Despawn(id)
			}
		}
		s.stats.Moved++
		s.tellEnd(d, Moved, nil)
		if d.gone {
			if s.leaving[d.client] == d {
				delete(s.leaving, d.client)
			}
			if extend.OfServer(s.server).Session(d.client) == nil { // It may be back already, from the new server.
				s.server.Kick(d.client, "moved") // It is not kept for a return.
			}
		}
	})
}

// drain tells a client that has moved when it has got all messages. It closes then.
func (s *Server) drain(d *departing) {
	c := extend.OfServer(s.server).Session(d.client)
	if c == nil || (c.Waiting() > 0 || c.Unconfirmed() > 0) && s.server.Tick() < d.until {
		return
	}
	if netcode.Send(s.server, netcode.To(d.client), &done{ID: uint64(d.id)}, netcode.AfterAllState()) == nil {
		delete(s.leaving, d.client)
	}
}

// tell tells a client that its move has ended.
func (s *Server) tell(d *departing, text string) {
	if !d.gone {
		_ = netcode.Send(s.server, netcode.To(d.client), &stop{ID: uint64(d.id), Text: cut(text)}) // Else its session ends.
	}
}

// cut returns a text that fits into a message.
func cut(text string) string { return text[:min(len(text), maxText)] }

// end ends a move of a player that has not moved.
func (s *Server) end(d *departing, outcome Outcome, err error) {
	d.phase = draining
	delete(s.leaving, d.client)
	if outcome == Unknown {
		s.stats.Unknown++
	} else {
		s.stats.Stayed++
	}
	s.tellEnd(d, outcome, err)
}

// tellEnd calls the functions of OnEnd.
func (s *Server) tellEnd(d *departing, outcome Outcome, err error) {
	for _, f := range s.onEnd {
		extend.Contain(extend.OfServer(s.server), "OnEnd", func() { f(d.client, outcome, err) })
	}
}

// disconnected handles the end of a session.
func (s *Server) disconnected(client netcode.ClientID, reason *netcode.CloseError) {
	delete(s.arriving, client)
	s.ended = append(s.ended, client)
	d := s.leaving[client]
	if d == nil {
		return
	}
	d.gone = true
	switch {
	case d.phase == draining:
		delete(s.leaving, client)
	case d.phase < held:
		s.end(d, Stayed, reason)
	case d.phase == held && s.config.Ask != nil:
		s.ask(d)
	case d.phase == held:
		s.end(d, Unknown, errors.Join(ErrCancelled, reason))
	}
}

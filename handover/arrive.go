package handover

import (
	"bytes"
	"fmt"
	"maps"
	"slices"

	"github.com/arche-netcode/netcode"
	netecs "github.com/arche-netcode/netcode/ecs"
	"github.com/arche-netcode/netcode/extend"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/tick"
)

// mostMissed is the maximum number of ticks of input before its arrival that a client may name in Arrival.Since.
const mostMissed = 32

// Arrival is a player that has come from another server.
type Arrival struct {
	ID       ID               // The move.
	Client   netcode.ClientID // Its number at this server.
	User     string           // Its identity, as at the old server.
	Entities []netecs.Entity  // Its entities, in the order of Departure.Entities. They belong to Client.
	Data     []byte           // Departure.Data.
	// Since is the first tick of this server whose input the player's state does not contain. It is the client's word, at most
	// 32 ticks before the last one that was simulated.
	Since netcode.Tick

	last netcode.Tick // the last tick that was simulated
}

// Missed yields the ticks that were simulated here while the player was on its way. Its inputs of these ticks have come with all
// others: a game that loses none runs its rule for the player's entities, with input.At of each tick.
func (a *Arrival) Missed(yield func(netcode.Tick) bool) {
	for t := a.Since; t <= a.last; t++ {
		if !yield(t) {
			return
		}
	}
}

// arriving is a client that comes from another server.
type arriving struct {
	id    ID
	user  string
	nonce nonce
	taken bool // what it carries has come, or is void
	void  bool // Void was called
	here  bool // the player is here
}

// OnArrive adds a function that is called when a player has come, with the world unlocked and before its entities are captured.
func (s *Server) OnArrive(f func(a *Arrival)) { s.onArrive = append(s.onArrive, f) }

// OnApprove sets the game's function for clients that do not come from another server: see netcode.Server.OnApprove. Nil accepts
// all.
func (s *Server) OnApprove(f func(a *netcode.Approval)) { s.approve = f }

// Arriving reports whether a client comes from another server and its player is not here yet. In OnConnect it tells that the
// game makes no body for the player.
func (s *Server) Arriving(client netcode.ClientID) bool {
	a := s.arriving[client]
	return a != nil && !a.here
}

// Arrived reports whether a connected client's player came from another server.
func (s *Server) Arrived(client netcode.ClientID) bool {
	a := s.arriving[client]
	return a != nil && a.here
}

// approval decides about a client. A player from another server has a pass in its payload.
func (s *Server) approval(a *netcode.Approval) {
	plain, err := s.seal.open(kindPass, a.Payload)
	if err != nil {
		if s.approve != nil {
			s.approve(a)
		} else {
			a.Accept("")
		}
		return
	}
	p, err := parsePass(plain)
	_, used := s.known.find(p.id)
	switch {
	case err != nil || a.User != "" && a.User != p.user:
		s.stats.Refused++
		a.Refuse("the pass of another player")
		return
	case s.gaveOut(p.id):
		s.stats.Refused++
		a.Refuse("the player is at this server already")
		return
	case used:
		s.stats.Refused++
		a.Refuse("the pass was used before")
		return
	}
	s.known.add(p.id)
	now := s.server.Tick()
	maps.DeleteFunc(s.coming, func(_ string, c coming) bool { return c.until < now }) // Approved, and never connected.
	if len(s.coming) >= s.server.Config().Clients {
		a.Refuse("too many players arrive at once")
		return
	}
	s.coming[p.user] = coming{id: p.id, until: s.after(2 * s.server.Config().HandshakeTimeout)}
	a.Accept(p.user)
}

// gaveOut reports whether a pass is of a player that leaves this server now: it moves to where it is.
func (s *Server) gaveOut(id ID) bool {
	for _, d := range s.leaving {
		if d.id == id {
			return true
		}
	}
	return false
}

// coming is an approved player that is not connected yet.
type coming struct {
	id    ID
	until netcode.Tick
}

// connected begins an arrival.
func (s *Server) connected(client netcode.ClientID) {
	user := s.server.Identity(client)
	c, ok := s.coming[user]
	if !ok {
		return
	}
	delete(s.coming, user)
	a := &arriving{id: c.id, user: user}
	s.arriving[client] = a
	for i := range a.nonce {
		n, err := draw(s.config.Random)
		if err != nil {
			s.server.Report(err)
			return
		}
		a.nonce[i] = n
	}
	sendTo(s, client, &here{Nonce: a.nonce}, netcode.AfterAllState())
}

// bring handles the message bring.
func (s *Server) bring(from netcode.ClientID, m *bring) error {
	a := s.arriving[from]
	if a == nil || a.taken || uint64(a.id) != m.ID {
		s.stats.Refused++ // Void meanwhile, or sent twice.
		return nil
	}
	c, err := s.opened(a, m.Sealed)
	if err != nil {
		return err
	}
	s.arrive(from, a, c, tick.Near(m.Since, s.server.Tick()))
	return nil
}

// Deliver takes what a player carries from Config.Deliver of the old server. The player must be connected already, which it is
// when the old server calls. The error says that nobody waits for it: the move fails.
func (s *Server) Deliver(id ID, sealed []byte) error {
	for client, a := range s.arriving {
		if a.id != id || a.taken {
			continue
		}
		c, err := s.opened(a, sealed)
		if err == nil {
			s.arrive(client, a, c, s.server.Tick()+1)
		}
		return err
	}
	s.stats.Refused++
	return fmt.Errorf("netcode: handover: nobody waits for move %016x", uint64(id))
}

// opened opens what is carried to an arrival.
func (s *Server) opened(a *arriving, sealed []byte) (carried, error) {
	plain, err := s.seal.open(kindCarried, sealed)
	if err != nil {
		return carried{}, err
	}
	c, err := parseCarried(plain)
	if err == nil && (c.nonce != a.nonce || c.id != a.id) {
		err = errSealed
	}
	return c, err
}

// arrive spawns a player when the world may be changed, which is in this frame or the next one.
func (s *Server) arrive(client netcode.ClientID, a *arriving, c carried, since netcode.Tick) {
	a.taken = true
	s.work = append(s.work, func(w *netecs.World) {
		if s.arriving[client] != a || a.void {
			return // Its session has ended, or the old server has it again.
		}
		entities, err := systems.LoadFor(s.group, w, bytes.NewReader(c.saved), client)
		if err != nil {
			sendTo(s, client, &stop{ID: uint64(a.id), Text: cut(err.Error())})
			return
		}
		s.known.arrived(a.id)
		a.here = true
		s.stats.Arrived++
		last := s.server.Tick() - netcode.Tick(s.server.Steps())
		since = min(max(since, last-mostMissed+1), last+1)
		out := Arrival{ID: a.id, Client: client, User: a.user, Entities: entities, Data: c.data, Since: since, last: last}
		for _, f := range s.onArrive {
			extend.Contain(extend.OfServer(s.server), "OnArrive", func() { f(&out) })
		}
		s.confirm(client, a)
	})
}

// confirm tells a client that its player is here, when it has the player's entities.
func (s *Server) confirm(client netcode.ClientID, a *arriving) {
	receipt, err := s.seal.close(kindReceipt, appendProof(nil, a.id, a.nonce))
	if err != nil {
		s.server.Report(err)
		return
	}
	sendTo(s, client, &arrived{ID: uint64(a.id), Tick: uint16(s.server.Tick()), Receipt: receipt}, netcode.AfterAllState())
}

// Void answers Config.Ask of another server: whether a player has arrived here. If not, it never will.
func (s *Server) Void(id ID) (arrived bool) {
	if arrived, _ = s.known.find(id); arrived {
		return true
	}
	s.stats.Void++
	s.known.add(id) // Its pass does not open the door any more.
	for _, a := range s.arriving {
		if a.id == id {
			a.taken, a.void = true, true
		}
	}
	return false
}

// ids remembers the newest moves to this server.
type ids struct {
	order []ID
	have  map[ID]bool // whether the player has arrived
}

// maxIDs bounds the remembered moves.
const maxIDs = 4096

// find returns whether a move is known, and whether its player has arrived.
func (l *ids) find(id ID) (arrived, known bool) {
	arrived, known = l.have[id]
	return arrived, known
}

// add remembers a move.
func (l *ids) add(id ID) {
	if _, ok := l.have[id]; ok {
		return
	}
	if l.have == nil {
		l.have = map[ID]bool{}
	}
	if len(l.order) == maxIDs {
		delete(l.have, l.order[0])
		l.order = slices.Delete(l.order, 0, 1)
	}
	l.order, l.have[id] = append(l.order, id), false
}

// arrived notes that the player of a move has arrived.
func (l *ids) arrived(id ID) {
	l.add(id)
	l.have[id] = true
}

// sendTo sends a message of this package.
func sendTo[T any](s *Server, client netcode.ClientID, m *T, how ...netcode.Option) {
	if err := netcode.Send(s.server, netcode.To(client), m, how...); err != nil {
		s.server.Report(fmt.Errorf("netcode: handover: %w", err))
	}
}

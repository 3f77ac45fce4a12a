package netcode

import (
	"github.com/arche-netcode/netcode/errs"
	"github.com/arche-netcode/netcode/internal/events"
	"github.com/arche-netcode/netcode/internal/handshake"
	"github.com/arche-netcode/netcode/internal/held"
	"github.com/arche-netcode/netcode/internal/peer"
	"github.com/arche-netcode/netcode/internal/replica"
	"github.com/arche-netcode/netcode/internal/report"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/transport"
)

// maxLingering bounds the sessions that only repeat their close message.
const maxLingering = 256

// End ends the connection at once and tells the client the reason. OnDisconnect is called later in the same frame.
func (c *session) End(reason *CloseError) { c.server.end(c, reason, closeTold) }

// open makes the session of a client that has joined, and sends Welcome.
func (s *Server) open(joined handshake.Session, seed peer.SkipSeed) {
	o := s.protocol.types.OlderOf(joined.Protocol)
	in, out := handshake.Checksums(joined.Epoch, joined.Protocol)
	joined.Phase = handshake.Ended // forDoor knows better while it has not ended.
	c := &session{id: joined.Client, joined: joined, welcomed: true}
	s.begin(c, joined.Address, peer.NewConn(o.Conn(s.config.conn(out, in))), seed)
	c.link.Older, c.link.Held = o, new(held.Queue)
	s.byAddress[joined.Address.Peer()] = c
	s.homes.Join(&c.link.Link)
	if s.protocol.types.Upstream {
		c.link.State = replica.New(s.protocol.types.Schema, o.State(s.config.snapshot()), s.Tick())
	}
	s.door.Welcome(c.forDoor())
	s.connect(c)
}

// begin adds a new session and its connection.
func (s *Server) begin(c *session, address transport.Addr, conn *peer.Conn, seed peer.SkipSeed) {
	c.state, c.server, c.link = connected, s, s.core.NewLink(c)
	c.link.Start(address, conn, c.id, seed)
	s.counts[connected]++
	s.byID[c.id] = c
	s.sessions = append(s.sessions, c)
}

// move changes a session's state and the counts.
func (s *Server) move(c *session, to sessionState) {
	s.counts[c.state]--
	s.counts[to]++
	c.state = to
}

// connect makes the client of a session known to the game.
func (s *Server) connect(c *session) {
	config := c.link.Older.State(s.config.snapshot())
	config.Client = c.id
	c.link.Show(snapshot.NewView(s.store, config))
	if s.judged { // Before the next network tick, messages to the seers of an entity would reach a client that may not see it.
		s.interest.Update(c.id, c.link.View)
	}
	s.openStates(c)
	s.stats.Connected++
	s.events.Add(events.Event{Client: c.id})
	if s.report.Enabled(report.Info) {
		s.report.Log(report.Info, "client connected", "client", c.id, "address", c.link.Address)
	}
}

// closeMode is the kind of notice to the other end that a connection is over.
type closeMode uint8

const (
	closeQuiet   closeMode = iota // No notice.
	closeTold                     // A close message, with repeats.
	closeFlushed                  // A close message after the delivery of all messages.
)

// end removes a client from the game.
func (s *Server) end(c *session, reason *errs.CloseError, how closeMode) {
	if c.state >= lingering {
		return
	}
	if c.state == leaving {
		how = closeQuiet
	}
	c.reason = reason
	s.stats.Disconnected++
	s.events.Add(events.Event{Client: c.id, Reason: reason})
	if s.report.Enabled(report.Info) {
		s.report.Log(report.Info, "client disconnected", "client", c.id, "reason", reason.Error())
	}
	s.homes.Leave(&c.link.Link)
	s.door.Leave(c.forDoor(), c.id, reason)
	s.leaveInterest(c.id)
	if how == closeFlushed && c.state == connected && c.link.Loopback == nil {
		s.core.ReleaseLast(&c.link)
	}
	s.forget(c)
	s.closeStates(c)
	c.link.View = nil
	c.link.DropHeld()
	c.link.Forget()
	if c.link.Loopback != nil && c.state == connected {
		if c.player != nil {
			c.player.unhost(reason)
		}
		how = closeQuiet
	}
	if how == closeQuiet {
		s.remove(c)
		return
	}
	s.move(c, lingering)
	full := s.counts[lingering] > maxLingering
	c.link.StartClose(reason, how == closeFlushed && !full)
	if full {
		s.stats.LingeringFull++
		s.remove(c)
	}
}

// remove deletes a session, except from the list, where sweep deletes it.
func (s *Server) remove(c *session) {
	if c.state == gone {
		return
	}
	s.forget(c)
	if name := c.link.Address.Peer(); s.byAddress[name] == c {
		delete(s.byAddress, name)
	}
	c.link.DropOutgoing()
	s.ended.Add(c.link.Conn.Stats())
	s.move(c, gone)
}

// sweep removes the sessions in state gone from the list.
func (s *Server) sweep() {
	kept := s.sessions[:0]
	for _, c := range s.sessions {
		if c.state != gone {
			kept = append(kept, c)
		}
	}
	clear(s.sessions[len(kept):])
	s.sessions = kept
	s.counts[gone] = 0
}

// startLeaving begins to handle the client's accepted reliable messages. Then the client leaves the game.
func (s *Server) startLeaving(c *session, reason *errs.CloseError) {
	if !isOrderly(reason) || !s.core.Inbound.MayHold(c.link.Source) {
		s.end(c, reason, closeQuiet)
		return
	}
	s.move(c, leaving)
	c.link.DropHeld()
	c.link.StartDrain(reason)
}

// finishLeaving ends the leaving sessions without waiting messages.
func (s *Server) finishLeaving() {
	s.leavers = s.leavers[:0]
	for _, c := range s.sessions {
		if c.state == leaving {
			s.leavers = append(s.leavers, c.link.Source)
		}
	}
	s.core.Inbound.CountUnhandled(s.leavers)
	clear(s.leavers)
	for _, c := range s.sessions {
		if c.state == leaving && c.link.Drained() {
			s.end(c, c.link.Reason, closeQuiet)
		}
	}
}

package netcode

import (
	"fmt"
	"io"
	"time"

	"github.com/arche-netcode/netcode/peer"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
)

// secretFor is how long a secret of the cookies is used.
const secretFor = time.Minute

// repeatMost is how many unconfirmed entities are repeated early: about a packet. More of them, as after a join, would
// cost more than the wait.
const repeatMost = 64

// Send ends a frame: it gives up on clients that fell silent or whose queues overflowed, and builds for each client the
// packets that its budget allows: messages in every frame, state on a network tick. They wait for Drain.
// It is a step of the frame, which the systems call: a message is sent by the function netcode.Send.
//
// What there is nothing to do for is not entered: a tick runs once between two sleeps of the process, and finds none of its code at hand.
func (s *Server) Send() {
	s.expire()
	if s.counts[leaving] > 0 {
		s.seeOff()
	}
	if s.frame.now-s.secretAt >= secretFor {
		s.rotateSecret()
	}
	if s.worldless.Waits() {
		s.publishAlone()
	}
	if len(s.hooks.captured) > 0 && s.frame.due && s.store.Tick() == s.Tick() {
		call(s.hooks.captured)
	}
	if s.interest != nil {
		s.judgeInterest()
	}
	call(s.hooks.beforeSend)
	if len(s.store.LargeGroups()) > 0 {
		s.reportGroups()
	}
	if s.frame.due {
		s.store.ClearHandovers()
	}
	s.serveAll()
	s.sentUpTo = s.Tick()
	call(s.hooks.afterSend)
	s.endFrame()
	if s.counts[gone] > 0 {
		s.sweep()
	}
	s.events.fire()
}

// rotateSecret makes the secret of the cookies anew, so that one that leaks is of no use for long. The cookies that are out
// stay good for their few seconds.
func (s *Server) rotateSecret() {
	s.secretAt = s.frame.now
	var secret [32]byte
	if _, err := io.ReadFull(s.config.Random, secret[:]); err != nil {
		s.Report(fmt.Errorf("netcode: Config.Random: %w", err))
		return
	}
	s.cookies.Rotate(secret)
}

// expire ends the sessions whose time is over.
func (s *Server) expire() {
	for _, c := range s.sessions {
		switch {
		case c.near != nil:
		case c.state == connected && c.silent():
			s.stats.SilenceTimeouts++
			s.end(c, &peer.Error{Reason: peer.ReasonTimeout}, endTold)
		case c.state == lingering && c.farewell((*outcome)(c)):
			s.remove(c)
		}
	}
}

// serve sends a client what a frame between two ticks owes it. On a tick it only finds out what that is and says true: then
// the client's packets are to be filled, which changes nothing but what is the client's own.
func (s *Server) serve(c *Session) (due bool) {
	if c.state != connected {
		return false
	}
	if c.near != nil {
		s.observe(c) // What it may see is asked for all the same.
		if s.frame.due {
			s.handSections(c)
		}
		return false
	}
	if reason := c.overrun(s.Tick()); reason != nil {
		s.end(c, reason, endTold)
		return false
	}
	s.observe(c)
	if c.early.count > 0 {
		s.release(&c.link, c)
	}
	if c.recaller.sights != c.view.Sights() { // After all that the game is told of in this call, which may have made it hide something.
		s.recall(c)
	}
	c.budget.Refill(s.frame.now)
	if !s.frame.due {
		if !c.starved {
			c.sendMessages()
		}
		return false
	}
	if !c.met && !c.opened {
		s.welcome(c)
	}
	c.opened = false
	c.conn.DetectLost(s.frame.now, (*outcome)(c))
	if c.theirs != nil {
		s.askResync(c)
	}
	s.repeat(c)
	c.view.Plan(c.budget.Left())
	return true
}

// deliver sends a client what a tick owes it.
func (s *Server) deliver(c *Session, desk *snapshot.EncodeCache) {
	s.fill(c, desk)
	c.starved = c.view.Pending() // Then messages wait for the next tick, where state gets its half.
	s.pulse(c)
	if c.conn.AckDue() {
		c.sendAck()
	}
}

// pulse tells a client the server's tick when no snapshot did for a while, so that its clocks go on in a world at rest, and
// once when snapshots end, so that it knows that what moved has stopped. Where state waits for the budget they have not ended.
func (s *Server) pulse(c *Session) {
	ended := c.moving && c.timed != s.frame.now && !c.starved
	c.moving = c.timed == s.frame.now
	if !ended && s.frame.now-c.timed < min(s.config.KeepAlive, s.config.Pulse) {
		return
	}
	var payload [pulseSize]byte
	putPulse(payload[:], s.frame.clock.Tick())
	if c.keepAlive(0, payload[:]) {
		c.timed, c.moving = s.frame.now, false
	}
}

// repeat spends a tick in which there is nothing new on what is still unconfirmed after half a round trip, so that the
// last packets before a rest do not have to wait for their loss to be noticed, again and again on a bad link.
func (s *Server) repeat(c *Session) {
	if s.config.NoRepeat || c.view.Pending() || c.view.Unacked() > repeatMost {
		return
	}
	rtt, _ := c.conn.RTT()
	c.view.Repeat(s.store.Tick() - max(1, tick.Tick(rtt/2/s.config.interval())))
}

// fill sends packets until the client lacks nothing, or its budget or its ring of sent packets is used up.
func (s *Server) fill(c *Session, desk *snapshot.EncodeCache) {
	for c.view.Pending() || c.wants() || s.sectionsDue(c, false) {
		if c.short() || !s.sendPacket(c, desk) {
			return
		}
	}
}

// sendPacket builds one packet: the messages that wait, then the rows that the client lacks. Where messages left no room
// for rows, or took more than their share, the next packet is for rows alone. It says false when there was nothing that
// fits, or no room for a packet.
func (s *Server) sendPacket(c *Session, desk *snapshot.EncodeCache) bool {
	b, ok := c.beginPacket()
	if !ok {
		return false
	}
	s.addSections(c, &b)
	borrowed := false
	if !c.stateFirst {
		borrowed = c.load(&b, c.view.Pending())
	}
	wrote := s.addSnapshot(c, &b, desk)
	c.stateFirst = (borrowed || !wrote && !b.Empty()) && c.view.Pending()
	if b.Empty() {
		return false
	}
	c.finish(&b)
	return true
}

// addSnapshot writes the rows that the client lacks, as many as fit. It says false when none did.
func (s *Server) addSnapshot(c *Session, b *peer.Builder, desk *snapshot.EncodeCache) bool {
	if s.store.Tick() == tick.None || !c.addState(b, c.view, desk) {
		return false
	}
	c.timed = s.frame.now
	return true
}

// reportOversize names an entity that does not fit into a packet, once for each client and entity in a row.
func (s *Server) reportOversize(c *Session) {
	if c.view.Oversize() == c.oversize {
		return
	}
	stats := c.view.Stats()
	s.stats.Oversize += stats.Oversize - c.oversize
	c.oversize = stats.Oversize
	if stats.OversizeID == c.oversizeID {
		return
	}
	c.oversizeID = stats.OversizeID
	s.Report(&OversizeError{Entity: stats.OversizeID, Client: c.id, Max: peer.MaxPayload(c.packetSize)})
}

package netcode

import (
	"errors"
	"fmt"
	"time"

	"github.com/arche-netcode/netcode/errs"
	"github.com/arche-netcode/netcode/internal/endpoint"
	"github.com/arche-netcode/netcode/internal/link"
	"github.com/arche-netcode/netcode/internal/peer"
	"github.com/arche-netcode/netcode/internal/replica"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/wire"
)

// resyncEvery is the shortest time between two resyncs of one client: each sends the whole world.
const resyncEvery = 2 * time.Second

// BeginFrame starts a frame. now is the time since any fixed moment and never runs backwards.
func (s serverInside) BeginFrame(now time.Duration) {
	stall := s.frame.Begin(now)
	s.report.Now = s.frame.Now
	if stall > 0 {
		for _, c := range s.sessions {
			c.link.Shift(stall)
		}
		s.door.Players.Shift(stall)
	}
	s.core.BeginFrame()
	for _, f := range s.hooks.beginFrame {
		f()
	}
}

// Receive takes one datagram. It keeps nothing of packet. A datagram from an address without a connection that is no
// handshake is counted and dropped, silently.
func (s serverInside) Receive(from transport.Addr, packet []byte) { s.steps.receive(from, packet) }

// receiveDatagram implements Receive.
func (s *Server) receiveDatagram(from transport.Addr, packet []byte) {
	c := s.byAddress[from.Peer()]
	switch kind := peer.KindOf(packet); {
	case kind == peer.KindPacket && c != nil:
		s.receivePacket(c, packet)
	case kind == peer.KindPacket:
		s.stats.Strangers++
	default:
		s.door.Receive(kind, from, packet)
	}
	s.events.Fire()
}

// Knows reports whether a session has this address. A socket whose peers share a queue is told so (transport.Ranker): peers without a
// session get less of it.
func (s serverInside) Knows(from transport.Addr) bool { return s.byAddress[from.Peer()] != nil }

// ReceiveAfter is Receive of a datagram that came to the socket some time before this frame, as transport.Timed tells: ClientStats.Ping does
// not count that wait.
func (s serverInside) ReceiveAfter(from transport.Addr, packet []byte, waited time.Duration) {
	s.frame.Waited = max(waited, 0)
	s.Receive(from, packet)
	s.frame.Waited = 0
}

// receivePacket handles a packet from a client. Either the whole packet takes effect, or none of it does and it is not
// acknowledged.
func (s *Server) receivePacket(c *session, packet []byte) {
	in, err := c.link.Read(packet)
	if err != nil {
		s.unreadable(c, err)
		return
	}
	if c.state == leaving {
		if c.link.ClosingPacket(in, peer.RoleServer) {
			c.link.SendAck()
		}
		return
	}
	if c.state == lingering {
		if c.link.ClosingPacket(in, peer.RoleServer) || c.link.CloseAcked {
			s.remove(c)
		}
		return
	}
	content, reason := s.core.Judge(&c.link, &in)
	if reason != nil {
		s.refusePacket(c, reason)
		return
	}
	c.link.ReceivedAt, c.confirmed = s.frame.Now, true
	if content.Snapshot != nil && !s.readUpstream(c, content.Snapshot) {
		return
	}
	if reason := s.core.Take(&c.link, &in, &content); reason != nil {
		s.refusePacket(c, reason)
		return
	}
	s.resync(c, content)
	if closed := c.link.Accept(in, &content); closed != nil {
		s.startLeaving(c, closed)
	}
}

// unreadable ends the connection for an unreadable packet, unless anyone could have sent it: a wrong checksum, or a
// duplicate. After a client closed in order, only its close message counts.
func (s *Server) unreadable(c *session, err error) {
	if c.state == leaving {
		return
	}
	switch reason := peer.CloseReason(err); reason {
	case errs.ReasonNone:
	case errs.ReasonMalformed:
		s.refusePacket(c, endpoint.CloseError(err))
	default:
		s.end(c, &errs.CloseError{Reason: reason}, closeTold)
	}
}

// refusePacket ends the connection of a client whose packet has a valid checksum and illegal contents.
func (s *Server) refusePacket(c *session, reason *errs.CloseError) {
	s.core.Counters.Refused(reason)
	s.end(c, reason, closeTold)
}

// readUpstream reports whether a packet may be acknowledged, since the client's snapshot was decoded whole.
func (s *Server) readUpstream(c *session, payload []byte) bool {
	err := c.link.State.Read(payload)
	switch {
	case err == nil:
		return true
	case errors.Is(err, replica.ErrGuarded):
		s.strike(c)
	case errors.Is(err, replica.ErrStale):
		s.stats.StaleSnapshots++
	case errors.Is(err, replica.ErrBaseline):
		s.stats.LostBaselines++
	default:
		s.refusePacket(c, endpoint.CloseError(err))
	}
	return false
}

// strike counts a packet that no honest client sends. After Config.Strikes of them the connection ends.
func (s *Server) strike(c *session) {
	s.stats.NotAllowed++
	if c.strikes++; c.strikes >= s.config.Strikes {
		c.End(&errs.CloseError{Reason: errs.ReasonNotAllowed, Detail: fmt.Sprintf("%d writes without authority", c.strikes)})
	}
}

// resync sends all state again to a client that lost its versions, at most every two seconds: it costs the whole world.
func (s *Server) resync(c *session, content endpoint.Contents) {
	if !content.Resync || c.link.View == nil || c.link.View.Served(content.ResyncEpoch) {
		return
	}
	if c.resynced && s.frame.Now-c.resyncAt < resyncEvery {
		s.stats.ResyncsDeferred++
		return
	}
	c.resynced, c.resyncAt = true, s.frame.Now
	s.stats.Resyncs++
	c.link.View.Resync(content.ResyncEpoch, c.link.Conn.Next())
}

// Dispatch hands the messages that wait for a stage to their handlers, and makes it the stage that the server is in. A stage
// may be dispatched any number of times in a frame; what waits for one that is not waits on. A handler that panics ends
// the connection of the sender, unless the server sent the message to itself. OnError is given a *PanicError, and the log has its stack.
func (s serverInside) Dispatch(stage tick.Stage) {
	s.core.Inbound.Drain(stage)
}

// Send ends a frame: it ends sessions that are silent or whose queues overflowed, and builds for each client the packets that
// its budget allows: messages in every frame, state on a network tick. They wait for Drain.
// It is a step of the frame, which the systems call: a message is sent by the function netcode.Send.
func (s serverInside) Send() { s.steps.send() }

// sendFrame implements Send. A cheap test skips each step that has nothing to do: after a sleep of the process the code
// is no longer in the instruction cache, and a skipped call saves the miss.
func (s *Server) sendFrame() {
	s.expire()
	if s.counts[leaving] > 0 {
		s.finishLeaving()
	}
	now := s.frame.Clock.Tick()
	if s.frame.Due && s.store.Tick() < now && s.worldless.Waits() { // No other code captured this tick.
		s.store.Begin(now)
		serverInside{s}.Publish()
		s.store.Commit()
	}
	if len(s.hooks.captured) > 0 && s.frame.Due && s.store.Tick() == now {
		for _, f := range s.hooks.captured {
			f()
		}
	}
	if len(s.earlySights) > 0 {
		s.applyEarlySights()
	}
	if s.interest != nil {
		s.judgeInterest()
	}
	if s.asksBands && s.frame.Due && s.store.Tick()%viewpointTicks == 0 {
		s.missBands()
	}
	for _, f := range s.hooks.beforeSend {
		f()
	}
	if len(s.store.LargeGroups()) > 0 {
		s.reportGroups()
	}
	if s.frame.Due {
		s.store.ClearHandovers()
	}
	s.writeTick()
	s.core.EndFrame(s.hooks.afterSend)
	if s.counts[gone] > 0 {
		s.sweep()
	}
	s.events.Fire()
}

// writeTick sends every client its packets of this frame. It prepares each client, then writes the packets of the due ones.
func (s *Server) writeTick() {
	before := len(s.filling)
	s.filling = s.filling[:0]
	for _, c := range s.sessions {
		if s.prepareTick(c) {
			s.filling = append(s.filling, c)
		}
	}
	if now := len(s.filling); now < before {
		clear(s.filling[now:before])
	}
	cache := s.store.EncodeCache()
	for _, c := range s.filling {
		s.writePackets(c, cache)
		if c.link.View.Oversize() != c.oversize {
			s.reportOversize(c)
		}
	}
	if s.frame.Due && len(s.homes) > 0 {
		s.homes.EndTick(s.frame.Now)
	}
}

// prepareTick sends a client its messages in a frame between two network ticks. On a network tick it updates the view
// (View.Observe), plans the order of sending (View.Plan) and returns true. writePackets then fills the client's packets
// and changes only this session.
func (s *Server) prepareTick(c *session) (due bool) {
	if c.state != connected {
		return false
	}
	if c.link.Loopback != nil {
		s.observe(c) // Its view is updated all the same.
		if s.frame.Due {
			s.core.PassSections(&c.link, nil)
		}
		return false
	}
	if reason := c.link.Overrun(s.frame.Clock.Tick()); reason != nil {
		s.end(c, reason, closeTold)
		return false
	}
	s.observe(c)
	s.core.Release(&c.link)
	c.link.Recall()
	c.link.Refill()
	if !s.frame.Due {
		if !c.sending.stateLeft && !(c.sending.stateHeld && c.link.View.Pending()) {
			c.link.SendMessages()
		}
		return false
	}
	if !c.confirmed && !c.welcomed {
		s.door.Welcome(c.forDoor())
	}
	c.welcomed = false
	c.link.DetectLost()
	if c.link.State != nil { // It requests all state of the client again if it lost versions that records are coded against.
		if epoch, want := c.link.State.WantResync(); want {
			c.link.SendResync(epoch)
		}
	}
	if !s.config.NoRepeat && !c.link.View.Pending() {
		s.repeat(c)
	}
	c.link.View.Plan(c.link.Budget.Left())
	return true
}

// observe updates a client's view with the newest capture. It calls BeforeObserve of the extensions first.
func (s *Server) observe(c *session) {
	for _, f := range s.hooks.observe {
		f(c, c.link.View)
	}
	c.link.View.Observe()
}

// writePackets sends a client its packets of a network tick, until it lacks nothing or its budget is used up.
func (s *Server) writePackets(c *session, cache *snapshot.EncodeCache) {
	if size := c.link.Conn.SettledSize(); size != c.link.Fitted {
		c.link.FitPath(c.link.View, size)
	}
	c.sending.stateHeld, c.sending.reserved = false, 0
	for _, f := range s.hooks.hold {
		hold, reserve := f(c, c.link.Budget.Left())
		c.sending.stateHeld, c.sending.reserved = c.sending.stateHeld || hold, max(c.sending.reserved, reserve)
	}
	for c.stateWaits() || c.link.MessagesWait() && c.mayAddMessages() || s.core.Sections.Due(c, false) {
		if c.link.OutOfBudget() || !s.writePacket(c, cache) { // No budget, or no room in the ring of sent packets.
			break
		}
	}
	if size := c.link.Conn.ProbeDue(s.frame.Now); size > 0 {
		var room [link.PulseSize + 1]byte
		c.link.Probe(size, c.link.PulsePayload(&room, true))
	}
	c.sending.stateLeft = c.stateWaits() // Then messages wait for the next tick, where state gets its half.
	for _, f := range s.hooks.stateSent {
		f(c, c.link.Budget.Left(), c.sending.stateLeft)
	}
	c.link.EndTick(c.link.View.Pending() || c.link.MessagesWait())
	s.pulse(c)
	if c.link.Conn.AckDue() {
		c.link.SendAck()
	}
}

// writePacket builds one packet: sections, waiting messages, then rows that the client lacks. If messages left no room for
// rows, or took more than their share, the next packet has rows alone. It returns false if nothing fitted, or without
// room for a packet.
func (s *Server) writePacket(c *session, cache *snapshot.EncodeCache) bool {
	b, ok := c.link.Begin()
	if !ok {
		return false
	}
	wrote := !c.sending.sectionsLast && s.core.Sections.Write(c, &b)
	borrowed := false
	if !c.sending.stateFirst && c.link.MessagesWait() && c.mayAddMessages() {
		borrowed = c.link.AddMessages(&b, c.stateWaits())
	}
	var state []byte // Rows that the client lacks, as many as fit; nil without any.
	if s.store.Tick() != tick.None && c.stateWaits() {
		if state = c.link.AddState(&b, c.link.View, cache); state != nil {
			c.sending.toldTickAt = s.frame.Now
		}
		if c.link.Held.Count > 0 && !c.stateWaits() { // Messages about entities that were just sent, into the same packet.
			s.core.Release(&c.link)
			c.link.AddMessages(&b, false)
		}
	}
	c.sending.stateFirst = (borrowed || state == nil && !b.Empty()) && c.stateWaits()
	c.sending.sectionsLast = wrote && state == nil && c.stateWaits()
	s.core.Sections.WriteBehind(c, &b, state)
	if state == nil && !b.Empty() {
		s.addPulse(c, &b)
	}
	if b.Empty() {
		return false
	}
	c.link.Finish(&b)
	return true
}

// stateWaits reports whether state waits to be sent and no extension holds it back.
func (c *session) stateWaits() bool { return c.link.View.Pending() && !c.sending.stateHeld }

// mayAddMessages reports whether messages may be sent now: the budget exceeds the part reserved for state.
func (c *session) mayAddMessages() bool {
	left := c.link.Budget.Left()
	return c.sending.reserved == 0 || left < 0 || left-link.LeastPacket >= c.sending.reserved || !c.link.View.Pending()
}

// repeatMost bounds the unconfirmed entities that are repeated early: about one packet. More of them, as after a join,
// would cost more than the wait.
const repeatMost = 64

// repeat sends entities again that are unconfirmed after half a round trip, in a tick with nothing new. Without it, the
// last packets before a rest would wait for the detection of their loss, repeatedly on a bad link.
func (s *Server) repeat(c *session) {
	if c.link.View.Unacked() > repeatMost {
		return
	}
	rtt, _ := c.link.Conn.RTT()
	c.link.View.Repeat(s.store.Tick() - max(1, tick.Tick(rtt/2/s.config.interval())))
}

// pulse sends a client the server's tick after a while without snapshots: its clocks need it in a world at rest. It also
// sends it once when snapshots end, so that the client knows that entities have stopped.
//
// Waiting state does not count as an end. While an extension holds state back, there is no pulse. If state waits for the
// budget or for acknowledgements, the pulse is padded: state of its tick may be missing.
func (s *Server) pulse(c *session) {
	ended := c.sending.moving && c.sending.toldTickAt != s.frame.Now && !c.link.View.Pending()
	c.sending.moving = c.sending.toldTickAt == s.frame.Now
	if !ended && s.frame.Now-c.sending.toldTickAt < min(s.config.KeepAlive, s.config.Pulse) || c.sending.stateHeld && c.link.View.Pending() {
		return
	}
	var payload [link.PulseSize + 1]byte
	if c.link.KeepAlive(0, c.link.PulsePayload(&payload, !c.link.View.Pending())) {
		c.sending.toldTickAt, c.sending.moving = s.frame.Now, false
	}
}

// pulsePart is the part of Config.Pulse after which a packet that is sent anyway has the server's tick: 125 ms of 250 ms. A client that
// simulates ahead sends inputs and gets a packet in each tick, and predicts no farther ahead of the newest tick that it knows than its
// history reaches.
const pulsePart = 2

// addPulse adds the server's tick to a packet without state, if the client lacks none and was not told a tick lately.
func (s *Server) addPulse(c *session, b *peer.Builder) {
	if c.link.View.Pending() || s.frame.Now-c.sending.toldTickAt < s.config.Pulse/pulsePart {
		return
	}
	var payload [link.PulseSize + 1]byte
	n := copy(b.Payload(), c.link.PulsePayload(&payload, true))
	if n == link.PulseSize && b.Add(wire.MessageKeepAlive, tick.Initialization, n) {
		c.sending.toldTickAt, c.sending.moving = s.frame.Now, false
	}
}

// reportOversize reports an entity that does not fit into a packet, once until another entity is reported for the client.
func (s *Server) reportOversize(c *session) {
	stats := c.link.View.Stats()
	s.stats.Oversize += stats.Oversize - c.oversize
	c.oversize = stats.Oversize
	if stats.OversizeID == c.oversizeID {
		return
	}
	c.oversizeID = stats.OversizeID
	s.Report(&errs.OversizeError{Entity: stats.OversizeID, Client: c.id, Max: peer.MaxPayload(c.link.Fitted)})
}

// expire ends silent sessions and continues closes. It also ends overdue decisions and the time of players that are away.
func (s *Server) expire() {
	if err := s.door.Expire(); err != nil {
		s.Report(err)
	}
	for _, c := range s.sessions {
		switch {
		case c.link.Loopback != nil:
		case c.state == connected && s.frame.Now-c.link.ReceivedAt >= s.config.SilenceTimeout:
			s.stats.SilenceTimeouts++
			s.end(c, &errs.CloseError{Reason: errs.ReasonTimeout}, closeTold)
		case c.state == lingering && c.link.ContinueClose():
			s.remove(c)
		}
	}
}

// Drain hands out the datagrams that wait to be sent, in order. A packet is good until the function returns.
func (s serverInside) Drain(send func(to transport.Addr, packet []byte)) { s.out.Drain(send) }

// DrainAll is Drain for a socket that takes several datagrams at once. runs[i] goes to to[i]. It is one packet, or several packets one
// behind the other, with sizes[i] bytes each; the last packet may be shorter. DrainAll calls send once, or not at all if nothing waits.
func (s serverInside) DrainAll(send func(to []transport.Addr, runs [][]byte, sizes []int)) {
	s.out.DrainAll(send)
}

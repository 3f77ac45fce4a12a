package netcode

import (
	"fmt"
	"time"

	"github.com/arche-netcode/netcode/congestion"
	"github.com/arche-netcode/netcode/errs"
	"github.com/arche-netcode/netcode/internal/admission"
	"github.com/arche-netcode/netcode/internal/events"
	"github.com/arche-netcode/netcode/internal/handshake"
	"github.com/arche-netcode/netcode/internal/link"
	"github.com/arche-netcode/netcode/internal/outbox"
	"github.com/arche-netcode/netcode/internal/peer"
	"github.com/arche-netcode/netcode/internal/report"
	"github.com/arche-netcode/netcode/internal/worldless"
	"github.com/arche-netcode/netcode/message"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/wire"
)

// Server is the end that owns the world: clients connect to it and it sends them what they lack. It does no I/O and
// reads no clock: the systems of package systems, or a test, hand it datagrams and the time. A Server belongs to one
// goroutine; only its Protocol may be shared.
//
// # Methods for games
//
//   - Its clients: [Server.OnApprove], [Server.OnConnect], [Server.OnDisconnect], [Server.OnLeave], [Server.OnMigrate], [Server.Identity], [Server.Proved], [Server.Returned], [Server.Away], [Server.OnError], [Server.Clients], [Server.ClientStats], [Server.Kick], [Server.SetPacketSize], [Server.SetBudget]
//   - Visibility: [Server.SetInterest]; without a policy [Server.Show] and [Server.Hide]; [Server.Visible], [Server.VisibleRows], [Server.Keeps], [Server.Why]
//   - Owners: [Server.SetOwner], [Server.Owner]; components that clients write: package authority
//   - Entities that are in no world: [Server.Spawn], [Server.Has], [Put], [Remove], [Server.Despawn]
//   - Ticks: [Server.Tick], [Server.TickDue], [Server.Steps], [Server.Slipped], [Server.Interval], [Server.TickRate]
//   - The past: [ValueAt], [Server.Store], [Server.ReceivedIn], [Server.SentIn]
//   - Itself: [Server.ID], [Server.Protocol], [Server.Config], [Server.Stats], [Server.String], [Server.Report], [Server.Close], [Server.Closed], [Server.SetOpen], [Server.MayListen]
//
// Package systems runs its frames. Features ask package extend for the rest ([extend.OfServer]).
type Server struct {
	inside
	shared
	config Config
	frame  tick.Frame
	steps  serverSteps

	store     *snapshot.Store
	worldless *worldless.Entities

	earlySights []earlySight // In the order of the calls.
	hooks       serverHooks

	interest  snapshot.Interest // Nil: everything is visible unless hidden.
	judged    bool              // The policy has decided for a network tick.
	door      handshake.Door
	homes     link.Homes
	onApprove func(*Approval)  // Nil: all clients are accepted.
	prover    transport.Prover // Nil: the transport proves nothing.
	out       outbox.Buffer
	filling   []*session // The clients that writeTick fills packets of.

	byAddress map[transport.Addr]*session
	byID      map[wire.ClientID]*session
	leavers   []*message.Source // Sources of leaving sessions, in finishLeaving.
	sessions  []*session        // In the order of their begin. sweep removes the ended ones.
	counts    [numSessionStates]int
	closing   bool
	shut      bool // SetOpen(false).
	asksBands bool // The protocol has bands, and OnError was not yet told that nobody measures distances.

	report report.Reporter
	events events.Queue
	stats  Stats
	ended  peer.Stats // Packet counters of ended sessions.
}

// serverSteps has the functions by which code of both ends calls most code of a server. NewServer sets them. Every
// program contains the type Server; thus the linker omits this code from programs without a server, such as a client in a
// browser.
type serverSteps struct {
	receive func(from transport.Addr, packet []byte) // Server.receiveDatagram
	send    func()                                   // Server.sendFrame
	observe func(c *session)
	admit   func(decision *admission.Decision, player *Client) (*session, error) // Server.admitLocal
	leave   func(c *session, reason *errs.CloseError)                            // Server.startLeaving
}

// TickDue reports whether a network tick falls into this frame: then the world is to be captured, and Send sends the changes.
func (s *Server) TickDue() bool { return s.frame.Due }

// ReportUnreplicated passes an error about a component set to OnError, as Report does, and counts it in Stats.Unreplicated. Capture of
// package systems calls it.
func (s serverInside) ReportUnreplicated(err error) {
	s.stats.Unreplicated++
	s.Report(err)
}

// MayListen judges the socket of a server: one that is neither secure nor bound to a loopback, private or link-local address needs
// Config.Plain, else the error is a *PlainError. Of a transport.Joined each connection is judged. A socket without a LocalAddr is not
// judged. NewServer of package systems panics with this error.
func (s *Server) MayListen(socket any) error {
	if joined, ok := socket.(*transport.Joined); ok {
		for _, one := range joined.Conns() {
			if err := s.MayListen(one); err != nil {
				return err
			}
		}
		return nil
	}
	bound, ok := socket.(interface{ LocalAddr() transport.Addr })
	if s.config.Plain || !ok || transport.IsSecure(socket) {
		return nil
	}
	address := bound.LocalAddr()
	ip := address.IP.Addr()
	if !address.IP.IsValid() || ip.IsLoopback() || ip.IsPrivate() || ip.IsLinkLocalUnicast() {
		return nil
	}
	return &errs.PlainError{Address: address}
}

// ID is 0: the server is nobody's client.
func (s *Server) ID() ClientID { return 0 }

// Tick is the current network tick.
func (s *Server) Tick() Tick { return s.frame.Clock.Tick() }

// Time is the server's clock: the tick that has begun, and the part of it that had passed when this frame began. While a datagram is read it is the
// moment at which that came.
func (s serverInside) Time() tick.Time { return s.frame.Clock.Time(s.frame.Now - s.frame.Waited) }

// TickRate is the number of network ticks a second.
func (s *Server) TickRate() int { return s.config.TickRate }

// Steps counts the ticks that fell into this frame: 0 where TickDue is false, 1 usually, and after a stall up to Config.CatchUp. A
// game that lets no tick slip simulates those from Tick-Steps+1 to Tick.
func (s *Server) Steps() int { return s.frame.Steps }

// Slipped counts the ticks that the server gave up after stalls: Config.CatchUp. since is the first tick after the newest stall that cost
// some, 0 before the first. Clients are told with the answers about their inputs.
func (s *Server) Slipped() (since tick.Tick, total uint64) {
	return s.frame.Clock.Slip(), s.frame.Clock.Slipped()
}

// Config is the configuration of the server, with defaults.
func (s *Server) Config() Config { return s.config }

// Interval is the time between two network ticks.
func (s *Server) Interval() time.Duration { return s.config.interval() }

// Store holds the captured world; only the capture writes it.
func (s *Server) Store() *snapshot.Store { return s.store }

// OnConnect adds a function that is called when a client is connected: it may be sent to, shown entities, kicked. If it
// panics, the connection ends with errs.ReasonHandlerPanic, as for a handler. This and the other calls that add a function panic on
// nil, as that would only panic when the function is called.
func (s *Server) OnConnect(f func(client ClientID)) {
	mustBeGiven(f != nil, "Server.OnConnect")
	s.events.Connected = append(s.events.Connected, f)
}

// OnDisconnect adds a function that is called once for each connected client when its connection ended, with the reason. Nothing reaches
// this client any more. Its player may come back with the same id, see OnLeave; no other client ever has it. When the client closed in
// order, it is called after the handlers of the reliable messages that the client had sent (Config.LeaveTimeout); meanwhile the client is
// none of Clients and cannot be sent to, and its place is taken. If it panics, OnError is given a *PanicError.
func (s *Server) OnDisconnect(f func(client ClientID, reason *CloseError)) {
	mustBeGiven(f != nil, "Server.OnDisconnect")
	s.events.Disconnected = append(s.events.Disconnected, f)
}

// OnMigrate adds a function that is called when a client has another address, which it has proved to be its own: its NAT gave it another
// port, or it changed networks. ClientStats has the new address. Nothing of its state is lost; packet size, rate and round trip are
// measured anew. If it panics, the connection ends with errs.ReasonHandlerPanic, as for a handler.
func (s *Server) OnMigrate(f func(client ClientID, from, to transport.Addr)) {
	mustBeGiven(f != nil, "Server.OnMigrate")
	s.events.Migrated = append(s.events.Migrated, f)
}

// Kick ends a client's connection; detail is told to the client. Messages that were sent to it are delivered before
// that, for Config.FlushTimeout at most. Messages about an entity that was not sent to the client yet, and those behind them on an
// ordered channel, are dropped (Stats.DelayedDropped).
// OnDisconnect follows before Kick returns, or, when Kick is called from one of the server's own functions, after that one.
// Messages of the client are not handled any more, also when the client has closed already and OnDisconnect has not come
// yet. A player that is away (Config.Keep) has left for good with Kick. Kick returns false if there is no such client. A kicked player
// may connect again at once: refuse it in OnApprove.
func (s *Server) Kick(client ClientID, detail string) bool {
	c := s.present(client)
	if c == nil {
		kicked := s.door.Kick(client)
		s.events.Fire()
		return kicked
	}
	s.end(c, &errs.CloseError{Reason: errs.ReasonKicked, Detail: detail}, closeFlushed)
	s.events.Fire()
	return true
}

// Close ends every connection for a reason, errs.ReasonShuttingDown if errs.ReasonNone is given, and refuses new ones.
// The next frames deliver the sent messages, for Config.FlushTimeout at most, and tell the clients, until Closed. Messages
// about an entity that was not sent to a client yet are dropped, as by Kick, and so are received messages that the server has not handled
// yet. A client handles the reliable messages that it has accepted, also those that wait for a stage or a tick, for its
// Config.LeaveTimeout at most; then it calls its OnDisconnect.
func (s *Server) Close(reason errs.Reason) {
	if reason == errs.ReasonNone {
		reason = errs.ReasonShuttingDown
	}
	s.closing = true
	for _, c := range s.sessions {
		if c.state == leaving {
			s.end(c, c.link.Reason, closeQuiet)
			continue
		}
		s.end(c, &errs.CloseError{Reason: reason}, closeFlushed)
	}
	s.door.EndAway()
	s.events.Fire()
}

// Closed reports whether Close was called and every client was told; then no more frames are needed.
func (s *Server) Closed() bool {
	return s.closing && s.counts[connected]+s.counts[lingering] == 0
}

// SetPacketSize bounds the packets that the server sends to one client, in bytes: for a client whose path takes less than
// Config.PacketSize. n is from MinPacketSize to Config.PacketSize. The client bounds its own by Client.SetPacketSize. Call it in
// OnConnect: while messages for the client wait or are not acknowledged, it returns ErrMessagesWait and changes nothing. The other errors
// are ErrNotConnected and *PacketSizeError. The player of a host has no packets.
func (s *Server) SetPacketSize(client ClientID, n int) error {
	c := s.client(client)
	if c == nil {
		return errs.ErrNotConnected
	}
	return c.link.SetPacketSize(n)
}

// SetBudget bounds the bytes that the server sends to one client in a second, as Config.SendBudget does for all: congestion
// control stays below it, and below 0 there is neither. 0 is that of Config.SendBudget again. It holds for this connection. The
// budget counts packets without the 28 bytes of IP and UDP, congestion.State.Rate with them. The error is ErrNotConnected. The player of a
// host has no packets.
func (s *Server) SetBudget(client ClientID, bytesPerSecond int) error {
	c := s.client(client)
	if c == nil {
		return errs.ErrNotConnected
	}
	if bytesPerSecond == 0 {
		bytesPerSecond = s.config.SendBudget
	}
	c.link.SetBudget(bytesPerSecond)
	return nil
}

// ClientStats is the state of one client's connection at a server.
type ClientStats struct {
	Address transport.Addr   // Where its packets come from.
	RTT     time.Duration    // Smoothed round-trip time, the client's wait for its next tick included; 0: not known yet.
	Jitter  time.Duration    // Smoothed mean deviation of RTT.
	Ping    time.Duration    // Time to the client and back without the waits of both ends for their frames, as of the last second, for display: a client may lie. 0: not known yet.
	Loss    float64          // Share of packets to the client that were lost lately, 0 to 1.
	Line    congestion.State // Congestion control of what the server sends: its rate, the reason, and what it knows of the line.

	PacketSize int // Bytes of the largest packet that is known to reach the client: 512 at first, and up to Config.PacketSize once packets need it.

	Known   int  // Entities that the client is proved to hold.
	Unacked int  // Entities whose newest state was sent and is not acknowledged yet.
	Synced  bool // The client is proved to hold everything it may see, as of the last tick.
	Waiting int  // Bytes of messages that wait to be sent.

	Unconfirmed int // Reliable messages that wait or are not acknowledged yet, pieces of large ones counted apart.

	Packets  peer.Stats         // Packet counters.
	Snapshot snapshot.ViewStats // State counters.
}

// Clients yields the connected clients in the order in which they came.
func (s *Server) Clients(yield func(ClientID) bool) {
	for _, c := range s.sessions {
		if c.state == connected && !yield(c.id) {
			return
		}
	}
}

// ClientStats answers for one connected client.
func (s *Server) ClientStats(client ClientID) (ClientStats, bool) {
	c := s.client(client)
	if c == nil {
		return ClientStats{}, false
	}
	rtt, jitter := c.link.Conn.RTT()
	return ClientStats{
		Address: c.link.Address, RTT: rtt, Jitter: jitter, Ping: c.link.Conn.Ping(), Loss: c.link.Conn.Loss(), Line: c.link.Line(), PacketSize: c.link.Conn.PathSize(),
		Known: c.link.View.Known(), Unacked: c.link.View.Unacked(), Synced: c.link.View.Synced(), Waiting: c.link.Outgoing.Waiting() + c.link.Held.Bytes(), Unconfirmed: c.link.Outgoing.Unconfirmed(),
		Packets: c.link.Conn.Stats(), Snapshot: c.link.View.Stats(),
	}, true
}

// Show lets a client see an entity again, with all components, those that interest.NewRows hides too. All entities are visible until
// hidden. With SetInterest it holds only until the policy is next asked about the entity, as in Hide. It says false if there is no such client or no such entity.
func (s *Server) Show(client ClientID, entity NetworkID) bool {
	return s.setSight(earlySight{client, entity, true})
}

// Hide takes an entity out of a client's sight: it despawns there, and no byte about it is sent until Show. Called from
// OnSpawn of the server's systems, it keeps an entity from being seen at all. It says false if there is no such client or
// no such entity. It ends with the client's session: hide anew in OnConnect.
//
// With SetInterest a Hide holds only until the policy is next asked about the entity, which may be in the same network tick. Hide by
// the policy then: an interest.Explicit, combined by
// interest.Both.
//
// Messages about the entity that were handed over before Hide and wait unsent are taken back, unreliable ones too
// (Stats.Recalled). Only a reliable one that was sent once and got lost may be sent again.
func (s *Server) Hide(client ClientID, entity NetworkID) bool {
	return s.setSight(earlySight{client, entity, false})
}

// earlySight is a Show or a Hide. It waits if the entity is not captured yet.
type earlySight struct {
	client ClientID
	entity NetworkID
	show   bool
}

// setSight shows or hides an entity. It reports whether the client and the entity exist.
func (s *Server) setSight(e earlySight) bool {
	view := s.sightOf(e.client)
	switch {
	case view == nil || !s.Has(e.entity):
		return false
	case s.store.Reserved(e.entity):
		s.earlySights = append(s.earlySights, e)
	case e.show:
		view.Show(e.entity)
	default:
		view.Hide(e.entity)
	}
	return true
}

// applyEarlySights applies the waiting calls whose entities are captured by now.
func (s *Server) applyEarlySights() {
	kept := s.earlySights[:0]
	for _, e := range s.earlySights {
		if s.client(e.client) != nil && s.store.Reserved(e.entity) {
			kept = append(kept, e)
		} else {
			s.setSight(e)
		}
	}
	s.earlySights = kept
}

// sightOf returns the view of a connected client as of the newest capture, nil for an unknown client.
func (s *Server) sightOf(client ClientID) *snapshot.View {
	c := s.client(client)
	if c == nil {
		return nil
	}
	s.steps.observe(c)
	return c.link.View
}

// Visible reports whether a connected client may see an entity.
func (s *Server) Visible(client ClientID, entity NetworkID) bool {
	view := s.sightOf(client)
	return view != nil && view.Visible(entity)
}

// VisibleRows returns the components that a connected client may see of an entity, whether the entity has them or not: all but those
// that interest hides (interest.NewRows), and none of an entity that it may not see. A component with distance bands is in it, with the
// client's band. So is a component that has fewer fields in the client's build.
func (s *Server) VisibleRows(client ClientID, entity NetworkID) snapshot.Mask {
	view := s.sightOf(client)
	if view == nil {
		return snapshot.Mask{}
	}
	return view.Rows(entity).Union(view.Sight(entity)).Minus(s.store.Schema().Older)
}

// Keeps reports whether a connected client keeps the last state of an entity that it may not see any more (interest.Keep).
func (s *Server) Keeps(client ClientID, entity NetworkID) bool {
	view := s.sightOf(client)
	return view != nil && view.Keeps(entity)
}

// Why names the policies of SetInterest by which a connected client sees an entity, for people who look into a server; nil if it does not
// see it.
func (s *Server) Why(client ClientID, entity NetworkID) (names []string) {
	if !s.Visible(client, entity) {
		return nil
	}
	if s.interest == nil {
		return []string{"there is no policy"}
	}
	if rule, ok := s.interest.(interface {
		Why(client ClientID, entity NetworkID) []string
	}); ok {
		names = rule.Why(client, entity)
	}
	if len(names) == 0 {
		names = []string{"the game called Show"}
	}
	return names
}

// SetOwner sets the client that an entity belongs to; 0 is the server, to which all belong at first. It returns false if there
// is no such entity. ToOwner and OwnerOnly use it.
func (s *Server) SetOwner(entity NetworkID, owner ClientID) bool {
	return s.store.SetOwner(entity, owner)
}

// Owner returns the client that an entity belongs to; 0 is the server, also for an entity that is not alive.
func (s *Server) Owner(entity NetworkID) ClientID { return s.store.Owner(entity) }

// forget removes a session from the tables by id.
func (s *Server) forget(c *session) {
	if s.byID[c.id] == c { // The player may have returned with the same id.
		delete(s.byID, c.id)
	}
}

// SetInterest sets the policy that decides which entities each client may see, from the next network tick on; package interest
// has the usual ones. Without a policy every client sees everything that was not hidden from it by Hide. With one, Show and Hide hold
// until the policy says otherwise.
//
// Nil removes the policy, at once: every client sees every entity, with all components, also those that Hide had hidden
// before the policy or during it, and those that spawn from then on. To keep entities hidden, call Hide right after it: no byte about
// them is sent. Without a policy, nil changes nothing.
func (s *Server) SetInterest(policy snapshot.Interest) {
	if s.interest != nil {
		for _, c := range s.sessions {
			if c.state == connected || c.state == leaving {
				s.interest.Leave(c.id)
			}
		}
		for _, p := range s.door.Players.Away {
			s.interest.Leave(p.ID)
		}
	}
	if policy == nil && s.interest != nil {
		for _, c := range s.sessions {
			if c.state == connected {
				s.steps.observe(c)
				c.link.View.ShowAll()
			}
		}
	}
	s.interest, s.judged = policy, false
}

// judgeInterest evaluates the interest policy for every client, after the capture of this tick and before any send.
func (s *Server) judgeInterest() {
	if !s.frame.Due || s.store.Tick() == 0 {
		return
	}
	s.interest.Prepare(s.store)
	s.judged = true
	for _, c := range s.sessions {
		if c.state == connected {
			s.steps.observe(c)
			s.interest.Update(c.id, c.link.View)
			s.missViewpoint(c)
		}
	}
}

// viewpointTicks is the number of network ticks without a viewpoint after which a client is reported.
const viewpointTicks = 64

// missViewpoint reports, once for each client, that it sees nothing because it has no viewpoint.
func (s *Server) missViewpoint(c *session) {
	rule, ok := s.interest.(interface{ Blind(client ClientID) bool })
	switch {
	case !ok || c.withoutViewpoint == viewpointTicks: // It was reported already.
	case !rule.Blind(c.id):
		c.withoutViewpoint = 0
	default:
		if c.withoutViewpoint++; c.withoutViewpoint == viewpointTicks {
			s.Report(&errs.ViewpointError{Client: c.id, Ticks: viewpointTicks})
		}
	}
}

// missBands reports, once, that components have distance bands and that nobody measures distances.
func (s *Server) missBands() {
	for _, c := range s.sessions {
		if c.state == connected && s.asksBands && c.link.View.LacksBands() {
			s.asksBands = false
			s.Report(fmt.Errorf("netcode: client %d gets components with Bands as they are: no policy measures its distances. Give SetInterest an interest.NewBands", c.id))
		}
	}
}

// reportGroups reports groups that have become too large to be sent in one piece.
func (s *Server) reportGroups() {
	for _, group := range s.store.LargeGroups() {
		s.stats.LargeGroups++
		s.Report(&errs.GroupError{Group: group, Members: len(s.store.Members(group)), Max: peer.MaxPayload(s.config.PacketSize)})
	}
	s.store.ClearLargeGroups()
}

// SetOpen opens or closes the server for clients of other processes; a server begins open. With false their connections end with
// errs.ReasonShuttingDown, once their messages are delivered, for Config.FlushTimeout at most. Players that are away have left, and new
// ones are refused with the same reason. The player of a host and the game continue. Alone tells when all clients were told: then nothing
// needs the socket.
func (s *Server) SetOpen(open bool) {
	s.shut = !open
	if open {
		return
	}
	for _, c := range s.sessions {
		switch {
		case c.player != nil:
		case c.state == leaving:
			s.end(c, c.link.Reason, closeQuiet)
		default:
			s.end(c, &errs.CloseError{Reason: errs.ReasonShuttingDown}, closeFlushed)
		}
	}
	s.door.EndAway()
	s.events.Fire()
}

// Alone reports whether no client of another process is connected, or is still being told that its connection is over.
func (s serverInside) Alone() bool {
	for _, c := range s.sessions {
		if c.link.Loopback == nil && c.state != gone {
			return false
		}
	}
	return true
}

// String tells the number of clients and the tick.
func (s *Server) String() string {
	return fmt.Sprintf("server of %d clients at tick %d", s.counts[connected], s.Tick())
}

// Stats is a copy of the counters.
func (s *Server) Stats() Stats {
	stats := s.stats
	stats.Packets = s.ended
	for _, c := range s.sessions {
		if c.state != gone {
			stats.Packets.Add(c.link.Conn.Stats())
		}
	}
	stats.addEnd(&s.core.Counters)
	stats.Messages = s.core.Inbound.Stats()
	stats.TicksSlipped = s.frame.Clock.Slipped()
	stats.EntitiesGrown = s.store.Grown()
	stats.EntitiesRefused = s.store.Refused()
	stats.HistoryEvicted = s.store.HistoryEvicted()
	stats.HistoryBytes = uint64(s.store.HistoryBytes())
	for _, c := range s.sessions {
		if c.link.State != nil {
			stats.HistoryBytes += uint64(c.link.State.HistoryBytes())
		}
	}
	stats.Errors, stats.LinesSkipped = s.report.Errors, s.report.Suppressed
	return stats
}

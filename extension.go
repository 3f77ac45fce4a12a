package netcode

import (
	"github.com/arche-netcode/netcode/extend"
	"github.com/arche-netcode/netcode/internal/endpoint"
	"github.com/arche-netcode/netcode/internal/replica"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
)

// Records returns the features' parts of recordings.
func (s serverInside) Records() []*extend.ServerRecord { return s.hooks.records }

// Extend adds a feature to this server alone, for one that sends nothing of its own. Opened is called for the sessions that
// there are. Hooks that the frame has passed are called from the next frame on. It panics on a Section, which belongs to the
// protocol.
func (s serverInside) Extend(h extend.ServerHooks) {
	if h.Section != nil {
		panic("netcode: Server.Extend: a packet section is a matter of both ends: call Extend of the protocol")
	}
	s.addHooks(&h)
	for _, c := range s.sessions {
		s.tellSent(c)
		if h.Opened != nil && (c.state == connected || c.state == leaving) {
			c.keepState(h.Opened(c))
		}
	}
}

// Extend adds a feature to this client alone, as Server.Extend.
func (c clientInside) Extend(h extend.ClientHooks) {
	if h.Section != nil {
		panic("netcode: Client.Extend: a packet section is a matter of both ends: call Extend of the protocol")
	}
	c.addHooks(&h)
	c.tellSent()
	if h.Opened != nil && (c.state == Connected || c.leaving) {
		h.Opened()
	}
}

// serverHooks has the functions of all extensions of a server, by the point of the call.
type serverHooks struct {
	opened     []func(extend.Session) any
	closed     []func(extend.Session)
	beginFrame []func()
	captured   []func()
	beforeSend []func()
	afterSend  []func()
	sent       []func(extend.Session, []byte)
	records    []*extend.ServerRecord
	presented  []func(extend.Session, Tick) (tick.Time, bool)
	observe    []func(extend.Session, *snapshot.View)
	hold       []func(extend.Session, int) (bool, int)
	stateSent  []func(extend.Session, int, bool)
}

// add adds the functions of one extension.
func (h *serverHooks) add(e *extend.ServerHooks) {
	h.opened = appendGiven(h.opened, e.Opened, e.Opened != nil)
	h.closed = appendGiven(h.closed, e.Closed, e.Closed != nil)
	h.beginFrame = appendGiven(h.beginFrame, e.BeginFrame, e.BeginFrame != nil)
	h.captured = appendGiven(h.captured, e.Captured, e.Captured != nil)
	h.beforeSend = appendGiven(h.beforeSend, e.BeforeSend, e.BeforeSend != nil)
	h.afterSend = appendGiven(h.afterSend, e.AfterSend, e.AfterSend != nil)
	h.sent = appendGiven(h.sent, e.Sent, e.Sent != nil)
	h.records = appendGiven(h.records, e.Record, e.Record != nil)
	h.presented = appendGiven(h.presented, e.Presented, e.Presented != nil)
	h.observe = appendGiven(h.observe, e.BeforeObserve, e.BeforeObserve != nil)
	h.hold = appendGiven(h.hold, e.HoldState, e.HoldState != nil)
	h.stateSent = appendGiven(h.stateSent, e.StateSent, e.StateSent != nil)
}

// clientHooks has the functions of all extensions of a client, by the point of the call.
type clientHooks struct {
	opened     []func()
	closed     []func()
	beginFrame []func()
	read       []func()
	applied    []func(tick.Time)
	dispatch   []func(tick.Stage)
	beforeSend []func()
	afterSend  []func()
	sent       []func([]byte)
	received   []func([]byte)
	captureOwn []func()
	hold       func(payload []byte, packet uint64) // May be nil.
}

// add adds the functions of one extension.
func (h *clientHooks) add(e *extend.ClientHooks) {
	h.opened = appendGiven(h.opened, e.Opened, e.Opened != nil)
	h.closed = appendGiven(h.closed, e.Closed, e.Closed != nil)
	h.beginFrame = appendGiven(h.beginFrame, e.BeginFrame, e.BeginFrame != nil)
	h.read = appendGiven(h.read, e.Read, e.Read != nil)
	h.applied = appendGiven(h.applied, e.Applied, e.Applied != nil)
	h.dispatch = appendGiven(h.dispatch, e.Dispatch, e.Dispatch != nil)
	h.beforeSend = appendGiven(h.beforeSend, e.BeforeSend, e.BeforeSend != nil)
	h.afterSend = appendGiven(h.afterSend, e.AfterSend, e.AfterSend != nil)
	h.sent = appendGiven(h.sent, e.Sent, e.Sent != nil)
	h.received = appendGiven(h.received, e.Received, e.Received != nil)
	h.captureOwn = appendGiven(h.captureOwn, e.CaptureOwn, e.CaptureOwn != nil)
	if e.HoldState == nil {
		return
	}
	if h.hold != nil {
		panic("netcode: Extend: two extensions hold the state of one client back: register one of them")
	}
	h.hold = e.HoldState
}

// appendGiven appends a hook, if the extension has it.
func appendGiven[T any](list []T, one T, given bool) []T {
	if !given {
		return list
	}
	return append(list, one)
}

// addHooks adds the functions of one extension of a server.
func (s *Server) addHooks(h *extend.ServerHooks) {
	s.states = appendGiven(s.states, h.State, h.State != nil)
	s.hooks.add(h)
	to := &s.core.Hooks
	to.Posted = appendGiven(to.Posted, h.Posted, h.Posted != nil)
	to.Lost = appendGiven(to.Lost, h.Undelivered, h.Undelivered != nil)
	if h.Handled != nil {
		s.core.TellHandled(h.Handled)
	}
}

// addHooks adds the functions of one extension of a client.
func (c *Client) addHooks(h *extend.ClientHooks) {
	c.states = appendGiven(c.states, h.State, h.State != nil)
	c.hooks.add(h)
	to := &c.core.Hooks
	to.ActsAt = appendGiven(to.ActsAt, h.ActsAt, h.ActsAt != nil)
	to.Owns = appendGiven(to.Owns, h.Owns, h.Owns != nil)
	if h.Undelivered != nil {
		to.Lost = append(to.Lost, func(_ ClientID, m *extend.Posted, sent bool) { h.Undelivered(m, sent) })
	}
}

// extend makes the protocol's extensions for a server.
func (s *Server) extend() {
	for i := range s.protocol.extensions {
		if e := &s.protocol.extensions[i]; e.Server != nil {
			h := e.Server.Server(serverInside{s})
			s.addHooks(&h)
			s.core.Sections.Add(h.Section, s.protocol.types.Features[i].ToServer, s.protocol.types.Features[i].ToClient)
		}
	}
}

// extend makes the protocol's extensions for a client.
func (c *Client) extend() {
	for i := range c.protocol.extensions {
		if e := &c.protocol.extensions[i]; e.Client != nil {
			h := e.Client.Client(clientInside{c})
			c.addHooks(&h)
			c.core.Sections.Add(endpoint.ForServer(h.Section), c.protocol.types.Features[i].ToClient, c.protocol.types.Features[i].ToServer)
		}
	}
	c.tellSent()
}

// keepState stores an extension's state of a session.
func (c *session) keepState(state any) {
	if state != nil {
		c.kept = append(c.kept, state)
	}
}

// tellSent passes each packet to a client to the extensions with a Sent hook, and messages that are dropped to those with an Undelivered hook.
func (s *Server) tellSent(c *session) {
	c.link.TellUndelivered()
	if len(s.hooks.sent) > 0 {
		c.link.Sent = func(packet []byte) {
			for _, f := range s.hooks.sent {
				f(c, packet)
			}
		}
	}
}

// tellSent passes each packet to the server to the extensions with a Sent hook, and messages that are dropped to those with an Undelivered
// hook.
func (c *Client) tellSent() {
	c.link.TellUndelivered()
	if len(c.hooks.sent) > 0 {
		c.link.Sent = func(packet []byte) {
			for _, f := range c.hooks.sent {
				f(packet)
			}
		}
	}
}

// openStates tells the extensions that a session begins.
func (s *Server) openStates(c *session) {
	s.tellSent(c)
	for _, f := range s.hooks.opened {
		c.keepState(f(c))
	}
}

// closeStates tells the extensions that a session ends, and drops their states.
func (s *Server) closeStates(c *session) {
	for _, f := range s.hooks.closed {
		f(c)
	}
	c.kept = nil
}

// heldState is the state that an extension holds back from a client's world: see ClientHooks.HoldState.
type heldState struct {
	newest    *replica.Replica // Decodes the packets; nil: Client.Replica decodes them.
	complete  tick.Tick        // Client.Replica has all state of this tick.
	suspended bool
}

// Newest is the Replica that decodes the packets. It is Replica, unless an extension holds state back.
func (c clientInside) Newest() *replica.Replica { return c.newest() }

// newest returns the Replica that decodes the packets.
func (c *Client) newest() *replica.Replica {
	if c.back.newest != nil {
		return c.back.newest
	}
	return c.replica
}

// newHeldState makes the held state of a new connection.
func (c *Client) newHeldState() (h heldState) {
	if c.hooks.hold != nil {
		h.newest = replica.New(c.protocol.types.Schema, c.link.Older.State(c.agreed.snapshot()), c.replica.Tick())
	}
	return h
}

// ShowState reads into Replica a payload that ClientHooks.HoldState was given. Those of the ticks before it must have been shown
// before, as far as they came.
func (c clientInside) ShowState(payload []byte) {
	t := replica.PayloadTick(payload, c.replica.Tick())
	c.replica.Follow(c.back.newest, min(t, c.replica.Tick()))
	if err := c.replica.Read(payload); err != nil { // The two replicas must be equal: request all state again.
		c.stats.LostBaselines++
		c.back.newest.Lose()
		return
	}
	c.applied = false
	c.time.Shown.Arrive(t, c.time.Raw)
	for _, f := range c.hooks.read {
		f()
	}
}

// ShownUpTo tells that Replica has what came of the ticks up to one: whatever is known of these ticks holds for Replica too. complete
// tells that nothing is missing as of that tick.
func (c clientInside) ShownUpTo(t Tick, complete bool) {
	if c.back.newest == nil {
		return
	}
	if c.replica.Follow(c.back.newest, t); complete {
		c.back.complete = t
	}
}

// CompleteTick returns the newest complete tick, as an extension that holds state back tells it: Replica lacks nothing of that tick.
// held is false where no extension holds state back.
func (c clientInside) CompleteTick() (t Tick, held bool) {
	return c.back.complete, c.back.newest != nil
}

// Suspend makes the systems leave the client's world as it is, or not any more: while Replica has a part of the state of a tick.
func (c clientInside) Suspend(on bool) { c.back.suspended = on }

// Suspended reports whether the systems must leave the client's world as it is.
func (c clientInside) Suspended() bool { return c.back.suspended }

package netcode

import (
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
)

// extensionName names an extension in errors.
type extensionName string

// String implements fmt.Stringer.
func (n extensionName) String() string { return string(n) }

// serverHooks is the functions of all extensions of a server, by the point at which they are called.
type serverHooks struct {
	opened     []func(*Session) any
	closed     []func(*Session)
	beginFrame []func()
	captured   []func()
	beforeSend []func()
	afterSend  []func()
	sent       []func(*Session, []byte)
	posted     []func(*Posted)
	handled    []func(ClientID, *Posted)
	records    []*ServerRecord
	presented  []func(*Session, Tick) (tick.Time, bool)
	observe    []func(*Session, *snapshot.View)
	hold       []func(*Session, int) (bool, int)
	stateSent  []func(*Session, int, bool)
}

// add takes over the functions of one extension.
func (h *serverHooks) add(e *ServerHooks) {
	h.opened = appendGiven(h.opened, e.Opened, e.Opened != nil)
	h.closed = appendGiven(h.closed, e.Closed, e.Closed != nil)
	h.beginFrame = appendGiven(h.beginFrame, e.BeginFrame, e.BeginFrame != nil)
	h.captured = appendGiven(h.captured, e.Captured, e.Captured != nil)
	h.beforeSend = appendGiven(h.beforeSend, e.BeforeSend, e.BeforeSend != nil)
	h.afterSend = appendGiven(h.afterSend, e.AfterSend, e.AfterSend != nil)
	h.sent = appendGiven(h.sent, e.Sent, e.Sent != nil)
	h.posted = appendGiven(h.posted, e.Posted, e.Posted != nil)
	h.handled = appendGiven(h.handled, e.Handled, e.Handled != nil)
	h.records = appendGiven(h.records, e.Record, e.Record != nil)
	h.presented = appendGiven(h.presented, e.Presented, e.Presented != nil)
	h.observe = appendGiven(h.observe, e.BeforeObserve, e.BeforeObserve != nil)
	h.hold = appendGiven(h.hold, e.HoldState, e.HoldState != nil)
	h.stateSent = appendGiven(h.stateSent, e.StateSent, e.StateSent != nil)
}

// clientHooks is the functions of all extensions of a client.
type clientHooks struct {
	opened     []func()
	closed     []func()
	beginFrame []func()
	read       []func()
	applied    []func(tick.Time)
	dispatch   []func(Stage)
	beforeSend []func()
	afterSend  []func()
	sent       []func([]byte)
	received   []func([]byte)
	actsAt     []func() Tick
	captureOwn []func()
	owns       []func(NetworkID) bool
	hold       func(payload []byte, packet uint64) // Nil for none.
}

// add takes over the functions of one extension.
func (h *clientHooks) add(e *ClientHooks) {
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
	h.actsAt = appendGiven(h.actsAt, e.ActsAt, e.ActsAt != nil)
	h.captureOwn = appendGiven(h.captureOwn, e.CaptureOwn, e.CaptureOwn != nil)
	h.owns = appendGiven(h.owns, e.Owns, e.Owns != nil)
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

// addHooks takes over the functions of one extension of a server.
func (s *Server) addHooks(h *ServerHooks) {
	s.states = appendGiven(s.states, h.State, h.State != nil)
	if s.hooks.add(h); h.Handled != nil {
		s.keepHandled()
	}
}

// addHooks takes over the functions of one extension of a client.
func (c *Client) addHooks(h *ClientHooks) {
	c.states = appendGiven(c.states, h.State, h.State != nil)
	c.hooks.add(h)
}

// extend makes the extensions of the protocol on a server.
func (s *Server) extend() {
	for i := range s.protocol.extensions {
		if e := &s.protocol.extensions[i]; e.Server != nil {
			h := e.Server.Server(s)
			s.addHooks(&h)
			s.sections.add(h.Section, s.protocol.types.Features[i].ToServer, s.protocol.types.Features[i].ToClient)
		}
	}
}

// extend makes the extensions of the protocol on a client.
func (c *Client) extend() {
	for i := range c.protocol.extensions {
		if e := &c.protocol.extensions[i]; e.Client != nil {
			h := e.Client.Client(c)
			c.addHooks(&h)
			c.sections.add(h.Section.forServer(), c.protocol.types.Features[i].ToClient, c.protocol.types.Features[i].ToServer)
		}
	}
	c.tellSent()
}

// call calls the functions of a hook.
func call(hooks []func()) {
	for _, f := range hooks {
		f()
	}
}

// keepState stores the state that an extension made for a session.
func (c *Session) keepState(state any) {
	if state != nil {
		c.kept = append(c.kept, state)
	}
}

// tellSent makes each packet to a client be given to the extensions that ask.
func (s *Server) tellSent(c *Session) {
	if len(s.hooks.sent) > 0 {
		c.link.Sent = func(packet []byte) {
			for _, f := range s.hooks.sent {
				f(c, packet)
			}
		}
	}
}

// tellSent makes each packet to the server be given to the extensions that ask.
func (c *Client) tellSent() {
	if len(c.hooks.sent) > 0 {
		c.link.Sent = func(packet []byte) {
			for _, f := range c.hooks.sent {
				f(packet)
			}
		}
	}
}

// openStates tells the extensions of a session that begins.
func (s *Server) openStates(c *Session) {
	s.tellSent(c)
	for _, f := range s.hooks.opened {
		c.keepState(f(c))
	}
}

// closeStates tells the extensions of a session that ends, and drops their state of it.
func (s *Server) closeStates(c *Session) {
	for _, f := range s.hooks.closed {
		f(c)
	}
	c.kept = nil
}

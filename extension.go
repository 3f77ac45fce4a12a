package netcode

import (
	"reflect"

	"github.com/arche-netcode/netcode/internal/registry"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/replica"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// Extension is a feature that is built beside the kernel: package input is one, and a game can write its own. A feature
// keeps state with the protocol, with each server and client, and with each session. It gives the kernel functions, which are
// called at fixed points of a frame. A function that is nil costs nothing.
//
// The guide's page docs/guide/extensions.md goes through a feature with a packet section; examples/extension is a whole one.
type Extension struct {
	// Name is for errors, and unique in a protocol.
	Name string
	// State is kept with the protocol: ExtensionOf finds it by its type.
	State any
	// Kind is the first word of the entries that Freezing.Describe adds to the canonical description, on both ends.
	Kind string
	// BeforeMessages puts these entries before those of the messages.
	BeforeMessages bool
	// ToServer and ToClient are the types of the packet sections in the two directions: 0 is none, FreeSection lets the
	// protocol choose. The ends hook them in as ServerHooks.Section and ClientHooks.Section.
	ToServer, ToClient wire.MessageType
	// Upstream lets clients send state: what an extension captures into Client.Upstream, once it called Client.SendState. Without
	// Upstream such state is malformed.
	Upstream bool

	Freeze func(f *Freezing) // The protocol freezes. The rows of the components are known.
	Server ServerSide        // A server is made.
	Client ClientSide        // A client is made.
}

// ServerSide is the side of a feature at servers. Server makes its state and its hooks for one server. It is a method because the
// linker leaves out methods that a program never calls: one that makes no server has no code of servers.
type ServerSide interface {
	Server(s *Server) ServerHooks // Called by NewServer.
}

// ClientSide is the side of a feature at clients, as ServerSide.
type ClientSide interface {
	Client(c *Client) ClientHooks // Called by NewClient.
}

// FreeSection lets the protocol choose the type of a packet section. The choice is part of the protocol's hash.
const FreeSection = registry.FreeSection

// ServerHooks are the functions that a feature gives to one server. They run in the goroutine of the server's frame. The order of features is the order of their Extend calls.
type ServerHooks struct {
	State any // Kept with the server: ExtensionOf finds it by its type.

	Opened func(c *Session) (state any) // A session begins. The state is kept with it: ExtensionOf finds it. Nil is none.
	Closed func(c *Session)             // A session ends. Its state is dropped after the call.

	BeginFrame func() // The frame begins: Tick, TickDue and Steps are known, nothing was received.
	Captured   func() // On a network tick, in Send: Store has the world of this tick.
	// BeforeObserve is called before a session's view takes in the newest capture, if there is a new one: it may leave out
	// entities by View.ObserveBut.
	BeforeObserve func(c *Session, view *snapshot.View)
	BeforeSend    func() // In each frame, in Send: it is known who may see what, and no packet is built.

	// HoldState is called on a network tick before the packets of a session are built. left is the bytes of its budget, below 0 without a
	// bound. If it holds the state of the tick back, no packet has state, and nothing tells the client that the tick is complete.
	// While state waits, messages leave reserve bytes of the budget.
	HoldState func(to *Session, left int) (hold bool, reserve int)
	// StateSent is called behind these packets. waits tells that the budget left state over.
	StateSent func(to *Session, left int, waits bool)

	AfterSend func() // In each frame, at the end of Send.

	Sent func(to *Session, packet []byte) // A packet was built.

	// Posted is called for each message that game code sends to clients, questions and answers left out. m is good until it returns. It sends
	// no messages.
	Posted func(m *Posted)
	// Handled is called in each frame, before AfterSend, for each message of a client that was handled in it, in order, questions and
	// answers left out. m is good until it returns.
	Handled func(from ClientID, m *Posted)

	// Undelivered is called when the connection to a client has ended, for each reliable message of game code that may not have been
	// handled: one that was sent and not acknowledged, or received and not handled; questions and answers left out. m is good until it
	// returns. A Body of nil, of a large message, is not known. It sends nothing.
	Undelivered func(with ClientID, m *Posted, sent bool)

	Record *ServerRecord // The feature's part of recordings.

	// Presented is the moment that a client showed its player when it made what counts for a tick. False is not known.
	Presented func(c *Session, at Tick) (tick.Time, bool)

	Section *ServerSection // The feature's part of packets; Extension.ToServer and ToClient name its types.
}

// ClientHooks are the functions that a feature gives to one client.
type ClientHooks struct {
	State any // Kept with the client: ExtensionOf finds it by its type.

	Opened func() // A connection begins; Replica is a fresh one, or nil for the player of a host.
	Closed func() // The connection ends.

	BeginFrame func() // The frame begins: TickDue is known, nothing was received.
	Read       func() // A snapshot was read into Replica. The world does not have it yet.

	// HoldState is given the state of each packet, and then decides when it is shown. A Replica of its own, Client.Newest, decodes the
	// packets and acknowledges them. Client.Replica has only the state that Client.ShowState gives it. payload is good until it
	// returns. One extension of a client may have it. It is not called for the player of a host.
	HoldState func(payload []byte, packet uint64)

	Undelivered func(m *Posted, sent bool) // As in ServerHooks.

	Applied    func(shown tick.Time) // The world has all that Replica has, and the frame shows that moment.
	Dispatch   func(stage Stage)     // The messages of a stage are about to be handled.
	BeforeSend func()                // In each frame while connected: no packet is built.
	AfterSend  func()                // In each frame, at the end of Send.

	Sent     func(packet []byte) // A packet was built.
	Received func(packet []byte) // A datagram of the server came and is not read yet.

	// ActsAt is the tick in which the server takes in what the game does on this client now; tick.None is at once. Messages
	// that follow the client's state (About, AfterAllState) wait for it.
	ActsAt func() Tick

	CaptureOwn func() // On a network tick, in Send: the client's own state is to be in Upstream after it.
	// Owns returns the id under which Upstream has the state that messages About an entity follow; zero is none.
	Owns func(entity NetworkID) NetworkID

	Section *ClientSection // The feature's part of packets; Extension.ToServer and ToClient name its types.
}

// ServerSection is a feature's part of packets at a server: bytes without delivery, at most once a packet in each direction.
// A packet takes effect as a whole: Check of all its parts comes first, then Take. Between a host and its player there are no
// packets: a section that is due is handed over in Send, and acknowledged at once.
type ServerSection struct {
	// Check judges the section of a packet that came. Nil where none comes. An error ends the connection as malformed: no honest client sends this.
	Check func(from *Session, payload []byte) error
	// Take lets a section that was checked last take effect. The payload is good until it returns. Packets overtake each other: packet is
	// the number that the other end's Write was given. Where only the newest section counts, leave out those of older packets than the
	// newest one. No packet comes twice. Numbers begin anew with each connection.
	Take func(from *Session, packet uint64, payload []byte)

	// Due tells, on a network tick, if a packet must be sent for the section. busy tells that one is sent in any case.
	Due func(to *Session, busy bool) bool
	// Write writes the section of a packet and returns its bytes, 0 for none. packet is the packet's number. It is called for
	// each packet of a frame: write the section into one of them, since a packet with a section is sent, and the next one follows.
	Write func(to *Session, room []byte, packet uint64) int
	// Behind is called as Write, for each packet, when its state is written; it writes the section if Write did not. state is the
	// payload with that state, good until it returns; nil for none.
	Behind func(to *Session, room []byte, packet uint64, state []byte) int
	Acked  func(to *Session, packet uint64) // A packet was acknowledged, whether the section was in it or not.
	Lost   func(to *Session, packet uint64) // A packet is presumed lost.
}

// ClientSection is a feature's part of packets at a client, as ServerSection.
type ClientSection struct {
	Check func(payload []byte) error               // As in ServerSection.
	Take  func(packet uint64, payload []byte)      // As in ServerSection.
	Due   func(busy bool) bool                     // As in ServerSection, in each frame.
	Write func(room []byte, packet uint64) (n int) // As in ServerSection.
	Acked func(packet uint64)                      // As in ServerSection.
	Lost  func(packet uint64)                      // As in ServerSection.
}

// ServerRecord is a feature's part of recordings (package record): bytes for each tick.
type ServerRecord struct {
	// Name is unique, and the first word of the feature's entries in the description of the protocol (Extension.Kind): a server whose entries are
	// others than those of the recording leaves the feature out.
	Name string
	// Write appends what the feature adds to the newest tick, at the end of Send. whole asks for all there is: readers begin there.
	Write func(dst []byte, whole bool) []byte
	// Read takes what Write appended, on a server that plays the recording: tick after tick from a whole one on. It returns false for what no
	// Write appended: the file may be hostile.
	Read func(body []byte, whole bool) bool
	// Apply shows what was read last, once the entities of the tick are there; nil: nothing is to be done. as returns the entity that plays a recorded one.
	Apply func(as func(recorded NetworkID) NetworkID)
	// Stop tells that the recording has ended: nothing is to be kept for Write any more; nil: nothing is kept.
	Stop func()
}

// Records returns the features' parts of recordings.
func (s *Server) Records() []*ServerRecord { return s.hooks.records }

// ExtensionOf finds the state that a feature keeps with a protocol, a session, an end, or a type that embeds an end, by its type. It
// allocates nothing.
func ExtensionOf[T any](with any) (state T, ok bool) {
	for _, one := range statesOf(with) {
		if state, ok = one.(T); ok {
			return state, true
		}
	}
	return state, false
}

// statesOf returns the states of extensions that a value has; none for nil.
func statesOf(with any) []any {
	switch e := with.(type) {
	case *Session:
		if e != nil {
			return e.kept
		}
	case *Protocol:
		if e != nil {
			return e.extended
		}
	case Endpoint:
		if c := coreOf(e); c != nil {
			return c.states
		}
	}
	return nil
}

// Extend adds a feature to the protocol: on every server and client that is made for it. It panics on a name that is taken, and
// on a frozen protocol.
func (p *Protocol) Extend(e Extension) {
	p.MustBeOpen("Extend", extensionName(e.Name))
	f := registry.Feature{Name: e.Name, Kind: e.Kind, BeforeMessages: e.BeforeMessages, ToServer: e.ToServer, ToClient: e.ToClient, Upstream: e.Upstream}
	if e.Freeze != nil {
		f.Freeze = func(at *registry.Freezing) { e.Freeze(&Freezing{Schema: at.Schema, Unpacked: at.Unpacked, at: at}) }
	}
	p.types.Extend(f)
	p.extensions = append(p.extensions, e)
	if e.State != nil {
		p.extended = append(p.extended, e.State)
	}
}

// Extend adds a feature to this server alone, for one that sends nothing of its own. Opened is called for the sessions that
// there are. Hooks that the frame has passed are called from the next frame on. It panics on a Section, which belongs to the
// protocol.
func (s *Server) Extend(h ServerHooks) {
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
func (c *Client) Extend(h ClientHooks) {
	if h.Section != nil {
		panic("netcode: Client.Extend: a packet section is a matter of both ends: call Extend of the protocol")
	}
	c.addHooks(&h)
	c.tellSent()
	if h.Opened != nil && (c.state == Connected || c.leaving) {
		h.Opened()
	}
}

// Plan compiles a type that a feature puts into its packet section, by the rules of Replicate. call is the name of the feature's
// function, for errors. The only option is Named. Plan panics as Handle does, and on a type or a wire name that was given to
// Plan for the same call before. Fields that are events are the caller's to refuse.
func (p *Protocol) Plan(call string, t reflect.Type, options ...Option) *quantize.Plan {
	p.MustBeOpen(call, t)
	r := register(call, t, options)
	return p.types.Plan(call, t, &r.Options)
}

// ForComponent makes an option of Replicate for a feature: set is called when the component is registered, with its plan.
// The option is refused elsewhere; name is for that error.
func ForComponent(name string, set func(p *Protocol, plan *quantize.Plan)) Option {
	return func(r *registration) { r.Component, r.set = name, append(r.set, set) }
}

// Freezing is the argument of Extension.Freeze: the protocol as it freezes.
type Freezing struct {
	Schema   *snapshot.Schema // The components, in their rows.
	Unpacked bool             // Protocol.Debug was called: plans of Protocol.Plan are unpacked by now.

	at *registry.Freezing
}

// Describe adds an entry to the canonical description, in the form "kind name{...}": facts that both ends must share. The
// entries of a kind are sorted by name.
func (f *Freezing) Describe(name, text string) { f.at.Describe(name, text) }

// DescribeComponent adds text to the entry of a component, behind its fields: facts that both ends must share.
func (f *Freezing) DescribeComponent(row int, text string) { f.at.DescribeComponent(row, text) }

// Set keeps a setting of a component, for any feature to find it by its type with SettingOf.
func (f *Freezing) Set(row int, setting any) { f.at.Set(row, setting) }

// SettingOf finds a feature's setting of a component, by the type of the setting. It freezes the protocol.
func SettingOf[T any](p *Protocol, row int) (setting T, ok bool) {
	p.freeze()
	for _, one := range p.types.Settings(row) {
		if setting, ok = one.(T); ok {
			return setting, true
		}
	}
	return setting, false
}

// RowOf is the row of a component type, -1 if the protocol does not replicate it. It freezes the protocol.
func (p *Protocol) RowOf(t reflect.Type) int { return p.Schema().RowOf(t) }

// Misused tells OnError, and the log, that game code called a feature's function for a type that is not registered. Each call
// and type is told once.
func Misused(end Endpoint, call string, t reflect.Type, why error) {
	if c := coreOf(end); c != nil {
		c.report.Misused(call, t, why)
	}
}

// extensionName is the name of an extension in errors.
type extensionName string

// String implements fmt.Stringer.
func (n extensionName) String() string { return string(n) }

// serverHooks has the functions of all extensions of a server, by the point of the call.
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
	lost       []func(ClientID, *Posted, bool)
	records    []*ServerRecord
	presented  []func(*Session, Tick) (tick.Time, bool)
	observe    []func(*Session, *snapshot.View)
	hold       []func(*Session, int) (bool, int)
	stateSent  []func(*Session, int, bool)
}

// add adds the functions of one extension.
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
	h.lost = appendGiven(h.lost, e.Undelivered, e.Undelivered != nil)
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
	dispatch   []func(Stage)
	beforeSend []func()
	afterSend  []func()
	sent       []func([]byte)
	received   []func([]byte)
	lost       []func(*Posted, bool)
	actsAt     []func() Tick
	captureOwn []func()
	owns       []func(NetworkID) NetworkID
	hold       func(payload []byte, packet uint64) // May be nil.
}

// add adds the functions of one extension.
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
	h.lost = appendGiven(h.lost, e.Undelivered, e.Undelivered != nil)
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

// addHooks adds the functions of one extension of a server.
func (s *Server) addHooks(h *ServerHooks) {
	s.states = appendGiven(s.states, h.State, h.State != nil)
	if s.hooks.add(h); h.Handled != nil {
		s.tellHandled()
	}
}

// addHooks adds the functions of one extension of a client.
func (c *Client) addHooks(h *ClientHooks) {
	c.states = appendGiven(c.states, h.State, h.State != nil)
	c.hooks.add(h)
}

// extend makes the protocol's extensions for a server.
func (s *Server) extend() {
	for i := range s.protocol.extensions {
		if e := &s.protocol.extensions[i]; e.Server != nil {
			h := e.Server.Server(s)
			s.addHooks(&h)
			s.sections.add(h.Section, s.protocol.types.Features[i].ToServer, s.protocol.types.Features[i].ToClient)
		}
	}
}

// extend makes the protocol's extensions for a client.
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

// keepState stores an extension's state of a session.
func (c *Session) keepState(state any) {
	if state != nil {
		c.kept = append(c.kept, state)
	}
}

// tellSent passes each packet to a client to the extensions with a Sent hook, and messages that are dropped to those with an Undelivered hook.
func (s *Server) tellSent(c *Session) {
	if len(s.hooks.lost) > 0 {
		c.link.Undelivered = s.undelivered(c.id)
	}
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
	if len(c.hooks.lost) > 0 {
		c.link.Undelivered = c.undelivered(0)
	}
	if len(c.hooks.sent) > 0 {
		c.link.Sent = func(packet []byte) {
			for _, f := range c.hooks.sent {
				f(packet)
			}
		}
	}
}

// openStates tells the extensions that a session begins.
func (s *Server) openStates(c *Session) {
	s.tellSent(c)
	for _, f := range s.hooks.opened {
		c.keepState(f(c))
	}
}

// closeStates tells the extensions that a session ends, and drops their states.
func (s *Server) closeStates(c *Session) {
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
func (c *Client) Newest() *Replica {
	if c.back.newest != nil {
		return c.back.newest
	}
	return c.replica
}

// newHeldState makes the held state of a new connection.
func (c *Client) newHeldState() (h heldState) {
	if c.hooks.hold != nil {
		h.newest = replica.New(c.protocol.types.Schema, c.link.older.State(c.agreed.snapshot()), c.replica.Tick())
	}
	return h
}

// ShowState reads into Replica a payload that ClientHooks.HoldState was given. Those of the ticks before it must have been shown
// before, as far as they came.
func (c *Client) ShowState(payload []byte) {
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
func (c *Client) ShownUpTo(t Tick, complete bool) {
	if c.back.newest == nil {
		return
	}
	if c.replica.Follow(c.back.newest, t); complete {
		c.back.complete = t
	}
}

// CompleteTick returns the newest complete tick, as an extension that holds state back tells it: Replica lacks nothing of that tick.
// held is false where no extension holds state back.
func (c *Client) CompleteTick() (t Tick, held bool) { return c.back.complete, c.back.newest != nil }

// Suspend makes the systems leave the client's world as it is, or not any more: while Replica has a part of the state of a tick.
func (c *Client) Suspend(on bool) { c.back.suspended = on }

// Suspended reports whether the systems must leave the client's world as it is.
func (c *Client) Suspended() bool { return c.back.suspended }

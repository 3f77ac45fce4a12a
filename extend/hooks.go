package extend

import (
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// ServerHooks are the functions that a feature gives to one server. They run in the goroutine of the server's frame. The order of features is the order of their Extend calls.
type ServerHooks struct {
	State any // Kept with the server: ExtensionOf finds it by its type.

	Opened func(c Session) (state any) // A session begins. The state is kept with it: ExtensionOf finds it. Nil is none.
	Closed func(c Session)             // A session ends. Its state is dropped after the call.

	BeginFrame func() // The frame begins: Tick, TickDue and Steps are known, nothing was received.
	Captured   func() // On a network tick, in Send: Store has the world of this tick.
	// BeforeObserve is called before a session's view takes in the newest capture, if there is a new one: it may leave out
	// entities by View.ObserveBut.
	BeforeObserve func(c Session, view *snapshot.View)
	BeforeSend    func() // In each frame, in Send: it is known who may see what, and no packet is built.

	// HoldState is called on a network tick before the packets of a session are built. left is the bytes of its budget, below 0 without a
	// bound. If it holds the state of the tick back, no packet has state, and nothing tells the client that the tick is complete.
	// While state waits, messages leave reserve bytes of the budget.
	HoldState func(to Session, left int) (hold bool, reserve int)
	// StateSent is called behind these packets. waits tells that the budget left state over.
	StateSent func(to Session, left int, waits bool)

	AfterSend func() // In each frame, at the end of Send.

	Sent func(to Session, packet []byte) // A packet was built.

	// Posted is called for each message that game code sends to clients, questions and answers left out. m is good until it returns. It sends
	// no messages.
	Posted func(m *Posted)
	// Handled is called in each frame, before AfterSend, for each message of a client that was handled in it, in order, questions and
	// answers left out. m is good until it returns.
	Handled func(from wire.ClientID, m *Posted)

	// Undelivered is called when the connection to a client has ended, for each reliable message of game code that may not have been
	// handled: one that was sent and not acknowledged, or received and not handled; questions and answers left out. m is good until it
	// returns. A Body of nil, of a large message, is not known. It sends nothing.
	Undelivered func(with wire.ClientID, m *Posted, sent bool)

	Record *ServerRecord // The feature's part of recordings.

	// Presented is the moment that a client showed its player when it made what counts for a tick. False is not known.
	Presented func(c Session, at tick.Tick) (tick.Time, bool)

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

	Applied    func(shown tick.Time)  // The world has all that Replica has, and the frame shows that moment.
	Dispatch   func(stage tick.Stage) // The messages of a stage are about to be handled.
	BeforeSend func()                 // In each frame while connected: no packet is built.
	AfterSend  func()                 // In each frame, at the end of Send.

	Sent     func(packet []byte) // A packet was built.
	Received func(packet []byte) // A datagram of the server came and is not read yet.

	// ActsAt is the tick in which the server takes in what the game does on this client now; tick.None is at once. Messages
	// that follow the client's state (About, AfterAllState) wait for it.
	ActsAt func() tick.Tick

	CaptureOwn func() // On a network tick, in Send: the client's own state is to be in Upstream after it.
	// Owns returns the id under which Upstream has the state that messages About an entity follow; zero is none.
	Owns func(entity wire.NetworkID) wire.NetworkID

	Section *ClientSection // The feature's part of packets; Extension.ToServer and ToClient name its types.
}

// ServerSection is a feature's part of packets at a server: bytes without delivery, at most once a packet in each direction.
// A packet takes effect as a whole: Check of all its parts comes first, then Take. Between a host and its player there are no
// packets: a section that is due is handed over in Send, and acknowledged at once.
type ServerSection struct {
	// Check judges the section of a packet that came. Nil where none comes. An error ends the connection as malformed: no honest client sends this.
	Check func(from Session, payload []byte) error
	// Take lets a section that was checked last take effect. The payload is good until it returns. Packets overtake each other: packet is
	// the number that the other end's Write was given. Where only the newest section counts, leave out those of older packets than the
	// newest one. No packet comes twice. Numbers begin anew with each connection.
	Take func(from Session, packet uint64, payload []byte)

	// Due tells, on a network tick, if a packet must be sent for the section. busy tells that one is sent in any case.
	Due func(to Session, busy bool) bool
	// Write writes the section of a packet and returns its bytes, 0 for none. packet is the packet's number. It is called for
	// each packet of a frame: write the section into one of them, since a packet with a section is sent, and the next one follows.
	Write func(to Session, room []byte, packet uint64) int
	// Behind is called as Write, for each packet, when its state is written; it writes the section if Write did not. state is the
	// payload with that state, good until it returns; nil for none.
	Behind func(to Session, room []byte, packet uint64, state []byte) int
	Acked  func(to Session, packet uint64) // A packet was acknowledged, whether the section was in it or not.
	Lost   func(to Session, packet uint64) // A packet is presumed lost.
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
	Apply func(as func(recorded wire.NetworkID) wire.NetworkID)
	// Stop tells that the recording has ended: nothing is to be kept for Write any more; nil: nothing is kept.
	Stop func()
}

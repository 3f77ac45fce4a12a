package netcode

import (
	"fmt"
	"time"

	"github.com/arche-netcode/netcode/errs"
	"github.com/arche-netcode/netcode/extend"
	"github.com/arche-netcode/netcode/internal/endpoint"
	"github.com/arche-netcode/netcode/internal/handshake"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// sessionState is the phase of a session. Before its Join there is no session: see handshake.go.
//
//	Join            close, kick, silence, malformed         acknowledged, or repeated enough
//	----> connected -----------------------------> lingering ------------------------------> gone
//	          |                                                                              ^
//	          +---------------> leaving -----------------------------------------------------+
//	     closed by the client             its messages are handled
type sessionState uint8

const (
	connected sessionState = iota // The game knows the client, and state is sent.
	leaving                       // The client closed; its messages are still handled, and the game is not told yet.
	lingering                     // The session is over; only its close message is repeated.
	gone                          // sweep removes the session.
	numSessionStates
)

// session is one connection of one client at the server, for extensions: the client is connected, or has closed and its
// messages are still handled. Games name it by its ClientID.
type session struct {
	id      wire.ClientID // Send reads id, the next field and the link's first fields: they share a cache line.
	state   sessionState
	link    endpoint.Link // Its View is nil once the session is over.
	server  *Server
	player  *Client // The client of a host's player, in this process; else nil.
	strikes int
	kept    []any            // The states of extensions.
	reason  *errs.CloseError // The reason of its end.

	joined    handshake.Session // As the Door opened it; link has the present address. Zero for a client in this process.
	welcomed  bool              // Welcome was sent since the last tick.
	confirmed bool              // A packet of the client arrived, so that it has read Welcome.

	sending          sendState
	resynced         bool           // A resync was served,
	resyncAt         time.Duration  // at this time.
	oversize         uint64         // Entities that were too large for a packet, as of the last report,
	oversizeID       wire.NetworkID // and the last one.
	withoutViewpoint int            // The number of consecutive network ticks without a viewpoint.
}

// sendState is the state of sending to a client, from one tick to the next.
type sendState struct {
	toldTickAt   time.Duration // The time at which the client last got the server's tick.
	moving       bool          // The last tick sent a snapshot.
	sectionsLast bool          // Sections left no room for state that waits: the next packet has none.
	stateFirst   bool          // Messages filled the last packet while state waited: the next one has state alone.
	stateHeld    bool          // An extension holds the state of this tick back.
	reserved     int           // Bytes of the budget that are reserved for waiting state.
	stateLeft    bool          // State waited at the end of the last tick: messages wait for the next tick.
}

// Link returns the connection, for messages whose bytes a feature reads.
func (c *session) Link() *endpoint.Link { return &c.link }

// ID returns the client's id.
func (c *session) ID() ClientID { return c.id }

// Server is the server of the session.
func (c *session) Server() extend.Server { return serverInside{c.server} }

// Local reports whether the client runs in this process, as the player of a host: no packets are sent to it.
func (c *session) Local() bool { return c.link.Loopback != nil }

// Connected reports whether the client is connected. It is false while messages of a client that has closed are still handled.
func (c *session) Connected() bool { return c.state == connected }

// Waiting returns the bytes of messages that wait to be sent to the client.
func (c *session) Waiting() int { return c.link.Outgoing.Waiting() }

// Unconfirmed returns the number of reliable messages to the client that it has not acknowledged.
func (c *session) Unconfirmed() int { return c.link.Outgoing.Unconfirmed() }

// Protocol returns the hash of the protocol that the session speaks: that of the client's build, see Protocol.Support.
func (c *session) Protocol() uint64 { return c.server.protocol.types.HashWith(c.link.Older) }

// LocalType returns the number that this end's build has for a message type in packets of the session.
func (c *session) LocalType(t wire.MessageType) wire.MessageType { return c.link.Older.Local(t) }

// Plain reports whether the client is one of the plain profile, see Protocol.Plain.
func (c *session) Plain() bool { return c.link.Older.Plain() }

// SharedRows returns the components that the client's build has too. An extension that sends rows to the client numbers them by their
// place among these.
func (c *session) SharedRows() snapshot.Mask { return c.server.protocol.types.RowsWith(c.link.Older) }

// PacketSize returns the size of the largest packet to the client, in bytes.
func (c *session) PacketSize() int { return c.link.PacketSize }

// SaveBudget lets so much of the rate be saved up, if that is more than two ticks: for an extension that holds state back.
func (c *session) SaveBudget(d time.Duration) { c.link.Saves = d }

// View returns the client's visible entities and acknowledged state, as of the newest capture. It is nil once the session is over.
func (c *session) View() *snapshot.View {
	if c.link.View != nil {
		c.server.steps.observe(c)
	}
	return c.link.View
}

// Presented returns the moment that the client showed its player when it made its input for a tick. The client reports it: by
// the Presented hook of an extension, such as package input, or else by the newest tick that it acknowledged. It may be any
// time. It returns false if that is not known.
func (c *session) Presented(at Tick) (tick.Time, bool) {
	if c.player != nil { // A host shows the world itself.
		return c.server.store.Tick().Begin(), true
	}
	for _, presented := range c.server.hooks.presented {
		if shown, ok := presented(c, at); ok {
			return shown, true
		}
	}
	return c.link.AckedOf.Begin(), c.link.AckedOf != tick.None
}

// EndedByGame reports, in ServerHooks.Closed, whether the game ended the session: by Kick, Close or a handler that panicked.
func (c *session) EndedByGame() bool {
	switch c.reason.Reason {
	case errs.ReasonKicked, errs.ReasonHandlerPanic, errs.ReasonShuttingDown:
		return true
	}
	return false
}

// Session returns the session of a client that is connected, or has closed and whose messages are still handled; else nil.
func (s serverInside) Session(client ClientID) extend.Session {
	if c := s.present(client); c != nil {
		return c
	}
	return nil
}

// present returns the session of a client that the game knows: connected or leaving.
func (s *Server) present(id ClientID) *session {
	if c := s.byID[id]; c != nil && (c.state == connected || c.state == leaving) {
		return c
	}
	return nil
}

// client returns a connected client's session, or nil.
func (s *Server) client(id wire.ClientID) *session {
	if c := s.byID[id]; c != nil && c.state == connected {
		return c
	}
	return nil
}

// Recorded reports whether the session was made by Server.AddRecordedPlayer.
func (c *session) Recorded() bool { return c.Local() && c.player == nil }

// taken returns the number of places in use. A leaving client has its place until the game is told.
func (s *Server) taken() int { return s.counts[connected] + s.counts[leaving] }

// isOrderly reports whether an end that closes for this reason delivers its messages first: the reasons of the game, and
// the reasons of netcode that are not errors.
func isOrderly(reason *errs.CloseError) bool {
	switch reason.Reason {
	case errs.ReasonClosed, errs.ReasonKicked, errs.ReasonShuttingDown:
		return true
	}
	return !reason.Reason.Ours()
}

// String names the client, its address and whether it is connected.
func (c *session) String() string {
	switch {
	case c.link.Loopback != nil:
		return fmt.Sprintf("session of client %d in this process", c.id)
	case c.state != connected:
		return fmt.Sprintf("session of client %d at %v, over", c.id, c.link.Address)
	}
	return fmt.Sprintf("session of client %d at %v", c.id, c.link.Address)
}

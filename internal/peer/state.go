package peer

import "github.com/arche-netcode/netcode/wire"

// State is a stage in the life of a connection.
type State uint8

// The states, in order; a connection never goes back.
const (
	StateConnecting State = iota // during the handshake, before any packet
	StateConnected               // open
	StateClosing                 // an end closed it: the last messages and the close message are sent, or received messages are handled
	StateClosed                  // over

	numStates = 4
)

// String returns the state's name.
func (s State) String() string {
	switch s {
	case StateConnecting:
		return "connecting"
	case StateConnected:
		return "connected"
	case StateClosing:
		return "closing"
	case StateClosed:
		return "closed"
	}
	return "no state"
}

// Role names the receiving end of a connection.
type Role uint8

// The roles.
const (
	RoleServer Role = 0
	RoleClient Role = 1
)

// Verdict is the decision about a received message.
type Verdict uint8

// The verdicts.
const (
	VerdictDrop   Verdict = iota // it has no effect
	VerdictAccept                // it is read
	VerdictClose                 // no correct peer sends it: the connection closes with ReasonMalformed
)

// String returns the verdict's name.
func (v Verdict) String() string {
	switch v {
	case VerdictDrop:
		return "drop"
	case VerdictAccept:
		return "accept"
	case VerdictClose:
		return "close"
	}
	return "no verdict"
}

// Allowed returns the verdict about a message of a type in a state, at the server or at a client. It does not check the
// message itself: an accepted one may still be malformed. All types from FirstUserMessage on have the same verdict,
// since only the protocol knows which of them exist. In a state or role that does not exist, every message is dropped.
func Allowed(state State, role Role, t wire.MessageType) Verdict {
	if state >= numStates || role > RoleClient {
		return VerdictDrop
	}
	kind := kindNone
	switch {
	case t >= wire.FirstUserMessage && t <= wire.MaxMessageType:
		kind = kindUser
	case t >= wire.MessageSnapshot && t <= wire.MessageInput:
		kind = messageKind(t - wire.MessageSnapshot)
	}
	switch verdictTable[int(kind)*verdictRow+int(state)*verdictCell+int(role)] {
	case '+':
		return VerdictAccept
	case 'x':
		return VerdictClose
	}
	return VerdictDrop
}

// messageKind is a row of verdictTable.
type messageKind uint8

const (
	kindSnapshot messageKind = iota
	kindKeepAlive
	kindClose
	kindResync
	kindCredit
	kindFragment
	kindRefusal
	kindFeedback
	kindInput
	kindUser
	kindNone // a type that does not exist
)

// verdictTable has a row for each type and a cell for each state. The first letter of a cell is the server's, the
// second the client's: + accept, - drop, x close.
//
// While connecting there is no epoch, so no message passes the checksum. While closing, messages of the game are
// dropped. Credit is accepted, so that the last messages can be sent.
//
//	connecting connected closing closed
const verdictTable = "" +
	"-- ++ -- -- " + // snapshot
	"-- ++ ++ -- " + // keep-alive
	"-- ++ ++ -- " + // close
	"-- ++ -- -- " + // resync
	"-- ++ ++ -- " + // credit
	"-- ++ -- -- " + // fragment
	"-- ++ -- -- " + // refusal
	"-- x+ -- -- " + // feedback
	"-- +x -- -- " + // input
	"-- ++ -- -- " + // the game's
	"-- xx -- -- " //   no such type

const (
	verdictCell = 3
	verdictRow  = numStates * verdictCell
)

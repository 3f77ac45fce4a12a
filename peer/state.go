package peer

import "github.com/arche-netcode/netcode/wire"

// State is a stage in the life of a connection.
type State uint8

// The states, in order; a connection never goes back.
const (
	StateConnecting State = iota // the handshake is under way: there are no packets yet
	StateConnected               // open
	StateClosing                 // an end has closed it: the last messages and the goodbye are sent, or the received messages are handled
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
	VerdictClose                 // no honest peer sends it: the connection closes with ReasonMalformed
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

// Allowed returns what a message of a type comes to in a state, at the server or at a client. It looks at nothing else: an
// accepted message may still be malformed. Types from FirstUserMessage on count as one, for the protocol knows which of
// them exist. Each type in each state has a verdict; a state or role that does not exist drops everything.
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

// messageKind is a row of the table.
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

// verdictTable has a row for each type and a cell for each state, of which the first letter is the server's and the second
// the client's: + accept, - drop, x close. While connecting nothing passes the checksum, for there is no epoch; when closing
// nothing that comes is handled any more, but credit lets the last messages leave.
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

package wire

import "strconv"

// NetworkID identifies an entity on every machine of a session. After an entity's end its index is reused with a higher
// generation. The zero value means no entity.
type NetworkID struct {
	Index      uint32 // index in the server's tables
	Generation uint32 // number of the entity at this index, from 1
}

// IsZero reports whether id names no entity.
func (id NetworkID) IsZero() bool { return id == NetworkID{} }

// Less orders ids by index and then by generation.
func (id NetworkID) Less(other NetworkID) bool {
	if id.Index != other.Index {
		return id.Index < other.Index
	}
	return id.Generation < other.Generation
}

// String returns index and generation, such as "12v3".
func (id NetworkID) String() string {
	return strconv.FormatUint(uint64(id.Index), 10) + "v" + strconv.FormatUint(uint64(id.Generation), 10)
}

// ClientID identifies a client during a server's life. 0 is the server itself. Clients count from 1; each session gets
// a new number.
type ClientID uint32

// MessageType is the type of a message's payload. It is one byte on the wire.
type MessageType uint8

// Message types. 0 is never sent, and 255 is reserved for wider numbers.
const (
	MessageSnapshot  MessageType = 1 // changes of the state for a client
	MessageKeepAlive MessageType = 2 // sign of life
	MessageClose     MessageType = 3 // end of the connection, with a reason
	MessageResync    MessageType = 4 // request for the full state: a client lost its baselines
	MessageCredit    MessageType = 5 // the receiver's credit for reliable messages
	MessageFragment  MessageType = 6 // part of a reliable message that is larger than a packet
	MessageRefusal   MessageType = 7 // answer to a call: an error
	MessageFeedback  MessageType = 8 // how early a client's input arrived at the server
	MessageInput     MessageType = 9 // a client's inputs of the newest ticks

	FirstUserMessage MessageType = 16  // lowest type of a registered message
	MaxMessageType   MessageType = 254 // highest
)

// Valid reports whether t is allowed in a message header.
func (t MessageType) Valid() bool { return t >= 1 && t <= MaxMessageType }

// IsName reports whether a name is 1 to 64 letters, digits, dots, dashes and underscores, as names of tables and of
// extrapolation functions are.
func IsName(name string) bool {
	legal := len(name) > 0 && len(name) <= 64
	for _, b := range []byte(name) {
		switch {
		case b >= 'a' && b <= 'z', b >= 'A' && b <= 'Z', b >= '0' && b <= '9', b == '.', b == '-', b == '_':
		default:
			legal = false
		}
	}
	return legal
}

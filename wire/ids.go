package wire

import "strconv"

// NetworkID names an entity on every machine of a session. An index is used again after its entity is
// gone, with a higher generation; the zero value names nothing.
type NetworkID struct {
	Index      uint32 // place in the server's tables
	Generation uint32 // which entity of that place, from 1
}

// IsZero reports whether id names nothing.
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

// ClientID names a client within a server's life: 0 is the server itself, clients count from 1, each
// session takes a fresh number and none is used twice.
type ClientID uint32

// MessageType tells what a message's payload is. It is one byte on the wire.
type MessageType uint8

// Message types. 0 is never sent and 255 is kept as an escape to wider numbers.
const (
	MessageSnapshot  MessageType = 1 // state that a client lacks
	MessageKeepAlive MessageType = 2 // nothing to say, still here
	MessageClose     MessageType = 3 // the connection ends, with a reason
	MessageResync    MessageType = 4 // a client lost its baselines
	MessageCredit    MessageType = 5 // how much the receiver takes of reliable messages by now
	MessageFragment  MessageType = 6 // a piece of a reliable message that is larger than a packet
	MessageRefusal   MessageType = 7 // a call was answered with an error
	MessageFeedback  MessageType = 8 // when a client's input came to the server
	MessageInput     MessageType = 9 // a client's inputs of the newest ticks

	FirstUserMessage MessageType = 16  // lowest type that a protocol registers
	MaxMessageType   MessageType = 254 // highest
)

// Valid reports whether t may stand in a message header.
func (t MessageType) Valid() bool { return t >= 1 && t <= MaxMessageType }

// IsName reports whether a name consists of 1 to 64 letters, digits, dots, dashes and underscores, as those of tables and of extrapolation functions do.
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

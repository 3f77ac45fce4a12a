package peer

import "github.com/arche-netcode/netcode/wire"

// Version is the version of the wire protocol that this code speaks. Ends with
// different versions refuse each other.
const Version uint16 = 1

// A handshake datagram:
//
//	 byte 0                        4 bytes
//	+----------+----------------+ +----------+
//	| 0x80|kind| body, per kind | | checksum |   over epoch 0 and protocol hash 0,
//	+----------+----------------+ +----------+   of Join and Welcome over those of the session
//
// All numbers in the bodies are little-endian.

// Kind says what a datagram is, by its first byte.
type Kind uint8

// The kinds. Those of the handshake have their number on the wire.
const (
	KindUnknown   Kind = 0 // no kind that is known here
	KindHello     Kind = 1 // client to server: I want in
	KindChallenge Kind = 2 // server to client: prove your address
	KindAccept    Kind = 3 // server to client: you may join
	KindRefuse    Kind = 4 // server to client: you may not
	KindJoin      Kind = 5 // client to server: I have your Accept
	KindWelcome   Kind = 6 // server to client: you have a session
	KindPacket    Kind = 7 // a packet of an open connection
)

// KindOf returns what a datagram claims to be. Nothing but its first byte was
// looked at.
func KindOf(datagram []byte) Kind {
	if len(datagram) == 0 {
		return KindUnknown
	}
	first := datagram[0]
	if first&wire.HandshakeFlag == 0 {
		return KindPacket
	}
	if k := Kind(first &^ wire.HandshakeFlag); k >= KindHello && k <= KindWelcome {
		return k
	}
	return KindUnknown
}

// handshakeCheck is the checksum's start before there is a session.
func handshakeCheck() wire.Checksum { return wire.NewChecksum(0, 0) }

// openDatagram checks a handshake datagram of one kind and returns its body.
// The error is ErrChecksum or ErrMalformed.
func openDatagram(datagram []byte, kind Kind) ([]byte, error) {
	body, ok := unseal(handshakeCheck(), datagram)
	if !ok {
		return nil, ErrChecksum
	}
	if KindOf(body) != kind || kind == KindPacket {
		return nil, ErrMalformed
	}
	return body[1:], nil
}

// sealDatagram completes the handshake datagram that starts at b[start].
func sealDatagram(b []byte, start int) []byte {
	return seal(handshakeCheck(), b, start)
}

// Package peer is the packet layer to one remote end: it numbers packets,
// learns which of them arrived, carries messages in them, and opens and closes a connection.
//
// The words it owns (docs/design.md):
//
//   - packet: one datagram of an open connection
//   - sequence: a packet's number, 64 bits in memory and 16 on the wire
//   - ack, ack bits: which sequences arrived, the newest and the 32 before it
//
// and three of its own:
//
//   - handshake datagram: what makes a connection: [Hello], [Challenge], [Accept],
//     [Refuse], [Join] and [Welcome]
//   - eliciting: carrying at least one message, so that the receiver owes an
//     acknowledgement. A packet that only acknowledges elicits nothing
//   - outcome: what became of an eliciting packet, told by [Conn] to an [Outcome]
//
// Above packets stand the two ends of messages: [Outgoing] is what waits to be sent
// to one peer and what may have to be sent again, [Arrivals] what came from it. The
// receiver grants credit for reliable messages, so that it can hold what it has
// acknowledged; a message larger than a packet travels in pieces.
//
// [Conn] does no I/O and reads no clock: now is an argument everywhere, a
// duration since an arbitrary origin that never goes back. A Conn belongs to
// one goroutine.
package peer

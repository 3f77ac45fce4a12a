// Package peer is the packet layer to one remote end. It numbers packets, learns which of them arrived, puts messages into
// them, and opens and closes a connection.
//
// The words it owns (docs/design.md):
//
//   - packet: one datagram of an open connection
//   - sequence: a packet's number, 64 bits in memory and 16 on the wire
//   - ack, ack bits: the sequences that arrived, the newest and the 32 before it
//
// and three of its own:
//
//   - handshake datagram: [Hello], [Challenge], [Accept], [Refuse], [Join], [Welcome], [Resume] and [Reset], told apart by their [Kind]
//   - eliciting: with at least one message, so that the receiver must acknowledge it. A packet that only acknowledges
//     elicits nothing
//   - outcome: the fate of an eliciting packet, told by [Conn] to an [Outcome]
//
// # Packets
//
// [Conn] numbers and acknowledges, with a [ConnConfig] and [Stats]. [Builder] builds a packet, [Incoming] is one that was
// read, and [Reader] iterates over its messages. [Types] are those of an end with another protocol. [State], [Role] and [Verdict] say which messages are allowed when. [Budget]
// limits the bytes to one peer. Conn does no I/O and reads no clock: now is an argument everywhere, a duration since an
// arbitrary origin that never goes back. A Conn belongs to one goroutine.
//
// # Messages
//
// [Outgoing] stores the messages to one peer that wait or may have to be sent again ([OutgoingConfig], [OutgoingStats]); a
// [Post] is one of them, a [Recaller] takes waiting ones back, and a [Pool] shares buffers. [Arrivals] receives the messages
// of one peer ([Arrival], [ArrivalStats]). The receiver grants credit for reliable messages, so that it has room for all that
// it acknowledged. A message larger than a packet is sent in pieces.
//
// # Handshake
//
// [Cookies] make and check a [Cookie] without state, from [Epochs] of sessions. A [Digest] has the hashes of a protocol's
// entries. A [Limiter] limits the [Work] for each address and network. [PastSessions] remembers sessions that are over, so that a late
// Join opens none anew. [Tokens] make the [Token] that proves a Reset. A [Skipper] leaves out sequence numbers at places that its [SkipSeed] draws. A connection ends with a [Reason]; an [Error] is a
// Reason with a detail, a [FieldError] names an illegal field. [HandshakeStats] counts what came of handshakes.
//
// # Files
//
//   - handshake.go: the datagrams of a handshake, cookies and refusals; those by which a session goes on at another address, or is known to
//     be over; sessions that are over
//   - conn.go: one connection: reads a packet, takes in its acks, detects lost ones; how large packets may be, by probes
//   - packet.go: builds a packet; iterates over the messages of one; message types that the other end numbers in its own way
//   - received_packets.go: which sequences arrived, and the acks that are sent
//   - sent_packets.go: which sequences are on their way, and which are left out; loss, round trip, timeout
//   - send_queue.go: what waits to be sent to a peer, and its order
//   - unreliable.go: waiting unreliable messages
//   - reliable.go: reliable messages until they are acknowledged, cut into pieces if large; which packet had which; buffers
//   - recall.go: takes waiting messages about an entity back
//   - receive_queue.go: order, duplicates and pieces of received messages
//   - budget.go: limits: bytes a second, credit for reliable messages, handshake work for each address
//   - state.go: which messages are legal in which state
//   - errors.go: reasons and errors
package peer

// Package peer is the packet layer of a connection to one remote end. It numbers and acknowledges packets, detects lost
// ones, queues messages and puts them into packets, and opens and closes the connection.
//
// Words (see docs/design.md):
//
//   - packet: one datagram of an open connection
//   - sequence: the number of a packet, 64 bits in memory and 16 on the wire
//   - ack, ack bits: the sequences that arrived: the newest, and the 32 before it
//   - handshake datagram: [Hello], [Challenge], [Accept], [Refuse], [Join], [Welcome], [Resume] or [Reset],
//     distinguished by its [Kind]
//   - eliciting: a packet with at least one message, so that the receiver must acknowledge it. A packet that only
//     acknowledges is not eliciting
//   - outcome: the fate of an eliciting packet, acknowledged or lost. [Conn] reports it to an [Outcome]
//
// # Packets
//
// [Conn] numbers and acknowledges packets, with a [ConnConfig] and [Stats]. [Builder] builds a packet, [Incoming] is
// one that was read, and [Reader] iterates over its messages. [Types] maps message types of an end with another
// protocol. [State], [Role] and [Verdict] define which messages are allowed when. [Budget] limits the bytes to one
// peer.
//
// Conn does no I/O and reads no clock. Every method takes now as an argument, a duration since an arbitrary origin that
// never goes back. A Conn must be used by one goroutine at a time.
//
// # Messages
//
// [Outgoing] stores the messages to one peer that wait or may have to be sent again ([OutgoingConfig],
// [OutgoingStats]). A [Post] is the header of one message. A [Recaller] takes waiting messages back. A [Pool] shares
// buffers. [Arrivals] receives the messages of one peer ([Arrival], [ArrivalStats]). The receiver grants credit for
// reliable messages, so that it has memory for all that it acknowledged. A message larger than a packet is sent in
// pieces.
//
// # Handshake
//
// A [Cookie] proves an address, a [Token] a Reset; package internal/proof makes them. A [Digest] has the hashes of a
// protocol's entries. [PastSessions] stores sessions that are over, so that a late Join does not open one again. A
// [Skipper] skips sequence numbers that depend on its secret [SkipSeed]. A connection ends with a [errs.Reason]. An [errs.CloseError]
// is a Reason with a detail, a [FieldError] describes an illegal field. [HandshakeStats] counts the events of
// handshakes.
//
// # Files
//
//   - conn.go: one connection: reads a packet, applies its acks, detects lost packets, repeats acks, measures the ping
//   - mtu.go: finds the packet size of the path by probes (RFC 8899)
//   - packet.go: builds a packet; kinds of datagrams; iterates over the messages of a packet; maps message types of another protocol
//   - received_packets.go: which sequences arrived
//   - sent_packets.go: which sequences are in flight; loss, round trip, timeout; skipped sequences
//   - send_queue.go: the messages that wait to be sent to a peer, and their order; their buffers
//   - message_header.go: the fields before the body of a message
//   - unreliable.go: waiting unreliable messages
//   - reliable.go: reliable messages until they are acknowledged, in pieces if large, and when they may be sent; those of each
//     packet
//   - recall.go: takes waiting messages about an entity back
//   - receive_queue.go: order, duplicates and pieces of received messages
//   - budget.go: limits: bytes per second, credit for reliable messages
//   - handshake.go: datagrams of the handshake and refusals; Resume and Reset of a session; sessions that are
//     over
//   - state.go: which messages are legal in which state
//   - errors.go: reasons and errors; close messages
package peer

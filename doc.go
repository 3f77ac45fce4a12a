// Package netcode replicates the entities of an Arche world from a server to its clients, and carries messages between
// them.
//
// A [Protocol] says what travels: components are registered with [Replicate], messages with [Handle], alike on both
// sides. A [Server] and any number of clients, each a [Client], are made for it. Neither does I/O or reads a clock: the systems of
// package systems connect them to a world and a socket, one frame at a time.
//
//	protocol := netcode.NewProtocol()
//	netcode.Replicate[Position](protocol)
//	server, err := netcode.NewServer(protocol, netcode.Config{})
//
// Messages are registered with [Handle] and sent with [Send]; questions are registered with [Answer] and asked with [Call].
//
// The packages below it, each with a job of its own:
//
//   - tick: which step it is
//   - wire: bytes in, bytes out
//   - transport: datagrams, in memory or over UDP, and the link conditioner
//   - peer: the packet layer to one remote end, and the messages that wait for it
//   - message: message types and their codecs, and the queues of received messages
//   - snapshot: the state of the world per tick, and what each client still lacks
//   - ecs: the bridge to Arche
//   - interest: who may see what
//   - collections: lists, sets and maps of entities
//   - record: recordings of what a server sent, and tables learned from them
//   - components: what game code puts on its entities
//   - systems: what game code adds to its loop
//   - nettest: worlds, links and a clock for tests
//
// This package owns the words server, client and session: one connection of one client, from its acceptance to its end.
// A word of docs/design.md means here what it means there.
package netcode

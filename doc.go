// Package netcode replicates the entities of an Arche world from a server to its clients, and carries messages between
// them.
//
// A [Protocol] lists the contents of packets: components are registered with [Replicate], messages with [Handle], questions
// with [Answer], alike on both sides. A [Server] and any number of [Client] are made for it. Neither does I/O or reads a clock:
// the systems of package systems connect them to a world and a socket, one frame at a time.
//
//	protocol := netcode.NewProtocol()
//	netcode.Replicate[Position](protocol)
//	server, err := netcode.NewServer(protocol, netcode.Config{})
//	group := systems.NewServer(server, socket, systems.WallClock())
//	err = systems.NewRunner(&world, group, 60).Run(ctx)
//
// This package is the kernel: sessions, frames, state and messages. Features are folders beside it that use its public API
// alone ([Extension]): input, authority, collections, interpolate, consistent, transfer, loading, predict, rewind, record,
// inspect. Games import systems, components,
// interest and transport too, and test with nettest. The guide, docs/guide in the repository, has a page for each subject;
// docs/architecture.md shows all packages.
//
// This package defines server, client and session: one connection of one client, from its acceptance to its end. A word of
// docs/design.md means here the same as there.
package netcode

// Files, for those who read the code.
//
//   - protocol.go, handle.go: registration of components and messages, the protocol's hash; bands.go: distance bands of components; schema.go, older.go: the protocol as a text; older builds
//   - server.go, server_frame.go: the server and its clients; what it receives and sends in a frame
//   - client.go, client_frame.go, client_time.go: the same for a client, connecting included; its clocks
//   - handshake.go, session.go, connection.go: a stranger, one client from acceptance to end; package internal/link is the connection that both ends have, and its close
//   - approval.go, identity.go: the game's decision about a client that asks for a place; players that are away and return
//   - endpoint.go: the part of messages that both ends have; errors and panics of game code
//   - migrate.go: a client that goes on at another address; lines.go: clients behind one router
//   - recipient.go, send.go: Send, and the connections that it reaches; call.go: questions and answers
//   - incoming.go: judges a received packet before it takes effect, queues its messages
//   - held_messages.go: messages that wait before they are sent, and those that wait for state
//   - host.go, open.go: a player at the server itself, whose messages pass no network; a server that is open for others or not
//   - spawn.go: entities in no world, and values of earlier ticks; upstream.go: the state that a client sends
//   - extension.go, hooks.go, sections.go, posted.go, seat.go: what features use; hold.go: state that a feature holds back
//   - config.go, errors.go, stats.go: settings, errors, counters

// Package netcode replicates the entities of an Arche world from a server to its clients, and sends messages between
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
// Features are folders beside it, built on package extend alone: input, authority, collections, interpolate, consistent,
// transfer, loading, predict, rewind, record, inspect. Games import systems, components, interest and transport too, errs for
// errors, and nettest for tests. docs/guide has a page for each subject, docs/architecture.md shows all packages, and
// docs/design.md defines the words.
package netcode

// Files, for those who read the code.
//
// They are in layers: a file uses those of its own layer and of the layers below it (house_layers_test.go).
//
// Constructors:
//
//   - new.go: NewServer and NewClient, which tie the layers together
//
// Frames:
//
//   - server_frame.go, client_frame.go: what an end receives and sends in a frame
//
// Ends:
//
//   - server.go: the server and its clients, who sees what, owners, open for others or not, Kick and Close; session.go: one client, and clients behind one router; sessions.go: how sessions begin and end
//   - client.go, client_time.go: the client, how connections begin and end; its clocks; upstream.go: the state that it sends
//   - owner.go: what the message part (package internal/endpoint) asks an end: its connections, and who may see an entity
//   - handshake.go: connections that begin and move: the game's decision about a client, its player, and when the interest forgets it; package internal/handshake does the rest, as players that return (its admit)
//   - host.go: a player at the server itself: how it begins and ends; recorded players. Messages between the two: package internal/endpoint (deliverLocal)
//   - extension.go: what features give; inside.go: what extend and internal/steps see of an end, and games do not
//   - spawn.go: entities that are in no Arche world, and values of earlier ticks (an id before a capture: package ecs, Capture.Reserve)
//
// Messages and values:
//
//   - handle.go: registration of messages, questions and their handlers; send.go: Send and Call; recipient.go: recipients and options. Package internal/endpoint does the rest
//   - protocol.go: what both ends share, and how components are registered. Package internal/registry keeps it: its hash, distance bands, older builds
//   - shared.go, config.go, stats.go: what both ends have, settings, counters

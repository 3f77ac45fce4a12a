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
//	group := systems.NewServer(server, socket, systems.WallClock())
//	err = systems.NewRunner(&world, group, 60).Run(ctx)
//
// The guide, docs/guide in the repository, has a page for each subject.
//
// # What travels
//
// [Replicate] with [Every], [Once], [Marked], [Importance] and [ExtrapolatedBy]: components.
// [Handle]: messages, sent with [Send] and [Reply].
// [Answer]: questions, asked with [Call]. All of these are called before the first [NewServer] or [NewClient], which freeze the protocol.
//
// # Server: methods for games
//
//   - Its clients: [Server.OnConnect], [Server.OnDisconnect], [Server.OnError], [Server.Clients], [Server.ClientStats], [Server.Kick], [Server.SetPacketSize]
//   - Who sees what: [Server.SetInterest]; without a policy [Server.Show] and [Server.Hide]; [Server.Visible], [Server.VisibleRows], [Server.Keeps]
//   - Who writes what: [Server.SetOwner], [Server.Owner]; components that clients write: package authority
//   - Entities that are in no world: [Server.Spawn], [Server.Has], [Put], [Remove], [Server.Despawn]
//   - Ticks: [Server.Tick], [Server.TickDue], [Server.Steps], [Server.Interval], [Server.TickRate]
//   - What was: [ValueAt], [Server.Store], [Server.ReceivedIn], [Server.SentIn], [Server.Redeliver]
//   - Itself: [Server.ID], [Server.Protocol], [Server.Config], [Server.Stats], [Server.Report], [Server.Close], [Server.Closed]
//
// # Client: methods for games
//
//   - The connection: [Client.Connect], [Client.Close], [Client.Closed], [Client.State], [Client.Err], [Client.ID], [Client.OnConnect], [Client.OnDisconnect], [Client.OnError],
//     [Client.RTT], [Client.Loss], [Client.SetPacketSize]; [Host] and [Client.Hosted]
//   - Time: [Client.Present], [Client.PresentDelay], [Client.ServerTime], [Client.Time], [Client.Steps], [Client.Pace], [Client.Lead], [Client.Tick], [Client.TickDue], [Client.TickRate], [Client.Interval]
//   - What it holds: [Client.Replica]
//   - Looking closely: [Client.Stats], [Client.ReceivedIn], [Client.SentIn], [Client.Redeliver], [Client.Protocol], [Client.Config], [Client.Report]
//
// # Methods for the systems
//
// A frame is made of these. Package systems calls them, and so does who connects a server or client to something else than an Arche world;
// games leave them alone. Note that [Server.Send] and [Client.Send] are steps of the frame: a message is sent by the function [Send].
//
//   - [Server.BeginFrame], [Server.Receive], [Server.Dispatch], [Server.Publish], [Server.Send], [Server.Drain], [Server.DrainAll], [Server.Tag], [Server.Contain]
//   - [Client.BeginFrame], [Client.Receive], [Client.Applied], [Client.Dispatch], [Client.Send], [Client.Drain], [Client.Tag], [Client.Contain], [Client.ConnectedTo]
//   - [Client.Acked] and [Client.Lost] are for package peer alone.
//
// # Methods for extensions
//
// Features are folders beside this package that are built on its public API: [Extension] says how, and how a game writes its own.
// Beside these methods they use [ExtensionOf], [SettingOf], [ForComponent], [Unstorable], [Misused], [ServerOf], [ClientOf], [MustBeName], [RawMessage], the methods of [Session] and
// those of [Protocol].
//
//   - [Server.Extend], [Server.Session], [Server.MayConcern], [Server.PutRow]
//   - [Client.Extend], [Client.AdjustTime], [Client.Upstream], [Client.End]
//
// # Packages
//
// The packages below it, each with a job of its own. A game imports the first four, tests the fifth:
//
//   - systems: what game code adds to its loop
//   - components: what game code puts on its entities
//   - interest: who may see what
//   - transport: datagrams, in memory or over UDP, and the link conditioner
//   - nettest: worlds, links and a clock for tests
//   - ecs: the bridge to Arche
//   - input, authority, collections, interpolate, rewind, record: features: what players do, components that clients write, lists,
//     sets and maps of entities, values between those that arrived, the world as a player saw it, and recordings with tables
//     learned from them
//   - inspect: what packets contain, for people
//   - snapshot: the state of the world per tick, and what each client still lacks
//   - peer: the packet layer to one remote end, and the messages that wait for it
//   - message: message types and their codecs, and the queues of received messages
//   - wire: bytes in, bytes out
//   - tick: which step it is
//
// This package owns the words server, client and session: one connection of one client, from its acceptance to its end.
// A word of docs/design.md means here what it means there.
package netcode

// Files, for those who read the code.
//
// A server and a client, each file one step:
//
//   - server.go, server_clients.go, server_session.go, server_interest.go: the server, its clients, one session, visibility
//   - server_handshake.go, admission.go: who may connect, and how much work a stranger gets
//   - server_receive.go, server_send.go, parallel.go: a packet that came; the packets of a tick, on several processors
//   - server_close.go, leave.go, goodbye.go: ends of connections
//   - client.go, client_connect.go, client_receive.go, client_send.go, client_close.go, client_time.go: the same for a client, and its clocks
//   - link.go: the part of a connection that both ends have; upstream.go: the state that a client sends; packet_size.go, frame.go: its packet size, the frame
//   - host.go: a player at the server itself
//
// Registration:
//
//   - protocol.go, describe.go: the protocol and its hash
//   - replicate.go, handle.go, options.go, answer.go, raw.go: components, messages, calls, raw messages
//
// Messages:
//
//   - recipient.go, send.go, route.go: Send, and the connections that it reaches
//   - courier.go: the part of messages that both ends have; door.go: ends that are reached without a question
//   - gate.go: judges a received packet before it takes effect
//   - early.go: messages that wait before they are sent; release.go: messages that wait for state after they came
//   - refs.go: names of entities in messages that the receiver may not see
//   - contain.go, events.go: panics of game code, callbacks. Open calls are in internal/calls, the report of errors in internal/report
//
// Entities: spawn.go (entities in no world), valueat.go (values of earlier ticks). Extensions: extension.go, hooks.go.
// Looking closely: history.go, stats.go. Also config.go, errors.go, names.go.

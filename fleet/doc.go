// Package fleet runs a game server as one of many that are started, watched and replaced: by netcode fleet on one machine, or
// by Agones on Kubernetes.
//
//	member := fleet.Attach(loop, server, lifecycle, fleet.Config{Empty: 30 * time.Second, Drain: 2 * time.Minute})
//	err := member.Run(context.Background()) // instead of loop.Run
//
// A Lifecycle is the connection to what runs the server. Backends: None here, and the packages fleet/local and fleet/agones. A
// backend gets four kinds of news from the Member and sends three kinds of events to it. It need not know more of a server. Servers
// that talk to each other over NATS use the module fleet/nats, which stands for itself.
//
// The package defines these words:
//
//   - fleet: servers of one game, any of which can take a match
//   - Lifecycle: the connection of one server to its fleet
//   - Match: players that the fleet sends to one server, with the data that the game gets about them
//   - Status: players and matches of a server at present
//   - Event: something that the fleet tells a server: a match is allocated, drain, the lease is lost
//   - Ticket: the part of a connect token that names the match
//   - drain: no new players, those who are here are moved or may finish, then the server ends
//   - Member: a server that is attached to its fleet
//
// The package is at the edge of the module: it reads the clock and starts goroutines. They touch the server in the loop alone.
//
// # Files
//
//   - lifecycle.go: Lifecycle, Status, Match, Event, None
//   - config.go: Config, File
//   - ticket.go: Ticket
//   - matches.go: the matches of a server
//   - member.go: Attach and Member, as far as the loop runs it
//   - run.go: Run, the goroutines that call the Lifecycle and hear from it
package fleet

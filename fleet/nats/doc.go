// Package nats connects the processes of a fleet by NATS: who is there, who plays where, messages of the game between servers, and matches that
// outlive their process. Games that run on one machine need none of it.
//
// [Start] makes a [Node], one for each process: it embeds a NATS server, or connects to a cluster with Config.URL. [Node.Open] makes a [Match] of a
// server's systems, which a systems.Runner runs in the place of its group.
//
// Words owned here:
//   - lease: the right of a process to simulate. It renews it several times a second. One that cannot has stopped before others may go on.
//   - fence: the number of a lease. Later ones are larger. What a process writes under an old one is refused.
//   - directory: the bucket of servers, matches and players. Each process has a copy.
//   - orphan: a match whose process died.
//
// Beside it, package resume tells clients how much was lost. It imports nothing of NATS.
//
// # Files
//
//   - config.go, embed.go: the configuration; the embedded server and the connection
//   - node.go: the process: its goroutines, its subscriptions, its counters
//   - lease.go: when a lease is over, one's own and those of others; no clock, no network
//   - keeper.go: renews the lease, buries those of others, takes over matches; watches the directory
//   - directory.go: the values of the directory, and this process's copy of it
//   - presence.go: the players of this process; what the directory tells
//   - match.go: the loop of a match, its hold, its key
//   - messages.go, inbox.go: messages between servers: types, envelopes, queues
//   - checkpoint.go, recording.go: the store of objects
package nats

// Package live shows a running server in a browser: its clients, the use of bandwidth, the phases of its ticks, its entities, the
// packets of one client, mispredictions, and changed counters.
//
//	inspector := live.New(loop) // loop is of systems.NewServer or NewHost
//	url, stop, err := inspector.Listen("127.0.0.1:6060")
//	...
//	systems.NewRunner(&world, inspector, 60).Run(ctx)
//
// An Inspector is a systems.Group that wraps the group of a server's loop, runs its systems and measures them. A server is not
// safe for concurrent use, so only its own goroutine reads it. Four times a second, at the end of a frame, the loop publishes an
// immutable Snapshot, which HTTP handlers pass on. Questions about entities wait in a queue; the loop answers at most one a
// frame. The inspector cannot change the server.
//
// While nobody looks, nothing is measured: a frame then costs a few comparisons for each system, and one for each datagram and record.
//
// # Words
//
//   - phase: a part of the frame: receive, apply, game, capture, encode, send, and inspect, the inspector's own time
//   - account: the bits of datagrams by reason, component, entity, owner and message (package inspect). The server's writers count
//     state while somebody looks, so every bit has a part, whatever the load
//   - tap: a wrapper around the server's socket that counts the datagrams
//
// # Files
//
//   - inspector.go: Inspector: the group, its phases, publishing
//   - snapshot.go: Snapshot: the published figures
//   - processor_unix.go, processor_other.go: processor time of the process
//   - tap.go: counts datagrams: accounts, and the packets of one client
//   - entities.go: answers questions about entities
//   - handler.go, page.html: the page
//   - client.go: ClientPage: the page of a client
package live

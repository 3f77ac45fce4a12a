// Package live shows a running server in a browser: its clients, where the bytes go, the phases of its ticks, its entities, the packets
// of one client, mispredictions, and the counters that move.
//
//	inspector := live.New(loop) // loop is of systems.NewServer or NewHost
//	url, stop, err := inspector.Listen("127.0.0.1:6060")
//	...
//	systems.NewRunner(&world, inspector, 60).Run(ctx)
//
// An Inspector is a systems.Group: it runs the systems of the loop that it was given, and looks on. A server is not safe for
// concurrent use, so it is read in its own goroutine alone: four times a second, at the end of a frame, the loop publishes a Snapshot,
// which never changes after that; handlers of HTTP pass it on. Questions about entities wait in a queue, and the loop answers one a
// frame. Nothing of the server can be changed.
//
// While nobody looks, nothing is measured: a frame costs some comparisons for each system, and one for each datagram.
//
// # Words
//
//   - phase: a part of the frame: receive, apply, game, capture, encode, send, and inspect, the time that the inspector itself takes
//   - account: the bits of datagrams by reason, component and message (package inspect). Where reading all of them would take more than
//     half a percent of the time between two ticks, the rest counts as not read: sums are right all the same
//
// # Files
//
//   - inspector.go: the group, its phases, and what is published when
//   - snapshot.go: the figures
//   - processor_unix.go, processor_other.go: the processor time of the process
//   - tap.go: datagrams: accounts, and the packets of one client
//   - entities.go: answers questions about entities
//   - handler.go, page.html: the page
package live

// Package consistent makes a client show whole ticks only: all that changed on the server in a tick, and that the client may see, or
// nothing of it.
//
// Without it a client shows each entity as new as it has come. Where the state of a tick takes several packets and one of them is lost,
// the world has some entities as of that tick and others as of an earlier one. With it the client keeps what came until a tick is
// complete. It then shows that tick, and never anything between two ticks.
//
// [Register] adds it to a protocol; [Of] tells how far the shown tick is behind; [Enable] switches it for one client.
//
// # How it works
//
// The server knows for each client which entities it lacks, and which packets on their way have the newest state of an entity (package
// snapshot: View.InFlight). In each tick in which it sends all that changed, it names these packets in a section of the last one. A
// client that has them all has the state of that tick. What it has of later ticks waits.
//
// A lost packet is sent again as it was, unless something in it was hidden from the client since. Where much is hidden in each tick and
// many packets are lost, a client shows few ticks.
//
// A claim is such a section. A tick without one is never shown: the budget was too short for its state.
//
// # Slow lines
//
// Where a tick does not fit its share of the rate, the server saves for up to 250 ms. Then all changes leave in one burst, which fills
// the queue of a slow line. On a line of 16 KiB/s the measured loss is 18 to 36 %, at round trips of 290 to 370 ms. Where the line is
// a little too narrow for every tick, some 8 whole ticks a second are shown. So this package is for games whose changes of a tick fit
// the line.
//
// # Files
//
//   - consistent.go: registration and settings
//   - server.go: when a tick is complete, which packets it took, and how much of the rate is saved up
//   - client.go: which tick is shown
//   - section.go: claims and repeated packets on the wire
package consistent

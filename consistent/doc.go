// Package consistent makes a client show whole ticks only. Of one tick it shows all changes that the client may see, or none.
//
// Without it a client shows each entity in its newest received state. If a tick takes several packets and one is lost, some
// entities are newer than others. With it the client holds back received state until a tick is complete. It then shows that tick,
// and never a mixture of two.
//
// [Register] adds the feature to a protocol. [Of] returns how far the shown tick is behind. [Enable] switches it for one client.
//
// # How it works
//
// For each client the server knows which entities have changes to send. It also knows which packets in flight contain the newest
// state of an entity (View.InFlight of package snapshot). In each tick in which it has sent all changes, it adds a claim to the
// last packet. The claim lists the packets in flight that the tick needs. A client that has received all of them has the complete
// state of that tick. State of later ticks waits.
//
// A lost packet is sent again unchanged, unless something in it was hidden from the client meanwhile. If much is hidden in each
// tick and many packets are lost, a client shows few ticks.
//
// A tick without a claim is never shown: the budget did not suffice for its state.
//
// The package's words:
//
//   - claim: the statement that a client with certain packets has the complete state of a tick
//   - needed packet: one of these packets
//   - repair: a lost packet's state, sent again in a section of a later packet
//
// # Slow lines
//
// If the state of a tick exceeds its share of the rate, the server saves budget for up to 250 ms. Then all changes leave in one
// burst, which fills the queue of a slow line. On a line of 16 KiB/s the measured loss is 18 to 36 %, at round trips of 290 to
// 370 ms. On a line a little too narrow for every tick, some 8 whole ticks a second are shown. Use this package for games whose
// changes per tick fit the line.
//
// # Files
//
//   - consistent.go: registration and settings
//   - server.go: finds complete ticks and the packets that they need; sends lost packets again; saves budget
//   - client.go: holds back state and shows complete ticks
//   - section.go: the wire format of claims and repairs
package consistent

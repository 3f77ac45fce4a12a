// Package nettest runs a server and its clients in one process, on a virtual clock and over seeded bad links. A game's networking
// can thus be tested by `go test` alone.
//
//	func TestMyGameConverges(t *testing.T) {
//		n := nettest.New(t, nettest.Config{
//			Protocol: protocol(),
//			Clients:  3,
//			Seed:     1,
//			Link:     transport.Link{Delay: 60 * time.Millisecond, Jitter: 20 * time.Millisecond, Loss: 0.2},
//			Game: func(w *ecs.World, frame int) {
//				if frame < 300 { // the game rests before AssertConverge
//					move(w)
//				}
//			},
//		})
//		n.Run(10 * time.Second)
//		n.AssertConverge()
//	}
//
// The package checks three invariants ([Invariant]). NoGhostRef and Order are checked after every frame; [Net.AssertConverge]
// repairs the network first and checks Converge. The same seed produces the same datagrams in the same order, which
// [Net.TraceHash] verifies. A failure prints the seed.
//
// Package nettest/adversary has malicious clients and servers.
//
// # Files
//
//   - net.go, config.go: Net: a server and clients on a virtual network and clock
//   - links.go, clocks.go: bad links, frame rates, suspended ends
//   - host.go: the player of a host
//   - invariant.go, ghosts.go, order.go: the invariants
//   - attach.go: ends that are neither the server nor a client
//   - tap.go: the trace of all datagrams
package nettest

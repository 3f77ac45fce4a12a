// Package lan finds games in the local network. A server announces a Game: its name, how to join it, its players and the
// hash of its protocol. A client asks by broadcast, and gets the answers.
//
//	a, err := lan.Announce(4711, func() lan.Game { return lan.Game{Name: "Ann's", Join: "192.168.0.7:9000", Protocol: protocol.Hash()} })
//	err = lan.Find(ctx, 4711, func(g lan.Game) { list(g) })
//
// Nothing of it is proved: whoever is in the network can announce anything. A server answers this machine and private
// addresses alone, each at most MaxAnswers times a second. An answer is never longer than the question, so nobody can use a
// server to flood a third machine.
//
// # Files
//
//   - game.go: Game and its datagram
//   - announce.go: Announce: the answers of a server
//   - find.go: Find: the questions of a client
package lan

// Package handshake is the handshake of both ends; the datagrams are in package peer. The client's side is an attempt to connect, and
// the search for a server that went silent: it writes the datagrams that are due and reads the answers; the client sends them and acts.
// The server's side is a Door, which keeps no state for a client before its Join (docs/adr/0025). It answers datagrams and tells the
// server which sessions begin, end and move.
//
// # Files
//
//   - attempt.go: Hello and Join, until the server made a session
//   - resume.go: Resume, while the server is silent (docs/adr/0041)
//   - outbox.go: where both ends put datagrams
//   - door.go: the server's answers to Hello, Join and Resume
//   - admit.go: who gets a place: limits, the decision of the game, players that return
package handshake

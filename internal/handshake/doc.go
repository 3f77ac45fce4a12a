// Package handshake implements the handshake of both ends; package peer has the datagrams. The client's side is an
// attempt to connect, and the search for a server that went silent. It writes the due datagrams and reads the answers;
// the client sends and acts. The server's side is a Door, which stores nothing for a client before its Join
// (docs/adr/0025). It answers datagrams, and tells the server which sessions begin, end and move.
//
// # Files
//
//   - attempt.go: Hello and Join, until the server made a session
//   - resume.go: Resume, while the server is silent (docs/adr/0041)
//   - outbox.go: the datagrams of both ends that wait to be sent
//   - door.go: the server's answers to Hello, Join and Resume
//   - admit.go: admission: room on the server, limits, the game's decision, players that return
package handshake

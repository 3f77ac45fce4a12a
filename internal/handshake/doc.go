// Package handshake keeps the client's side of the handshake: an attempt to connect, and the search for a server that went silent. It
// writes the datagrams that are due and reads the answers; the client sends them and acts. The server keeps no state for a handshake
// (docs/adr/0025).
//
// # Files
//
//   - attempt.go: Hello and Join, until the server made a session
//   - resume.go: Resume, while the server is silent (docs/adr/0041)
package handshake

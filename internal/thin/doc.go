// Package thin is a client of the plain profile, as a stranger would write it from docs/plain.md: it shares no code with the library.
// Tests play it against servers, and write golden vectors with it. The clients in other languages (folder clients) have the same parts.
//
// # Files
//
//   - bits.go: bit streams
//   - field.go, shape.go: the words of the protocol, rows and values
//   - world.go: snapshots
//   - client.go, packet.go: handshake, packets, messages, inputs
package thin

// Package inspect shows the contents of packets to people: a dump with names and fields, and an account of the bits by
// reason, component, field and message. It is built on netcode's public API.
//
//	account := inspect.New(protocol)
//	account.Add(client, datagram) // for each one that the server sends to this client
//
// # Files
//
//   - dump.go: a packet as text
//   - capture.go: a capture file as text
//   - attribution.go: the account of bits
package inspect

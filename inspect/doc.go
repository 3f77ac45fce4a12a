// Package inspect shows the contents of packets to people. It dumps packets with names and fields, and counts their bits by
// reason, component, field and message. It uses netcode's public API only.
//
//	account := inspect.New(protocol)
//	account.Add(client, datagram) // for each one that the server sends to this client
//
// At a server the writers count the state: [CountState], [Attribution.AddSent], [Attribution.TakeState].
//
// # Files
//
//   - dump.go: a packet as text
//   - capture.go, filter.go: a pcap file as text, whole or of one client, entity or component
//   - handshake.go: a handshake datagram in a line
//   - attribution.go: Attribution: counts bits
package inspect

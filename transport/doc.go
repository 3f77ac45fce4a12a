// Package transport sends and receives datagrams through one small interface, and can make any connection behave like a bad
// network.
//
// A datagram is one unit of bytes that a network delivers or loses as a whole. The packages below contain connections: memory
// connects ends inside one process, udp is a socket, websocket and webtransport serve browsers, and secure encrypts another
// connection.
//
// # Files
//
//   - conn.go: Conn and its optional interfaces
//   - addr.go: addresses
//   - join.go: one Conn over several
//   - conditioner.go: a bad link around any Conn
package transport

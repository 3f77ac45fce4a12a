// Package transport moves datagrams behind one small interface and can make any connection behave like a bad network.
//
// It owns no word of the design's vocabulary beyond datagram: what a packet means is decided above it. The packages
// below it are connections: memory joins ends inside one process, udp is a socket.
//
// # Files
//
//   - conn.go: Conn and its optional interfaces; addr.go: addresses
//   - join.go: one Conn over several
//   - conditioner.go: a bad link around any Conn
package transport

// Package queued makes a transport.Conn of connections that block, as a WebSocket and the datagrams of QUIC do. Each connection
// has one goroutine that reads and one that writes, so Send and Receive of the Conn never wait.
//
// Datagrams to be written wait in a ring in which the newest win: when the connection is blocked and the ring is full, the oldest
// is dropped and counted. State that is overtaken is therefore replaced and not queued; netcode treats it as lost.
//
// # Files
//
//   - queued.go: Conn: connections come and go, datagrams are sent and received
//   - pipe.go: Pipe: one connection that blocks; the two goroutines of it
//   - ring.go: ring: the datagrams that wait to be written
package queued

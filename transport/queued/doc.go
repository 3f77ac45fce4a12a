// Package queued makes a transport.Conn from blocking connections, such as WebSocket and the datagrams of QUIC. Each connection
// has a reading and a writing goroutine, so that Send and Receive never block.
//
// Datagrams to be written wait in a ring. If the connection is blocked and the ring is full, the oldest datagram is dropped and
// counted. New state therefore replaces old state instead of waiting behind it; netcode treats the dropped datagram as lost.
//
// Received datagrams wait in a queue that hosts share by turns. A connection that sends more than its share is read more slowly.
//
// # Files
//
//   - queued.go: Conn: adds and removes connections, sends and receives datagrams
//   - pending.go: Pending: the connections of a server that have no session yet
//   - pipe.go: Pipe: one blocking connection, and its two goroutines
//   - ring.go: ring: the datagrams that wait to be written
package queued

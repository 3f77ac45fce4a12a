// Package turns is the queue between the readers of a socket and Receive, which many hosts share. Datagrams leave by turns of hosts,
// within a host by turns of its peers. When the queue is full the newest datagram of the peer with the most waiting makes room: a host
// that floods loses its own datagrams and no others'.
//
// Peers that have a session with the layer above come first: they get three of four turns, and, once there are such peers, all others
// together use at most a quarter of the queue.
//
// # Files
//
//   - queue.go: Queue: datagrams in, datagrams out, peers with a session
//   - line.go: line: what waits of a peer, of a host, of all
package turns

// Package udp is a UDP socket as a transport.Conn. One goroutine reads into a queue of fixed size; sending never blocks.
//
// On Unix a datagram is dropped and counted if the kernel has no room. Elsewhere the standard library sends, which may block for
// a moment in that case. Browsers have no UDP: there the package only compiles.
//
// On Linux one write sends several datagrams (GSO) and one read receives several (GRO). Six datagrams of 1200 bytes to each of 16
// sockets of one machine take 0.36 of the time of single calls with GSO, and 0.21 with both; GRO alone saves 2 to 4 % (go test
// ./transport/udp -run '^$' -bench Runs). ECN is not read: it had no measurable gain, since no line in the tests marks packets.
//
// # Files
//
//   - conn.go: Conn, Stats
//   - reader.go: the reading goroutine and the queue to Receive
//   - send_unix.go, send_other.go: send without blocking
//   - offload_linux.go, offload_other.go: several datagrams in one read or write (GRO, GSO)
//   - whole_linux.go, whole_other.go: forbid IP fragmentation
package udp

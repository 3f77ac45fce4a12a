// Package udp is a UDP socket as a transport.Conn. One goroutine reads into a queue of fixed size; sending never blocks.
//
// On Unix a datagram is dropped and counted if the kernel has no room. Elsewhere the standard library sends, which may block for
// a moment in that case. Browsers have no UDP: there the package only compiles.
//
// On Linux one write sends several datagrams (GSO) and one read receives several (GRO). Six datagrams of 1200 bytes to each of 16
// sockets of one machine take 0.36 of the time of single calls with GSO, and 0.21 with both; GRO alone saves 2 to 4 % (go test
// ./transport/udp -run '^$' -bench Runs). ECN is not read: it had no measurable gain, since no line in the tests marks packets.
//
// A server on all addresses of a machine (":9000") answers a client from the address that the client has dialled, on linux, darwin
// and freebsd (IP_PKTINFO and its kin; tests run on linux). Elsewhere the system chooses the address, and a client that dialled another one
// does not know the answer: there bind the socket to the one address that clients use.
//
// Hosts share the queue by turns: one that floods loses its own datagrams (package transport/internal/turns).
//
// # Files
//
//   - conn.go: Conn, Stats
//   - reader.go: the reading goroutine
//   - send_unix.go, send_other.go: send without blocking
//   - offload_linux.go, offload_other.go: several datagrams in one read or write (GRO, GSO)
//   - local_unix.go, local_linux.go, local_darwin.go, local_freebsd.go, local_other.go, local_none.go: the address of this machine that a
//     datagram came to
//   - control_unix.go, control_other.go: control data of reads and writes
//   - whole_linux.go, whole_other.go: forbid IP fragmentation
package udp

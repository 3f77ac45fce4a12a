// Package udp is a UDP socket as a transport.Conn: one goroutine reads into a fixed queue, sending never waits.
//
// On Unix a datagram for which the kernel has no room is dropped and counted. Elsewhere the standard library sends, which
// may wait a moment in that case; the browser has no UDP, there the package only compiles.
//
// On Linux several datagrams go to the kernel in one write (GSO) and come in one read (GRO). Six of 1200 bytes to each of 16
// sockets of one machine take 0.33 of the time of single calls with GSO, and 0.17 with both; GRO alone gains 2 to 4 %
// (go test ./transport/udp -run '^$' -bench Runs). ECN is not read: no gain was measured, since no line here marks packets.
//
// # Files
//
//   - conn.go: the Conn; reader.go: the goroutine that reads
//   - send_unix.go, sendto_unix.go, send_other.go: sends one datagram without waiting
//   - volley_linux.go, volley_other.go, sendmmsg_linux_amd64.go, sendmmsg_linux_arm64.go: sends many in one call
//   - offload_linux.go, offload_other.go: reads several as one
//   - whole_linux.go, whole_other.go: forbids fragments
package udp

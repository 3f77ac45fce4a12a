// Package udp is a UDP socket as a transport.Conn: one goroutine reads into a fixed queue, sending never waits.
//
// On Unix a datagram for which the kernel has no room is dropped and counted. Elsewhere the standard library sends, which
// may wait a moment in that case; the browser has no UDP, there the package only compiles.
package udp

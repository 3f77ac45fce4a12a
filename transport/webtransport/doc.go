// Package webtransport is a transport.Conn over WebTransport: datagrams of QUIC (RFC 9221) in a session over HTTP/3. Browsers and
// native clients connect to the same server. It is a module of its own, because it needs github.com/quic-go/quic-go and
// github.com/quic-go/webtransport-go.
//
// QUIC encrypts, and proves the address of a client before it answers with more than it got. Its congestion control makes
// SendDatagram block; here only the goroutine of the connection waits, and newer datagrams replace older ones: see package queued.
//
// A datagram has at most 1215 bytes at first (measured with Chromium 156), so Config.PacketSize of 1200, the default, fits.
//
// # Files
//
//   - server.go: Server: listens; a session for each client
//   - client.go: Dial: a native client
//   - session.go: session: one connection as a queued.Pipe
//   - certificate.go: NewCertificate: a certificate of ten days that a page can pin
package webtransport

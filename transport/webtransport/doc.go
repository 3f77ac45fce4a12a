// Package webtransport is a transport.Conn over WebTransport: QUIC datagrams (RFC 9221) in a session over HTTP/3. Browsers and
// native clients connect to the same server. It is a separate module, because it needs github.com/quic-go/quic-go and
// github.com/quic-go/webtransport-go.
//
// QUIC encrypts, and verifies a client's address before it sends it more than it received. Its congestion control blocks
// SendDatagram. Here only the goroutine of the connection waits, and newer datagrams replace older ones: see package queued.
//
// At first a datagram has at most 1215 bytes (measured with Chromium 156), so that the default Config.PacketSize of 1200 fits.
//
// # Files
//
//   - server.go: Server: listens; a session for each client
//   - client.go: Dial: a native client
//   - session.go: session: one connection as a queued.Pipe
//   - certificate.go: NewCertificate: a certificate of ten days that a page can pin
package webtransport

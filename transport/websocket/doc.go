// Package websocket is a transport.Conn over WebSockets (RFC 6455), for networks without UDP and browsers without WebTransport. A
// datagram is one binary message. It is a separate module, because it needs github.com/coder/websocket.
//
// TCP delivers in order: a lost segment delays everything behind it. Newer datagrams replace those that wait meanwhile: see
// package queued.
//
// # Files
//
//   - websocket.go: Server, an http.Handler and a Conn; Dial for clients
//   - guard.go: Guard, a listener that bounds TCP connections without a WebSocket
package websocket

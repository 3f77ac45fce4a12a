// Package websocket is a transport.Conn over WebSockets (RFC 6455), for networks without UDP and for browsers without WebTransport.
// A datagram is one binary message. It is a module of its own, because it needs github.com/coder/websocket.
//
// TCP delivers everything in order, so a lost segment delays all behind it. Datagrams that wait meanwhile are replaced by newer
// ones: see package queued.
//
//	websocket.go   Server: an http.Handler and a Conn; Dial: a client
package websocket

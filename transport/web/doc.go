// Package web is a transport.Conn for games in browsers, by WebTransport or, where that fails or takes long, by WebSocket. It needs
// nothing but syscall/js, and is empty on other platforms. The server's ends are the modules transport/webtransport and
// transport/websocket; transport.Join makes one server of both.
//
// # Files
//
//   - web.go: Dial, Conn: the choice between the two
//   - webtransport.go: a session of the browser's WebTransport as a queued.Pipe
//   - websocket.go: a WebSocket of the browser as a queued.Pipe
//   - promise.go: await: waits for a promise
package web

// Package web is a transport.Conn for games in browsers. It uses WebTransport or, if that fails or takes too long, WebSocket. It
// needs only syscall/js and is empty on other platforms. The servers are in the modules transport/webtransport and
// transport/websocket; transport.Join makes one server of both.
//
// # Files
//
//   - web.go: Dial, Conn: the choice between the two
//   - webtransport.go: a WebTransport session of the browser as a queued.Pipe
//   - websocket.go: a WebSocket of the browser as a queued.Pipe
//   - promise.go: await: waits for a promise
package web

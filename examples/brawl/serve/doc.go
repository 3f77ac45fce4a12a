// Package serve is the server of Brawl for players anywhere: it serves the page with the client, and plays by WebTransport and WebSocket.
//
// # Files
//
//   - host.go: Host: the sockets, the match, and the player of a host
//   - pages.go: the files of the page, and the settings that a client gets
//   - build.go: builds the page's client with the Go toolchain
package serve

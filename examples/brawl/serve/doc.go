// Package serve is the server of Brawl for players anywhere: it serves its pages, on package site of examples/web, and plays by WebTransport and WebSocket.
//
// # Files
//
//   - host.go: Host: the pages, the match, and the player of a host
//   - index.html: the page of the client in WebAssembly
//   - js: the page of the JavaScript client, for spectators and phones
package serve

// Command web is a game in a browser: it builds the client for js/wasm with the Go toolchain, makes a certificate of ten days, serves
// page and game on loopback, and prints the URL. With -headless it is a native client of another such server.
//
//	main.go      flags
//	host.go      host: page, WebTransport, WebSocket and the match
//	lossy.go     lossy: a Conn that loses datagrams both ways
//	headless.go  a native client, by package join
package main

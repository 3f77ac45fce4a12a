// Command web is a game in a browser: it builds the client for js/wasm with the Go toolchain, makes a certificate of ten days, serves
// page and game, on loopback unless -listen says otherwise, and prints the URL. With -headless it is a native client of another such server.
//
//	main.go      flags
//	host.go      host: pages and the match, on package site
//	lossy.go     lossy: a Conn that loses datagrams both ways
//	headless.go  a native client, by package join
package main

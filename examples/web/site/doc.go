// Package site serves the pages of a browser game and the socket by which they play: WebTransport, and WebSocket where that fails. Other
// machines of the local network play too, if it listens at more than a loopback address.
//
//	site.go     Site: listeners, certificate, origins
//	pages.go    the files of a page, and the settings that a client gets
//	near.go     the addresses of this machine for others
//	build.go    Build: the page's client, with the Go toolchain
package site

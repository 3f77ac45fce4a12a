// Package join connects a client of the game to a host of examples/web: natively by the host's URL, in a browser by the settings that the
// host wrote into its page.
//
//	native.go    Dial for programs
//	browser.go   Dial for pages, and the figures of a page for tests
package join

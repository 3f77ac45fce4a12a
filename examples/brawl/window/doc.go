// Command window is the client of Brawl, as a window and as a page. As a window it joins a host, or is one: its player plays in the
// server's own process, and others join by the address that it prints.
//
// # Files
//
//   - main.go: play: joins a host
//   - native.go: flags, and a host that plays
//   - browser.go: the query of the page, and the figures for tests
package main

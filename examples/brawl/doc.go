// Command brawl is a game for friends: an arena seen from above, two teams, a ball, two guns and bots. It is the dedicated server and serves the
// page; the command in window is the client, and a host that plays.
//
//	rules   the game without its drawing
//	view    what a frame shows, now and of the last seconds
//	steps   one part of the rules after the other, headless
//	serve   the server's pages, for the client in Go and that in JavaScript
//	line    a Socket of the game's own, with a slider for each fault of a network
//	screen  drawing and controls, with Ebitengine
//	window  the client, as a window and as a page
package main

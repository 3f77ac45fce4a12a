// Command ebiten is the game of examples/web with Ebitengine: as a window, and as a page. Rules, server and connection are those of
// examples/web; this folder draws and reads keys.
//
//	main.go     flags, and the connection
//	screen.go   screen: the ebiten.Game
package main

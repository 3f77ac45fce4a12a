// Package screen draws Brawl with Ebitengine and reads keyboard, mouse, gamepad and touch, in a window and in a page.
//
// # Files
//
//   - game.go: Game: the ebiten.Game; a frame of the screen is a frame of the netcode
//   - controls.go: what a player does with its hands
//   - draw.go: the arena and all that moves in it
//   - shapes.go: discs, rings and lines
//   - sparks.go: effects: beams, flashes, sparks
//   - hud.go: scores, news, chat, the table of players
//   - replay.go: the replay of a goal, and the killcam
//   - sound.go: tones
//   - overlay.go: F1: figures, sliders and buttons
//   - shot.go: pictures of the window
package screen

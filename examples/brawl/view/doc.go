// Package view collects what a frame of Brawl shows, for any kind of drawing.
//
// # Files
//
//   - scene.go: Scene: all that is drawn in a frame; View collects it
//   - tape.go: Tape: the scenes of the last seconds, for the replay of a goal and for the killcam
package view

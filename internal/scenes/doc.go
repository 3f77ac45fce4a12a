// Package scenes generates the motion of made-up games that the shipped tables are trained on: cubes, discs, people, traffic,
// machines, shots.
//
// # Files
//
//   - scene.go, scenes.go, components.go: the games and their components; trains the tables
//   - rigid.go, flat.go, actors.go, vector.go: what moves in them
package scenes

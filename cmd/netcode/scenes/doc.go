// Package scenes generates the motion of invented games, to train the shipped code tables: cubes, discs, people, traffic,
// machines, shots.
//
// # Files
//
//   - scene.go: a scene, and Train, which trains the tables
//   - scenes.go: the list of scenes
//   - components.go: the components of the games
//   - rigid.go, flat.go, actors.go: the moving things
//   - vector.go: arithmetic with the same results on every machine
package scenes

//go:build !race

package alloctest

// raceDetector is true in a build with the race detector.
const raceDetector = false

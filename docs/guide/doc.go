// Package guide compiles and runs the Go code that the guide shows, and checks that the pages show just that and that
// their links lead somewhere. All of it is tests.
package guide

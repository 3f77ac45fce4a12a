// Package parallel runs the parts of a job through an Executor, each once, and handles their panics. parallel.go contains
// everything.
package parallel

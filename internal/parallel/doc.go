// Package parallel runs the parts of a job through an Executor, each once, and keeps their panics.
package parallel

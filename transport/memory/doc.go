// Package memory joins connections inside one process: perfect, immediate and in order.
//
// Wrap an end in transport.Condition to make it a network. Everything here belongs to one goroutine.
package memory

// Package memory connects ends inside one process: without loss or delay, and in order.
//
// Wrap an end in transport.Condition to simulate a network. All ends of a network belong to one goroutine. memory.go contains
// everything.
package memory

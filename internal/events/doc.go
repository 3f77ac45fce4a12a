// Package events queues the events of connections until the functions of the game may be called. All code is in
// events.go.
package events

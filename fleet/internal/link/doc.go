// Package link defines what a supervisor and its servers say to each other: JSON over HTTP at a loopback address, under a path that
// only the server of that process knows. link.go contains the types.
//
//	GET  hello     Hello
//	GET  events    Event, one a line; an empty line each Beat
//	POST schema    text of Protocol.WriteSchema
//	POST ready, health, shutdown
//	POST report    Report
//	POST move      Move; the answer is a Moved
//
// Each request has the query heard: the number of the newest event that the server has. Events are repeated from there on when a
// stream begins.
package link

// Package link defines what a supervisor and its servers say to each other: JSON over HTTP at a loopback address, under a path that
// only the server of that process knows. link.go contains everything.
//
//	GET  hello     Hello
//	GET  events    Event, one a line; an empty line each Beat
//	POST schema    text of netcode.WriteSchema
//	POST ready, health, shutdown
//	POST report    Report
//	POST move      Move; the answer is a Moved
package link

import "time"

// Variable is the environment variable with the URL of the supervisor, secret included.
const Variable = "NETCODE_FLEET"

const (
	// Beat is the time between two lines of events at most.
	Beat = time.Second
	// Silence is the time without a line, or without a supervisor, after which a server drains.
	Silence = 5 * Beat
	// MaxBody bounds the bytes of a request and of a line of events.
	MaxBody = 1 << 20
)

// Hello tells a server its place.
type Hello struct {
	Name    string `json:"name"`    // "game-2".
	Listen  string `json:"listen"`  // The address for its socket.
	Address string `json:"address"` // The address for players, as in tokens.
	Key     []byte `json:"key"`     // The secure.Key of this process alone.
}

// Event is a line of events.
type Event struct {
	Kind string `json:"kind"` // "allocated" or "drain".
	ID   string `json:"id,omitempty"`
	Data []byte `json:"data,omitempty"`
}

// Match is a match of a Report.
type Match struct {
	ID   string `json:"id"`
	Data []byte `json:"data,omitempty"`
}

// Report is a fleet.Status.
type Report struct {
	Players  int      `json:"players"`
	Places   int      `json:"places"`
	Users    []string `json:"users,omitempty"`
	Matches  []string `json:"matches,omitempty"`
	Draining bool     `json:"draining,omitempty"`
}

// Move asks for another server for a user.
type Move struct {
	User  string `json:"user"`
	Match Match  `json:"match"`
}

// Moved has the connect token of that server.
type Moved struct {
	Token []byte `json:"token"`
}

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
	MaxBody = 4 << 20
)

// Hello tells a server its place.
type Hello struct {
	Name    string `json:"name"`    // "game-2".
	Listen  string `json:"listen"`  // The address for its socket.
	Address string `json:"address"` // The address for players, as in tokens.
	Key     []byte `json:"key"`     // The secure.Key of this process alone.
	Shared  []byte `json:"shared"`  // 32 bytes that all processes have.
}

// Event is a line of events.
type Event struct {
	N    uint64 `json:"n"`              // Counts the events of a process, from 1.
	Kind string `json:"kind"`           // "allocated" or "drain".
	ID   string `json:"id,omitempty"`   // Of the match.
	Data []byte `json:"data,omitempty"` // Of the match.
}

// Match is a match of a Report.
type Match struct {
	ID   string `json:"id"`             // fleet.Match.ID.
	Data []byte `json:"data,omitempty"` // fleet.Match.Data.
}

// Report is a fleet.Status.
type Report struct {
	Players  int      `json:"players"`            // Connected.
	Places   int      `json:"places"`             // At most.
	Users    []string `json:"users,omitempty"`    // Identities.
	Matches  []string `json:"matches,omitempty"`  // IDs.
	Draining bool     `json:"draining,omitempty"` // No new players.
}

// Move asks for another server for a user.
type Move struct {
	User  string `json:"user"`  // Its identity.
	Match Match  `json:"match"` // Its match; without an ID: none.
}

// Moved has the connect token of that server.
type Moved struct {
	Token []byte `json:"token"` // Of secure.Issue.
}

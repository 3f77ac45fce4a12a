// Package admission decides which clients may join a server. It limits clients by host and network, waits for the game's
// approval, and stores disconnected players who may return. It sends nothing and does not know sessions.
//
// The package's words:
//
//   - place: the right of one client to have a session
//   - player: a client with an identity from the game; it is away while it has no session and may return
//
// # Files
//
//   - places.go: Limits, Places: limits by host and network
//   - decisions.go: clients that want to join, and the game's answer
//   - players.go: players: connected, away, or gone for good
package admission

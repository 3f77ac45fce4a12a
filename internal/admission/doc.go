// Package admission decides who has a place at a server: how many clients of one address and of one network, which of those that ask the
// game approves, and which players are away and may come back. It sends nothing and knows no session.
//
// # Files
//
//   - places.go: limits of an address and of its network
//   - decisions.go: clients that ask for a place, and the answer of the game
//   - players.go: clients with an identity: connected, away, or gone for good
package admission

// Package link keeps one connection of an end: packets that are opened, filled with messages and state, and closed within a budget; the
// time since the other end was heard; and the close, with what is delivered before it.
//
// Homes groups links that may share a line.
//
// It joins the parts of package peer. It knows no server, no client and no session: a test drives two links against each other.
package link

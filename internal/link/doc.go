// Package link implements one connection of an end. It opens packets, fills them with messages and state, and closes them
// within a budget. It measures the silence of the other end, and runs the close with the delivery of waiting messages.
//
// It joins the parts of package peer. It knows no server, client or session: a test runs two links against each other.
//
// # Files
//
//   - link.go: Link, one connection
//   - homes.go: Homes, the connections that may share a line, for congestion control
package link

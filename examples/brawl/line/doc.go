// Package line is a Socket of the game's own, in place of one of package transport: any type with Send and Receive is one. A game that
// has its players by Steam or EOS writes the same few methods around their calls. This one lies over another socket, and does to its datagrams what
// players ask for to see what the game makes of it: a delay, jitter and loss in both directions, and another address in the middle of the
// game. It counts what comes in by component, too.
//
// # Files
//
//   - line.go: Line: Send and Receive, with a queue for each direction
//   - count.go: Counts: the bytes of each component
package line

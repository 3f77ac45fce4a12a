// Package transfer sends large messages, of several MB, between a server and its clients: maps, pictures, saved games. They are sent in
// pieces over a reliable channel, beside state and other messages, with progress at both ends, and either end may cancel them.
//
// [Register] adds it to a protocol, [Send] begins a transfer, [On] takes those that come. A receiver says how large they may be, and
// how many a sender may have under way.
//
// # How it shares the line
//
// Pieces wait in the queue of messages only as far as the line takes them, so other messages do not wait behind megabytes. Where state
// and messages wait for the budget, each gets half: a transfer takes at most half of it from state that needs all, and nothing from
// state that needs less than half. Where a server saves up for whole ticks (package consistent), half of what comes in is kept for them.
//
// # Files
//
//   - transfer.go: registration, bounds, Send and On
//   - end.go: the transfers of each connection, and how many pieces wait in its queue of messages (feed)
//   - sending.go, receiving.go: one transfer, at either end
//   - messages.go: the messages between them
package transfer

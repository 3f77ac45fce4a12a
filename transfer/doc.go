// Package transfer sends large messages of several MB between a server and its clients: maps, pictures, saved games. It sends
// them in pieces over a reliable channel, beside state and other messages. Both ends see the progress and may cancel.
//
// [Register] adds transfers to a protocol, [Send] begins one, [On] sets the handler of received ones. The receiver limits their
// size and number.
//
// The package's words:
//
//   - transfer: one large message on its way
//   - piece: the next bytes of a transfer, one message on the wire
//
// # How it shares the line
//
// Only as many pieces wait in the message queue as leave soon, so that other messages do not wait behind megabytes. If both state
// and messages wait for the budget, each gets half. A transfer thus slows state that needs more than half of the budget, and no
// other state. If a server saves budget for whole ticks (package consistent), half of the new budget is reserved for them.
//
// # Files
//
//   - transfer.go: Register, Config, Send, On
//   - end.go: the transfers of each connection; how many pieces wait in its message queue (feed)
//   - sending.go, receiving.go: one transfer, at the sender and at the receiver; what may be in flight
//   - messages.go: the messages between them
package transfer

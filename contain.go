package netcode

import (
	"runtime/debug"

	"github.com/arche-netcode/netcode/peer"
	"github.com/arche-netcode/netcode/wire"
)

// What the game's functions beside handlers are called, where one panics.
const (
	nameOnConnect    = "OnConnect"
	nameOnDisconnect = "OnDisconnect"
	nameAnswer       = "a call's answer"
	nameChange       = "OnChange of a collection"
)

// contained is deferred around a function of the game that is called for one connection and outside of a handler: if it
// panics, that connection ends as for a handler, and the frame goes on.
func (c *courier) contained(name string, with wire.ClientID) {
	if value := recover(); value != nil {
		c.stats.HandlerPanics++
		c.blame(name, with, value)
	}
}

// blame logs the panic of a function of the game with its stack, tells OnError and ends the connection for which the function was
// called. It runs in the deferred function that recovered, where the stack still has the frames of the panic.
func (c *courier) blame(name string, with wire.ClientID, value any) {
	failed := &PanicError{Name: name, Sender: with, Value: value, Stack: debug.Stack()}
	c.report.panicked(failed)
	if c.knows(with) && with != c.inbound.Local().ID() {
		c.part(with, &peer.Error{Reason: peer.ReasonHandlerPanic, Detail: name})
	}
}

// tellCaller tells whoever waits for an answer that there is none.
func (c *courier) tellCaller(w waiter, of wire.ClientID, err error) {
	defer c.contained(nameAnswer, of)
	w.fail(err)
}

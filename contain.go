package netcode

import (
	"log/slog"

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

// blame ends the connection for which a function of the game panicked. Where there is none, or none any more, it is an
// error that has no caller.
func (c *courier) blame(name string, with wire.ClientID, value any) {
	if !c.knows(with) || with == c.inbound.Local().ID() {
		c.report.error(&PanicError{Name: name, Value: value})
		return
	}
	c.report.log(slog.LevelError, "a handler panicked", "message", name, "sender", with, "panic", value)
	c.part(with, &peer.Error{Reason: peer.ReasonHandlerPanic, Detail: name})
}

// tellCaller tells whoever waits for an answer that there is none.
func (c *courier) tellCaller(w waiter, of wire.ClientID, err error) {
	defer c.contained(nameAnswer, of)
	w.fail(err)
}

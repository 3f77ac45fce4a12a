package netcode

import (
	"github.com/arche-netcode/netcode/peer"
	"github.com/arche-netcode/netcode/wire"
)

// events holds what happened until it is safe to tell the game: its functions may kick, send and close, so they are
// called between packets and never in the middle of one.
type events struct {
	connected    []func(wire.ClientID)
	disconnected []func(wire.ClientID, *peer.Error)

	over func(wire.ClientID, *peer.Error) // Told after disconnected: the end's own clearing up.
	end  *courier                         // The owner of the events.

	waiting []event
	firing  bool
}

// event is a connection that began, or one that ended for a reason.
type event struct {
	client wire.ClientID
	reason *peer.Error
}

// fire tells everything that waits, and what the functions that are called cause meanwhile.
func (e *events) fire() {
	if len(e.waiting) > 0 && !e.firing {
		e.fireAll()
	}
}

// fireAll is fire where something waits.
func (e *events) fireAll() {
	e.firing = true
	defer func() { e.firing = false }()
	for i := 0; i < len(e.waiting); i++ {
		e.tell(e.waiting[i])
	}
	clear(e.waiting)
	e.waiting = e.waiting[:0]
}

// tell calls the functions for one event.
func (e *events) tell(what event) {
	if what.reason == nil {
		for _, f := range e.connected {
			e.tellConnected(f, what.client)
		}
		return
	}
	for _, f := range e.disconnected {
		e.tellDisconnected(f, what.client, what.reason)
	}
	e.over(what.client, what.reason)
}

func (e *events) tellConnected(f func(wire.ClientID), client wire.ClientID) {
	defer e.end.contained(nameOnConnect, e.with(client))
	f(client)
}

func (e *events) tellDisconnected(f func(wire.ClientID, *peer.Error), client wire.ClientID, reason *peer.Error) {
	defer e.end.contained(nameOnDisconnect, e.with(client))
	f(client, reason)
}

// with is the other end of the connection that an event is about: a client is told its own id.
func (e *events) with(client wire.ClientID) wire.ClientID {
	if e.end.client != nil {
		return 0
	}
	return client
}

// mustBeGiven refuses a function that is nil where it is given: called in a later frame, it would end connections.
func mustBeGiven(given bool, call string) {
	if !given {
		panic("netcode: " + call + ": the function is nil")
	}
}

package events

import (
	"github.com/arche-netcode/netcode/errs"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/wire"
)

// Queue queues events of connections until the functions of the game may be called. The functions may kick, send and
// close. They are therefore called between packets, never during one.
type Queue struct {
	Connected    []func(wire.ClientID)                                 // Functions of OnConnect.
	Disconnected []func(wire.ClientID, *errs.CloseError)               // Functions of OnDisconnect.
	Left         []func(wire.ClientID)                                 // Functions of OnLeave.
	Migrated     []func(client wire.ClientID, from, to transport.Addr) // Functions of OnMigrate.
	Over         func(wire.ClientID, *errs.CloseError)                 // Called after the functions of Disconnected: the end's own cleanup.
	Gone         func(wire.ClientID)                                   // Called after the functions of Left: the end's own cleanup.
	Contain      func(name string, with wire.ClientID, f func())       // Calls a function of the game. A panic ends the connection to the client with.
	OfClient     bool                                                  // The queue of a client: functions get the client's own id, and a panic is blamed on end 0, the server.

	waiting []Event // In order.
	firing  bool
}

// Event is the begin, the end or the move of a connection, or a client that left for good.
type Event struct {
	Client   wire.ClientID    // The client of the connection.
	Reason   *errs.CloseError // The reason of the end; nil for other events.
	From, To transport.Addr   // Valid for a move.
	Left     bool             // The client left for good.
}

// Add queues an event.
func (q *Queue) Add(e Event) { q.waiting = append(q.waiting, e) }

// Fire handles all queued events, also those that the called functions add.
func (q *Queue) Fire() {
	if q.firing {
		return
	}
	q.firing = true
	defer func() { q.firing = false }()
	for i := 0; i < len(q.waiting); i++ {
		q.tell(q.waiting[i])
	}
	clear(q.waiting)
	q.waiting = q.waiting[:0]
}

// tell calls the functions for one event. After a panic of one, the others are still called.
func (q *Queue) tell(e Event) {
	with := e.Client
	if q.OfClient {
		with = 0
	}
	switch {
	case e.Left:
		for _, f := range q.Left {
			q.Contain("OnLeave", e.Client, func() { f(e.Client) })
		}
		q.Gone(e.Client)
	case e.To.IsValid():
		for _, f := range q.Migrated {
			q.Contain("OnMigrate", with, func() { f(e.Client, e.From, e.To) })
		}
	case e.Reason == nil:
		for _, f := range q.Connected {
			q.Contain("OnConnect", with, func() { f(e.Client) })
		}
	default:
		for _, f := range q.Disconnected {
			q.Contain("OnDisconnect", with, func() { f(e.Client, e.Reason) })
		}
		q.Over(e.Client, e.Reason)
	}
}

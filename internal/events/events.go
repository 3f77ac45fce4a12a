package events

import (
	"github.com/arche-netcode/netcode/peer"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/wire"
)

// Queue stores connections that began or ended until it is safe to tell the game. Its functions may kick, send and close, so
// they are called between packets and never in the middle of one.
type Queue struct {
	Connected    []func(wire.ClientID)                                 // Functions of OnConnect,
	Disconnected []func(wire.ClientID, *peer.Error)                    // OnDisconnect,
	Left         []func(wire.ClientID)                                 // OnLeave,
	Migrated     []func(client wire.ClientID, from, to transport.Addr) // and OnMigrate.
	Over         func(wire.ClientID, *peer.Error)                      // Called after those of Disconnected: the end's own cleanup.
	Gone         func(wire.ClientID)                                   // Called after those of Left, likewise.
	Contain      func(name string, with wire.ClientID, f func())       // Calls a function of the game. A panic ends the connection to an end.
	OfClient     bool                                                  // Functions are told the end's own id, and the other end is 0.

	waiting []Event // In order.
	firing  bool
}

// Event is a connection that began, one that ended for a reason, one that goes on at another address, or a client that left for good.
type Event struct {
	Client   wire.ClientID  // Its client.
	Reason   *peer.Error    // Of one that ended.
	From, To transport.Addr // Valid where it goes on elsewhere.
	Left     bool           // The client left for good.
}

// Add makes an event wait.
func (q *Queue) Add(e Event) { q.waiting = append(q.waiting, e) }

// Fire tells all events that wait, and those that the called functions cause. It is inlined: most frames have none.
func (q *Queue) Fire() {
	if len(q.waiting) > 0 && !q.firing {
		q.tellAll()
	}
}

func (q *Queue) tellAll() {
	q.firing = true
	defer func() { q.firing = false }()
	for i := 0; i < len(q.waiting); i++ {
		q.tell(q.waiting[i])
	}
	clear(q.waiting)
	q.waiting = q.waiting[:0]
}

// tell calls the functions for one event. If one panics, the others are called all the same.
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

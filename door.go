package netcode

import (
	"github.com/arche-netcode/netcode/peer"
	"github.com/arche-netcode/netcode/wire"
)

// numDoors is the number of other ends that are found by their id alone.
const numDoors = 256

// doors is the other ends to which a message goes without a question: those that are connected, and not in this process. One
// has its place by its id; two that fall on one place take it in turns.
type doors [numDoors]door

// door is one of them. Its queue is nil where there is none.
type door struct {
	queue *peer.Outgoing
	id    wire.ClientID
}

// open notes a connection that a message can be sent on.
func (d *doors) open(l *link) {
	if e := &d[l.remote%numDoors]; e.queue != l.outgoing {
		*e = door{queue: l.outgoing, id: l.remote}
	}
}

// shut forgets the connection to an end.
func (d *doors) shut(id wire.ClientID) {
	if e := &d[id%numDoors]; e.id == id {
		*e = door{}
	}
}

// to is the queue for one other end; nil is no answer.
func (d *doors) to(to Recipient) *peer.Outgoing {
	if e := &d[to.who%numDoors]; uint64(e.id) == to.who && to.kind == toOne {
		return e.queue
	}
	return nil
}

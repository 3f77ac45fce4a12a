package collections

import (
	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/extend"
	"github.com/arche-netcode/netcode/tick"
)

// Client implements extend.ClientSide.
func (of ends) Client(with extend.Client) extend.ClientHooks {
	c := netcode.ClientOf(with)
	e := newEnd(of.types)
	e.client, e.mirror = c, newMirror(of.defs)
	e.watchers = make([][]func(*change), len(of.defs))
	e.mirror.Tell = e.tell
	return extend.ClientHooks{State: e, Opened: e.restart, Read: e.follow, Dispatch: e.tellGone}
}

// restart removes the collections of an earlier connection.
func (e *end) restart() {
	e.kept = 0
	e.mirror.Reset()
}

// tell calls the game's functions for a change.
func (e *end) tell(d *definition, what *change) {
	for _, f := range e.watchers[d.Number()] {
		extend.Contain(extend.OfClient(e.client), "OnChange of a collection", func() { f(what) })
	}
}

// watch adds a function that is called for each change of a collection.
func watch(def *definition, c *netcode.Client, call string, given bool, f func(e *end, what *change)) {
	if !given {
		panic("netcode: collections." + call + ": the function is nil")
	}
	if h := handleOf(def, c, netcode.NetworkID{}); h.end != nil {
		at := &h.end.watchers[def.Number()]
		*at = append(*at, func(what *change) { f(h.end, what) })
	}
}

// takeOperations applies a message to the collection of its entity.
func takeOperations(ctx *netcode.Context, body []byte) error {
	e, ok := extend.ExtensionOf[*end](ctx.End)
	if !ok {
		return nil
	}
	if host := e.hostReceiver(); host != nil && !host.Names(ctx.Entity) {
		return nil // the client has stopped seeing the entity
	}
	return e.mirror.Apply(ctx.Entity, body)
}

// follow removes the collections of entities whose lifetime ended in a snapshot. The next snapshot may show the same
// entity again.
func (e *end) follow() {
	if e.mirror.Len() == 0 {
		return
	}
	client := e.client.Replica()
	for _, index := range client.Changed() {
		entity := client.Entity(index)
		if !entity.Alive {
			entity.ID = netcode.NetworkID{}
		}
		e.mirror.Keep(index, entity.ID)
	}
}

// hostReceiver returns the receiver of a host's player, nil for other clients.
func (e *end) hostReceiver() *receiver {
	server := e.client.Hosted()
	if server == nil {
		return nil
	}
	r, ok := extend.ExtensionOf[*receiver](extend.OfServer(server).Session(e.client.ID()))
	if !ok || r.view == nil {
		return nil
	}
	return r
}

// tellGone reports removed collections in the stage in which changes are reported; their entities are already gone.
func (e *end) tellGone(stage tick.Stage) {
	if stage != messageStage {
		return
	}
	if host := e.hostReceiver(); host != nil && e.kept != host.Sights() { // no snapshot ends the entities of a host's player
		e.kept = host.Sights()
		e.mirror.KeepSeen(host)
	}
	e.mirror.TellGone()
}

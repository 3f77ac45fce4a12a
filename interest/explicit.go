package interest

import (
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/wire"
)

// Explicit shows a client only the entities that the game passes to Show.
type Explicit struct {
	ticking
	clients map[wire.ClientID]*shown
}

// shown is the entities that one client was shown.
type shown struct {
	ids  map[wire.NetworkID]bool
	news recent
}

// NewExplicit returns a policy that shows nothing until Show is called.
func NewExplicit() *Explicit { return &Explicit{clients: map[wire.ClientID]*shown{}} }

// Show makes an entity visible to a client until Hide. The client may connect later, and the entity may be spawned later. Show
// returns false if the entity is dead.
func (e *Explicit) Show(client wire.ClientID, id wire.NetworkID) bool {
	if id.Index >= snapshot.MaxEntities || id.Generation == 0 || e.past(id) {
		return false
	}
	c := e.clients[client]
	if c == nil {
		c = &shown{ids: map[wire.NetworkID]bool{}}
		e.clients[client] = c
	}
	c.ids[id] = true
	c.news.add(id.Index)
	return true
}

// Hide makes an entity invisible to a client. It returns false if Show was not called for it.
func (e *Explicit) Hide(client wire.ClientID, id wire.NetworkID) bool {
	if !e.Shown(client, id) {
		return false
	}
	delete(e.clients[client].ids, id)
	e.clients[client].news.add(id.Index)
	return true
}

// Shown reports whether an entity was shown to a client and is not known to be dead.
func (e *Explicit) Shown(client wire.ClientID, id wire.NetworkID) bool {
	c := e.clients[client]
	return c != nil && c.ids[id] && !e.past(id)
}

// Prepare implements [Policy]. It removes dead entities.
func (e *Explicit) Prepare(s *snapshot.Store, all bool) {
	if !e.begin(s) {
		return
	}
	for _, c := range e.clients {
		c.news.turn()
		for _, id := range s.Deaths() {
			delete(c.ids, id)
		}
		if all {
			for id := range c.ids {
				if s.Past(id) {
					delete(c.ids, id)
				}
			}
		}
	}
}

// Changed implements [Policy].
func (e *Explicit) Changed(client wire.ClientID, again *Again) {
	if c := e.clients[client]; c != nil {
		c.news.addTo(again)
	}
}

// Sees implements [Policy].
func (e *Explicit) Sees(client wire.ClientID, id wire.NetworkID, _ snapshot.Mask) (rows snapshot.Mask, weight uint16) {
	if c := e.clients[client]; c != nil && c.ids[id] {
		rows = snapshot.AllRows()
	}
	return rows, 0
}

// Leave implements [Policy].
func (e *Explicit) Leave(client wire.ClientID) { delete(e.clients, client) }

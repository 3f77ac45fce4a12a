package systems

import (
	"slices"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/authority"
	netecs "github.com/arche-netcode/netcode/ecs"
	"github.com/arche-netcode/netcode/extend"
)

// WhileAway selects the treatment of a player's entities while the player is away: its connection was lost, and
// Config.Keep of the server lets it return.
type WhileAway uint8

// The choices. They also apply to entities that a player may write by authority.Grant.
const (
	// KeepEntities leaves them as they are. They are removed when the player has left for good.
	KeepEntities WhileAway = iota
	// DespawnEntities removes them at once. The game spawns new ones when the player returns.
	DespawnEntities
	// HandOver gives them to the server, or to the client that Away.To returns. A returning player gets back the entities
	// that still belong to the new owner. When the player has left for good, they stay with the new owner.
	HandOver
)

// Away handles the entities of players that are away: entities of the world by components.Owner, and entities of
// netcode.Server.Spawn by their owner. It ignores clients without an identity from OnApprove: the game handles them in
// OnDisconnect. Away runs after Receive.
type Away struct {
	Server *netcode.Server // Reports absences.
	Tick   *Tick           // Finds the entities.
	Then   WhileAway       // The choice. The game may change it at any time.
	// To returns the client that gets an entity with HandOver, 0 for the server. nil means the server.
	To func(client netcode.ClientID, e netecs.Entity) netcode.ClientID

	changed []netcode.ClientID // Players that lost their connection, returned or left since the last run, in order.
	handed  map[netcode.ClientID][]handed
	owned   []netecs.Entity // Scratch.
}

// handed is an entity that was handed over. It may be in the world or in the store alone.
type handed struct {
	entity netecs.Entity
	id     netcode.NetworkID // Of an entity outside of the world, or one with a named writer.
	to     netcode.ClientID
	named  bool // The client was its named writer, by authority.Grant.
}

// newAway makes the system and registers its hooks at the server.
func newAway(server *netcode.Server, t *Tick) *Away {
	a := &Away{Server: server, Tick: t, handed: map[netcode.ClientID][]handed{}}
	note := func(client netcode.ClientID) {
		if server.Identity(client) != "" && !slices.Contains(a.changed, client) {
			a.changed = append(a.changed, client)
		}
	}
	server.OnDisconnect(func(client netcode.ClientID, _ *netcode.CloseError) { note(client) })
	server.OnLeave(note)
	server.OnConnect(func(client netcode.ClientID) {
		if server.Returned(client) {
			note(client)
		}
	})
	return a
}

// Initialize implements System.
func (a *Away) Initialize(*netecs.World) {}

// Update implements System.
func (a *Away) Update(w *netecs.World) {
	for _, client := range a.changed {
		switch s := extend.OfServer(a.Server).Session(client); {
		case s != nil:
			a.giveBack(w, client)
		case a.Server.Identity(client) == "":
			a.leave(w, client)
		case a.Then == DespawnEntities:
			a.despawn(w, client)
		case a.Then == HandOver:
			a.handOver(w, client)
		}
	}
	a.changed = a.changed[:0]
}

// Finalize implements System.
func (a *Away) Finalize(*netecs.World) {}

// leave handles a player that has left for good.
func (a *Away) leave(w *netecs.World, client netcode.ClientID) {
	if a.Then == HandOver {
		a.handOver(w, client)
	} else {
		a.despawn(w, client)
	}
	delete(a.handed, client)
}

// despawn removes the entities of a client.
func (a *Away) despawn(w *netecs.World, client netcode.ClientID) {
	for _, e := range a.inWorld(w, client) {
		w.RemoveEntity(e)
	}
	store := a.Server.Store()
	for id := range store.All {
		if store.Owner(id) == client && !a.Server.Despawn(id) {
			if e, ok := a.Tick.Entity(id); ok && w.Alive(e) { // The owner was set by Server.SetOwner.
				w.RemoveEntity(e)
			}
		}
		if store.Named(id) == client {
			authority.Grant(a.Server, id, 0)
		}
	}
}

// handOver gives the entities of a client to their new owners.
func (a *Away) handOver(w *netecs.World, client netcode.ClientID) {
	list := a.handed[client]
	for _, e := range a.inWorld(w, client) {
		to := a.to(client, e)
		list = append(list, handed{entity: e, to: to})
		a.Tick.setOwner(e, to)
	}
	store := a.Server.Store()
	for id := range store.All {
		e, _ := a.Tick.Entity(id)
		if store.Owner(id) == client {
			to := a.to(client, e)
			list = append(list, handed{id: id, to: to})
			a.Server.SetOwner(id, to)
		}
		if store.Named(id) == client {
			to := a.to(client, e)
			list = append(list, handed{id: id, to: to, named: true})
			authority.Grant(a.Server, id, to)
		}
	}
	if len(list) > 0 {
		a.handed[client] = list
	}
}

// giveBack gives a returning player the entities that still belong to the new owner.
func (a *Away) giveBack(w *netecs.World, client netcode.ClientID) {
	store := a.Server.Store()
	for _, h := range a.handed[client] {
		switch {
		case h.named:
			if store.Alive(h.id) && store.Named(h.id) == h.to {
				authority.Grant(a.Server, h.id, client)
			}
		case !h.entity.IsZero():
			if owner, ok := netecs.OwnerOf(w, h.entity); ok && owner == h.to {
				a.Tick.setOwner(h.entity, client)
			}
		case store.Alive(h.id) && store.Owner(h.id) == h.to:
			a.Server.SetOwner(h.id, client)
		}
	}
	delete(a.handed, client)
}

// to returns the new owner of an entity.
func (a *Away) to(client netcode.ClientID, e netecs.Entity) netcode.ClientID {
	if a.To == nil {
		return 0
	}
	return a.To(client, e)
}

// inWorld lists the entities of the world that belong to a client. The list is valid until the next call.
func (a *Away) inWorld(w *netecs.World, client netcode.ClientID) []netecs.Entity {
	a.owned = netecs.AppendOwned(a.owned[:0], w, client)
	return a.owned
}

package interest

import (
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/wire"
)

// OwnerConfig selects the entities that [OwnerOnly] shows in addition to a client's own.
type OwnerConfig struct {
	ServersToAll bool // Entities of the server are visible to everybody; otherwise to nobody.
}

// OwnerOnly shows an entity to its owner only. Ownership is the store's, as of the last capture.
type OwnerOnly struct {
	lifetimes
	config  OwnerConfig
	owners  owners
	clients perClient[Set] // result of Sees; used with ServersToAll only
}

// NewOwnerOnly returns a policy that shows each client its own entities.
func NewOwnerOnly(c OwnerConfig) *OwnerOnly { return &OwnerOnly{config: c} }

// Prepare implements [Policy].
func (o *OwnerOnly) Prepare(s *snapshot.Store) {
	if o.follow(s) {
		o.owners.follow(s, &o.lifetimes)
	}
}

// Sees implements [Policy].
func (o *OwnerOnly) Sees(client wire.ClientID) Set {
	own := o.owners.of(client)
	if !o.config.ServersToAll {
		return own
	}
	sees := o.clients.open(client)
	sees.reset(len(o.alive))
	sees.addAll(own)
	sees.addAll(o.owners.of(0))
	return *sees
}

// Refine implements [Policy].
func (o *OwnerOnly) Refine(wire.ClientID, View, Set, Set) {}

// Leave implements [Policy]. The client's entities keep their owner until the game changes it: until then nobody sees them.
func (o *OwnerOnly) Leave(client wire.ClientID) { o.clients.drop(client) }

// owners tracks the owner of each living entity.
type owners struct {
	owner   []wire.ClientID  // by index
	known   Set              // indexes where owner is valid
	sets    perClient[owned] // entities by owner
	changed Set              // entities whose owner changed since the last Prepare
}

type owned struct {
	set   Set
	count int
}

// of returns the entities of a client.
func (o *owners) of(client wire.ClientID) Set {
	if own := o.sets.get(client); own != nil {
		return own.set
	}
	return nil
}

// follow reads the owner of every living entity: a change of owner is not in the store's list of changes.
func (o *owners) follow(s *snapshot.Store, l *lifetimes) {
	clear(o.changed)
	for index := range l.renewed.All {
		if o.known.Has(index) {
			o.release(index)
		}
	}
	for len(o.owner) < len(l.generations) {
		o.owner = append(o.owner, 0)
	}
	for index := range l.alive.All {
		owner := s.Owner(l.id(index))
		if o.known.Has(index) {
			if o.owner[index] == owner {
				continue
			}
			o.release(index)
			o.changed.add(index)
		}
		o.owner[index] = owner
		o.known.add(index)
		own := o.sets.open(owner)
		own.set.add(index)
		own.count++
	}
}

// release takes the entity at index from its owner.
func (o *owners) release(index uint32) {
	owner := o.owner[index]
	own := o.sets.get(owner)
	own.set.remove(index)
	o.known.remove(index)
	if own.count--; own.count == 0 && owner != 0 {
		o.sets.retire(owner) // its set is empty
	}
}

package interest

import (
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/wire"
)

// OwnerConfig tells which entities [OwnerOnly] shows beside a client's own.
type OwnerConfig struct {
	ServersToAll bool // Entities of the server are visible to everybody; else to nobody.
}

// OwnerOnly shows an entity to the client that it belongs to. Ownership is that of the store, as of the last capture.
type OwnerOnly struct {
	lifetimes
	config  OwnerConfig
	owners  owners
	clients perClient[Set] // what each sees, where that is not only its own
}

// NewOwnerOnly returns the policy of owners.
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

// Leave implements [Policy]. Its entities still belong to it, until game code changes that: nobody sees them.
func (o *OwnerOnly) Leave(client wire.ClientID) { o.clients.drop(client) }

// owners follows whom each living entity belongs to.
type owners struct {
	owner   []wire.ClientID  // by index, of who lives there
	known   Set              // where owner is known
	sets    perClient[owned] // of those to whom anything belongs
	changed Set              // entities that have another owner since the Prepare before
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

// follow looks at every living entity: its owner may change without a change of what is captured.
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

// release makes nobody the owner of who is at index, or was there.
func (o *owners) release(index uint32) {
	owner := o.owner[index]
	own := o.sets.get(owner)
	own.set.remove(index)
	o.known.remove(index)
	if own.count--; own.count == 0 && owner != 0 {
		o.sets.retire(owner) // its set is empty
	}
}

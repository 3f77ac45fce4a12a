package admission

import (
	"net/netip"
	"slices"
	"time"

	"github.com/arche-netcode/netcode/internal/hosts"
	"github.com/arche-netcode/netcode/wire"
)

// Player is a client with an identity. It is connected, or away and may return. Its client ID stays the same.
type Player struct {
	Identity  string        // From the game; not empty.
	ID        wire.ClientID // Client ID in all its sessions.
	Connected bool          // It has a session. Otherwise it is away or has left for good.
	Left      bool          // It has left for good.

	held  *hosts.Held[*Player] // While away: by the host that it came from.
	until time.Duration        // While away: the time at which it leaves for good.
}

// Players is the set of clients with an identity.
type Players struct {
	byIdentity map[string]*Player // For lookup only.
	byClient   map[wire.ClientID]*Player
	Away       []*Player // In order of disconnection. Valid until the next change.
	hosts      *hosts.Table[*Player]
}

// NewPlayers returns a list without players.
func NewPlayers() Players {
	return Players{byIdentity: map[string]*Player{}, byClient: map[wire.ClientID]*Player{}, hosts: hosts.NewTable[*Player](true)}
}

// Of returns the player with a client ID, nil if there is none.
func (p *Players) Of(client wire.ClientID) *Player { return p.byClient[client] }

// Find returns the player with an identity, nil if there is none.
func (p *Players) Find(identity string) *Player { return p.byIdentity[identity] }

// Enter marks the player of an identity as connected and returns it. If the identity is unknown it makes a player with the given
// client ID.
func (p *Players) Enter(identity string, client wire.ClientID) (one *Player, returned bool) {
	if one = p.byIdentity[identity]; one != nil {
		p.notAway(one)
		one.Connected = true
		return one, true
	}
	one = &Player{Identity: identity, ID: client, Connected: true}
	p.byIdentity[identity], p.byClient[client] = one, one
	return one, false
}

// GoAway marks a player as away until a time. from is the address that it came from.
func (p *Players) GoAway(one *Player, from netip.Addr, until time.Duration) {
	one.Connected, one.until = false, until
	one.held = p.hosts.Add(from, one)
	p.Away = append(p.Away, one)
}

// Shift extends the time of all players that are away.
func (p *Players) Shift(by time.Duration) {
	for _, one := range p.Away {
		one.until += by
	}
}

// Due returns a player whose time away is over, nil if there is none.
func (p *Players) Due(now time.Duration) *Player {
	if len(p.Away) > 0 && now >= p.Away[0].until {
		return p.Away[0]
	}
	return nil
}

// TooMany returns the player to drop if more than most are away, nil otherwise. It is the first that left among those of the
// host or network with the most players away. A client that comes with many identities thus harms only its own network.
func (p *Players) TooMany(most int) *Player {
	if len(p.Away) <= most {
		return nil
	}
	return p.hosts.Worst(0).Of
}

// Leave marks a player as gone for good. Of finds it until Forget.
func (p *Players) Leave(one *Player) {
	p.Release(one)
	p.notAway(one)
	one.Connected, one.Left = false, true
}

// Release makes the identity of a player available for a new player.
func (p *Players) Release(one *Player) {
	if p.byIdentity[one.Identity] == one {
		delete(p.byIdentity, one.Identity)
	}
}

// Forget removes the player with a client ID.
func (p *Players) Forget(client wire.ClientID) { delete(p.byClient, client) }

// notAway removes a player from Away, in constant time if it is the first.
func (p *Players) notAway(one *Player) {
	switch i := slices.Index(p.Away, one); {
	case i < 0:
		return
	case i == 0:
		p.Away[0], p.Away = nil, p.Away[1:]
	default:
		p.Away = slices.Delete(p.Away, i, i+1)
	}
	p.hosts.Remove(one.held)
}

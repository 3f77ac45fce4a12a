package admission

import (
	"net/netip"
	"slices"
	"time"

	"github.com/arche-netcode/netcode/wire"
)

// Player is a client with an identity. It is connected, or away and may come back. It has the same client id in both.
type Player struct {
	Identity  string        // From the game; not empty.
	ID        wire.ClientID // Of all its sessions.
	Connected bool          // It has a session. Else it is away, or has left for good.
	Left      bool          // It has left for good.

	from  netip.Prefix  // While it is away, the network that it came from.
	until time.Duration // While it is away, the time at which it has left for good.
}

// Players are the clients with an identity.
type Players struct {
	byIdentity map[string]*Player // Looked up only.
	byClient   map[wire.ClientID]*Player
	Away       []*Player // In the order in which they left. It is good until the next change.
}

// NewPlayers returns a list without players.
func NewPlayers() Players {
	return Players{byIdentity: map[string]*Player{}, byClient: map[wire.ClientID]*Player{}}
}

// Of returns the player with a client id, nil if there is none.
func (p *Players) Of(client wire.ClientID) *Player { return p.byClient[client] }

// Find returns the player with an identity, nil if there is none.
func (p *Players) Find(identity string) *Player { return p.byIdentity[identity] }

// Enter returns the player of an identity, connected now: one that returns, or a new one with the client id.
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

// GoAway makes a player away until a time. It came from a network.
func (p *Players) GoAway(one *Player, from netip.Prefix, until time.Duration) {
	one.Connected, one.from, one.until = false, from, until
	p.Away = append(p.Away, one)
}

// Shift gives the players that are away more time.
func (p *Players) Shift(by time.Duration) {
	for _, one := range p.Away {
		one.until += by
	}
}

// Due returns a player whose time is over, nil if there is none.
func (p *Players) Due(now time.Duration) *Player {
	if len(p.Away) > 0 && now >= p.Away[0].until {
		return p.Away[0]
	}
	return nil
}

// TooMany returns the player to forget where more than most are away, nil if there are not. It is the one that left first of the network
// from which most are away, so that a client that comes with many identities takes the time of its neighbours alone.
func (p *Players) TooMany(most int) *Player {
	if len(p.Away) <= most {
		return nil
	}
	counts := map[netip.Prefix]int{}
	for _, one := range p.Away {
		counts[one.from]++
	}
	return slices.MaxFunc(p.Away, func(a, b *Player) int { return counts[a.from] - counts[b.from] })
}

// Leave makes a player have left for good. Of finds it until Forget.
func (p *Players) Leave(one *Player) {
	p.Release(one)
	p.notAway(one)
	one.Connected, one.Left = false, true
}

// Release lets whoever comes with the identity of a player be a new one.
func (p *Players) Release(one *Player) {
	if p.byIdentity[one.Identity] == one {
		delete(p.byIdentity, one.Identity)
	}
}

// Forget forgets the player with a client id.
func (p *Players) Forget(client wire.ClientID) { delete(p.byClient, client) }

// notAway takes a player out of those that are away: without a look at the others if it left first.
func (p *Players) notAway(one *Player) {
	switch i := slices.Index(p.Away, one); {
	case i == 0:
		p.Away[0], p.Away = nil, p.Away[1:]
	case i > 0:
		p.Away = slices.Delete(p.Away, i, i+1)
	}
}

package interest

import (
	"cmp"

	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/wire"
)

// Team identifies a team of clients. A team need not be created. 0 means no team.
type Team uint32

// Teams shares sight within a team: a client sees what an inner policy shows to any member of its team, also components. A client
// without a team sees what the inner policy shows to it. Use [NewTeams]: the zero value is not ready.
type Teams struct {
	parts
	now     ticking
	members map[Team][]wire.ClientID // ascending
	clients map[wire.ClientID]*mate
}

// mate is a client with a team, or one that had a team a short time ago.
type mate struct {
	team Team
	anew int // network ticks in which everything that the team sees is judged again
}

// NewTeams returns a policy of teams, all empty. With [OwnerOnly] inside, a client sees the entities of its team.
func NewTeams(of Policy) *Teams {
	return &Teams{parts: parts{of}, members: map[Team][]wire.ClientID{}, clients: map[wire.ClientID]*mate{}}
}

// Join puts a client into a team and takes it out of its old one. Team 0 means none. The client may connect later; it leaves its
// team when it disconnects.
func (t *Teams) Join(client wire.ClientID, to Team) {
	m := t.clients[client]
	if m == nil {
		m = &mate{}
		t.clients[client] = m
	}
	if m.team == to {
		return
	}
	t.depart(client, m.team)
	if m.team, m.anew = to, 2; to != 0 {
		t.members[to], _ = insert(t.members[to], client, cmp.Compare[wire.ClientID])
		t.note(to)
	}
}

// depart removes a client from the members of a team.
func (t *Teams) depart(client wire.ClientID, from Team) {
	if from == 0 {
		return
	}
	if t.members[from], _ = without(t.members[from], client, cmp.Compare[wire.ClientID]); len(t.members[from]) == 0 {
		delete(t.members, from)
	}
	t.note(from)
}

// note notes that the members of a team have changed.
func (t *Teams) note(of Team) {
	for _, member := range t.members[of] {
		t.clients[member].anew = 2
	}
}

// TeamOf returns the team of a client, 0 for none.
func (t *Teams) TeamOf(client wire.ClientID) Team {
	if m := t.clients[client]; m != nil {
		return m.team
	}
	return 0
}

// Prepare implements [Policy].
func (t *Teams) Prepare(s *snapshot.Store, all bool) {
	t.parts.Prepare(s, all)
	if !t.now.begin(s) {
		return
	}
	for client, m := range t.clients {
		if m.anew > 0 {
			m.anew--
		} else if m.team == 0 {
			delete(t.clients, client)
		}
	}
}

// Changed implements [Policy]. A client is blind if all members of its team are.
func (t *Teams) Changed(client wire.ClientID, again *Again) {
	t.parts.Changed(client, again)
	m := t.clients[client]
	if m == nil {
		return
	}
	if m.anew > 0 {
		again.Seen(client)
	}
	least := again.blind
	for _, member := range t.members[m.team] {
		if member != client {
			again.blind = looks
			t.parts.Changed(member, again)
			least = min(least, again.blind)
		}
		if m.anew > 0 {
			again.Seen(member)
		}
	}
	again.blind = least
}

// Sees implements [Policy].
func (t *Teams) Sees(client wire.ClientID, id wire.NetworkID, was snapshot.Mask) (rows snapshot.Mask, weight uint16) {
	rows, weight = t.parts[0].Sees(client, id, was)
	if m := t.clients[client]; m != nil {
		for _, member := range t.members[m.team] {
			of, w := t.parts[0].Sees(member, id, was)
			rows, weight = rows.Union(of), cmp.Or(weight, w)
		}
	}
	return rows, weight
}

// Leave implements [Policy]. The client leaves its team.
func (t *Teams) Leave(client wire.ClientID) {
	t.depart(client, t.TeamOf(client))
	delete(t.clients, client)
	t.parts.Leave(client)
}

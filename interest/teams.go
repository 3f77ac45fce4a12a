package interest

import (
	"slices"

	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/wire"
)

// Team identifies a team of clients. A team need not be created. 0 means no team.
type Team uint32

// Teams shares sight within a team: a client sees all entities that an inner policy shows to any member of its team. A client
// without a team sees the entities that the inner policy shows to it. Use [NewTeams]: the zero value is not ready.
type Teams struct {
	of      Policy
	teams   map[Team]*team
	clients perClient[Team]
	round   uint64 // counts the events that make the sets of teams invalid
}

// team is a team with at least one member.
type team struct {
	members []wire.ClientID // ascending
	set     Set             // entities that any member sees
	built   uint64          // the round in which set was made
}

// NewTeams returns a policy of teams, all empty. With [OwnerOnly] inside, a client sees the entities of its team.
func NewTeams(of Policy) *Teams { return &Teams{of: of, teams: map[Team]*team{}, round: 1} }

// Join puts a client into a team and takes it out of its old one. Team 0 means none. The client may connect later; it leaves its
// team when it disconnects.
func (t *Teams) Join(client wire.ClientID, to Team) {
	in := t.clients.open(client)
	if *in == to {
		if to == 0 {
			t.clients.drop(client)
		}
		return
	}
	t.depart(client, *in)
	t.round++
	if to == 0 {
		t.clients.drop(client)
		return
	}
	*in = to
	joined := t.teams[to]
	if joined == nil {
		joined = &team{}
		t.teams[to] = joined
	}
	at, _ := slices.BinarySearch(joined.members, client)
	joined.members = slices.Insert(joined.members, at, client)
}

// depart removes a client from the members of a team.
func (t *Teams) depart(client wire.ClientID, from Team) {
	left := t.teams[from]
	if left == nil {
		return
	}
	at, _ := slices.BinarySearch(left.members, client)
	left.members = slices.Delete(left.members, at, at+1)
	left.built = 0
	if len(left.members) == 0 {
		delete(t.teams, from)
	}
}

// TeamOf returns the team of a client, 0 for none.
func (t *Teams) TeamOf(client wire.ClientID) Team {
	if in := t.clients.get(client); in != nil {
		return *in
	}
	return 0
}

// RefreshAll passes the call to the inner policy.
func (t *Teams) RefreshAll() {
	t.round++
	refreshAll(t.of)
}

// RefreshClient passes the call to the inner policy.
func (t *Teams) RefreshClient(client wire.ClientID) {
	t.round++
	refreshClient(t.of, client)
}

// Prepare implements [Policy].
func (t *Teams) Prepare(s *snapshot.Store) {
	t.round++
	t.of.Prepare(s)
}

// Sees implements [Policy]. The first call for a team after Prepare computes the set for all members.
func (t *Teams) Sees(client wire.ClientID) Set {
	of := t.teams[t.TeamOf(client)]
	if of == nil {
		return t.of.Sees(client)
	}
	if of.built != t.round {
		of.built = t.round
		of.set.reset(len(of.set))
		for _, member := range of.members {
			of.set.addAll(t.of.Sees(member))
		}
	}
	return of.set
}

// Refine implements [Policy].
func (t *Teams) Refine(client wire.ClientID, v View, sees, shown Set) {
	t.of.Refine(client, v, sees, shown)
}

// Leave implements [Policy]. The client leaves its team.
func (t *Teams) Leave(client wire.ClientID) {
	t.depart(client, t.TeamOf(client))
	t.clients.drop(client)
	t.of.Leave(client)
}

// Blind reports whether a client, or every member of its team, sees nothing because it has no viewpoint.
func (t *Teams) Blind(client wire.ClientID) bool {
	of := t.teams[t.TeamOf(client)]
	if of == nil {
		return isBlind(t.of, client)
	}
	for _, member := range of.members {
		if !isBlind(t.of, member) {
			return false
		}
	}
	return true
}

package interest

import (
	"slices"

	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/wire"
)

// Team names a team of clients. Teams need no making; 0 is none.
type Team uint32

// Teams shows a client the entities that another policy shows any member of its team. A client without a team sees its own.
// The zero value is not ready: see [NewTeams].
type Teams struct {
	of      Policy
	teams   map[Team]*team
	clients perClient[Team]
	round   uint64 // counts what makes the sets of teams void
}

// team is one team that has members.
type team struct {
	members []wire.ClientID // ascending
	set     Set             // the entities that they see together
	built   uint64          // the round in which set was made
}

// NewTeams returns the policy of teams that share their sight, with nobody in any. With [OwnerOnly] as a part of the other policy, a
// client sees the entities of its team.
func NewTeams(of Policy) *Teams { return &Teams{of: of, teams: map[Team]*team{}, round: 1} }

// Join puts a client into a team, and takes it out of the one that it was in. 0 is no team. The client need not be there yet; it is
// forgotten when it is gone.
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

// depart takes a client off the list of a team.
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

// RefreshAll passes the call to the other policy.
func (t *Teams) RefreshAll() {
	t.round++
	refreshAll(t.of)
}

// RefreshClient passes the call to the other policy.
func (t *Teams) RefreshClient(client wire.ClientID) {
	t.round++
	refreshClient(t.of, client)
}

// Prepare implements [Policy].
func (t *Teams) Prepare(s *snapshot.Store) {
	t.round++
	t.of.Prepare(s)
}

// Sees implements [Policy]. The first question about a team after Prepare decides for all its members.
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

// Blind reports whether a client and all members of its team see nothing for want of a viewpoint.
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

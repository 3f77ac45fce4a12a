package fleet

import (
	"slices"

	"github.com/arche-netcode/netcode"
)

// matches has the matches of a server that are not over, and the match of each player. The loop owns it.
type matches struct {
	all  []*played
	byID map[string]*played
	of   map[netcode.ClientID]*played // Of players that are connected or away.
	had  bool                         // There was a match.
}

// played is a match that is not over.
type played struct {
	Match
	players int
	since   netcode.Tick // The tick since which it has no players.
}

func newMatches() matches {
	return matches{byID: map[string]*played{}, of: map[netcode.ClientID]*played{}}
}

// add adds an allocated match. It returns false if the match is known or one too many.
func (m *matches) add(match Match, now netcode.Tick) bool {
	if m.byID[match.ID] != nil || len(m.all) >= MaxMatches || len(match.ID) == 0 || len(match.ID) > MaxMatch || len(match.Data) > MaxMatchData {
		return false
	}
	p := &played{Match: match, since: now}
	m.all, m.byID[match.ID], m.had = append(m.all, p), p, true
	return true
}

// enter notes the match of a player; an empty id is none.
func (m *matches) enter(client netcode.ClientID, id string, now netcode.Tick) {
	p := m.byID[id]
	if m.of[client] == p {
		return
	}
	m.leave(client, now)
	if p != nil {
		p.players++
		m.of[client] = p
	}
}

// leave forgets a player.
func (m *matches) leave(client netcode.ClientID, now netcode.Tick) {
	p := m.of[client]
	if p == nil {
		return
	}
	delete(m.of, client)
	if p.players--; p.players == 0 {
		p.since = now
	}
}

// end removes a match. Its players go on without one.
func (m *matches) end(p *played) {
	m.all = slices.DeleteFunc(m.all, func(other *played) bool { return other == p })
	delete(m.byID, p.ID)
	for client, of := range m.of {
		if of == p {
			delete(m.of, client)
		}
	}
}

// empty returns a match without players since a tick or longer, nil if there is none.
func (m *matches) empty(since netcode.Tick) *played {
	for _, p := range m.all {
		if p.players == 0 && p.since <= since {
			return p
		}
	}
	return nil
}

// list returns the matches in the order of their allocation.
func (m *matches) list() []Match {
	list := make([]Match, len(m.all))
	for i, p := range m.all {
		list[i] = p.Match
	}
	return list
}

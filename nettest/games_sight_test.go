package nettest_test

import (
	"math/rand/v2"

	"github.com/mlange-42/arche/ecs"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/interest"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/systems"
)

// gameWay is a game's kind of interest policy.
type gameWay int

const (
	wayHide  gameWay = iota // everything, but for what the server hides
	wayShow                 // what is shown
	wayKeep                 // likewise, and what leaves sight stays as it was
	wayRows                 // what is shown, and of it what components are
	wayRooms                // what shares a room, of which some is for its owner's eyes, and what is one's own
	gameWays
)

const (
	gameIDs   = 30 // Clients from 1 to here are shown something at birth: there are no more connections than that.
	gameRooms = 3
)

// ownersParts are for the owner's eyes in rooms.
const ownersParts = partMask(1)<<partExact | 1<<partJoint

// gameSight is the model of an interest policy, in plain maps.
type gameSight struct {
	way      gameWay
	server   *netcode.Server
	protocol *gameProtocol
	explicit *interest.Explicit
	rows     *interest.Rows
	rooms    *interest.Rooms
	shown    map[netcode.ClientID]map[netcode.NetworkID]bool // or, with wayHide, what is hidden
	masks    map[netcode.ClientID]map[netcode.NetworkID]partMask
	inRoom   map[netcode.NetworkID][gameRooms]bool
	visits   map[netcode.ClientID][gameRooms]bool
}

func newGameSight(way gameWay, p *gameProtocol) *gameSight {
	return &gameSight{
		way: way, protocol: p, explicit: interest.NewExplicit(), rooms: interest.NewRooms(),
		shown: map[netcode.ClientID]map[netcode.NetworkID]bool{}, masks: map[netcode.ClientID]map[netcode.NetworkID]partMask{},
		inRoom: map[netcode.NetworkID][gameRooms]bool{}, visits: map[netcode.ClientID][gameRooms]bool{},
	}
}

// setUp tells the server.
func (s *gameSight) setUp(server *systems.ServerSystems) {
	s.server = server.Server
	switch s.way {
	case wayHide:
	case wayShow:
		s.server.SetInterest(interest.New(s.explicit, interest.Despawn))
	case wayKeep:
		s.server.SetInterest(interest.New(s.explicit, interest.Keep))
	case wayRows:
		s.rows = interest.NewRows(s.explicit, func(_ *snapshot.Store, c netcode.ClientID, id netcode.NetworkID) snapshot.Mask {
			return s.protocol.schemaRows(s.partsOf(c, id))
		})
		s.server.SetInterest(interest.New(s.rows, interest.Despawn))
	case wayRooms:
		own := interest.NewOwnerOnly(interest.OwnerConfig{})
		private := interest.OwnerRows(s.protocol.schemaRows(ownersParts))
		s.server.SetInterest(interest.New(interest.NewRows(interest.Any(s.rooms, own), private), interest.Despawn))
	}
}

// schemaRows is parts as rows of the schema.
func (p *gameProtocol) schemaRows(parts partMask) (m snapshot.Mask) {
	for part, row := range p.rows {
		if parts.has(part) {
			m = m.With(row)
		}
	}
	return m
}

// partsOf returns the components of an entity that are shown with wayRows.
func (s *gameSight) partsOf(c netcode.ClientID, id netcode.NetworkID) partMask {
	if m, told := s.masks[c][id]; told {
		return m
	}
	return allParts
}

// born tells who sees an entity from its first tick on.
func (s *gameSight) born(id netcode.NetworkID, r *rand.Rand) {
	if s.way == wayRooms {
		for room := range gameRooms {
			if r.IntN(2) == 0 {
				s.turnRoom(id, room)
			}
		}
		return
	}
	for c := netcode.ClientID(1); c <= gameIDs; c++ {
		if (r.IntN(4) == 0) == (s.way == wayHide) {
			s.turn(c, id)
		}
	}
}

// turn shows a client what it does not see, or hides what it does. With wayHide it is about clients that are there only.
func (s *gameSight) turn(c netcode.ClientID, id netcode.NetworkID) {
	if s.shown[c] == nil {
		s.shown[c] = map[netcode.NetworkID]bool{}
	}
	is := s.shown[c][id]
	switch {
	case s.way == wayHide && is:
		s.server.Show(c, id)
	case s.way == wayHide:
		if !s.server.Hide(c, id) {
			return // no such client
		}
	case is:
		s.explicit.Hide(c, id)
	default:
		s.explicit.Show(c, id)
	}
	s.shown[c][id] = !is
}

func (s *gameSight) turnRoom(id netcode.NetworkID, room int) {
	in := s.inRoom[id]
	if in[room] {
		s.rooms.Remove(id, interest.Room(room))
	} else {
		s.rooms.Add(id, interest.Room(room))
	}
	in[room] = !in[room]
	s.inRoom[id] = in
}

func (s *gameSight) turnVisit(c netcode.ClientID, room int) {
	in := s.visits[c]
	if in[room] {
		s.rooms.Exit(c, interest.Room(room))
	} else {
		s.rooms.Enter(c, interest.Room(room))
	}
	in[room] = !in[room]
	s.visits[c] = in
}

// change has a client see another thing than before.
func (s *gameSight) change(c netcode.ClientID, id netcode.NetworkID, r *rand.Rand) {
	switch {
	case s.way == wayRooms && r.IntN(2) == 0:
		s.turnRoom(id, r.IntN(gameRooms))
	case s.way == wayRooms:
		s.turnVisit(c, r.IntN(gameRooms))
	case s.way == wayRows && r.IntN(2) == 0:
		if s.masks[c] == nil {
			s.masks[c] = map[netcode.NetworkID]partMask{}
		}
		s.masks[c][id] = partMask(r.Uint32()|r.Uint32()) & allParts
		s.rows.Refresh(id)
	default:
		s.turn(c, id)
	}
}

// sees returns the components of an entity that a client may see.
func (s *gameSight) sees(c netcode.ClientID, w *gameWorld, e ecs.Entity, id netcode.NetworkID) (parts partMask, visible bool) {
	switch s.way {
	case wayHide:
		return allParts, !s.shown[c][id]
	case wayRooms:
		if !e.IsZero() && w.Has(e, w.owner) && gameAt[components.Owner](w, e, w.owner).Client == c {
			return allParts, true
		}
		in, visits := s.inRoom[id], s.visits[c]
		for room := range gameRooms {
			visible = visible || in[room] && visits[room]
		}
		return allParts &^ ownersParts, visible
	case wayRows:
		return s.partsOf(c, id), s.shown[c][id]
	}
	return allParts, s.shown[c][id]
}

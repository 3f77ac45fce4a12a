package main

import (
	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/interest"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/wire"
)

// With -interest a client sees what comes closer to its seat than enter, in metres, until it is farther than leave. Seats
// stand on a lattice in the box, three by three.
const (
	enter   = 12
	leave   = 14
	lattice = 16
	height  = 4
)

// seat returns the place of a client, by the number that the server gave it.
func seat(id wire.ClientID) (x, y, z int) {
	n := int(id) + 8 // the first client is in a corner
	return (n%3 - 1) * lattice, (n/3%3 - 1) * lattice, height
}

// newGrid is the policy that the server is given.
func newGrid(schema *snapshot.Schema) *interest.Grid {
	return interest.NewGrid(interest.GridConfig{Position: placeOf(schema), Enter: enter, Leave: leave})
}

func placeOf(schema *snapshot.Schema) interest.Position {
	return interest.PositionOf(schema, func(p *Position) (x, y, z float32) { return p.X, p.Y, p.Z })
}

// sights tells which entities each client may see, by asking every entity about every client each tick. It is what the
// grid must come to by other means.
type sights struct {
	place   interest.Position
	clients map[wire.ClientID]*sight
	ticks   int    // of each census
	came    uint64 // how often anything came into anybody's sight
	went    uint64 // how often anything went out of it, deaths included
}

// sight is one client's.
type sight struct {
	seen   []uint32 // by network index: the generation that is visible, 0 = none
	count  int
	lately census
}

func newSights(schema *snapshot.Schema, ticks int) *sights {
	return &sights{place: placeOf(schema), clients: map[wire.ClientID]*sight{}, ticks: ticks}
}

// look takes in a tick's capture.
func (s *sights) look(server *netcode.Server) {
	for id := range server.Clients {
		c := s.clients[id]
		if c == nil {
			c = &sight{lately: newCensus(s.ticks)}
			s.clients[id] = c
		}
		s.judge(server.Store(), id, c)
		c.lately.add(c.count)
	}
}

func (s *sights) judge(store *snapshot.Store, client wire.ClientID, c *sight) {
	before := c.count
	var came, kept int
	for id := range store.All {
		for int(id.Index) >= len(c.seen) {
			c.seen = append(c.seen, 0)
		}
		seen := c.seen[id.Index] == id.Generation
		switch visible := s.within(store, client, id, seen); {
		case !visible && seen:
			c.seen[id.Index] = 0
		case visible && seen:
			kept++
		case visible:
			c.seen[id.Index] = id.Generation
			came++
		}
	}
	c.count = came + kept
	s.came += uint64(came)
	s.went += uint64(before - kept)
}

// within reports whether an entity is close enough. Positions are whole steps of 1/512 m, so there is nothing to round.
func (s *sights) within(store *snapshot.Store, client wire.ClientID, id wire.NetworkID, seen bool) bool {
	x, y, z, ok := s.place(store, id)
	if !ok {
		return false
	}
	sx, sy, sz := seat(client)
	dx, dy, dz := float64(x)-float64(sx), float64(y)-float64(sy), float64(z)-float64(sz)
	reach := float64(enter)
	if seen {
		reach = leave
	}
	return float64(dx*dx)+float64(dy*dy)+float64(dz*dz) <= reach*reach
}

// visible reports whether a client may see an entity.
func (s *sights) visible(client wire.ClientID, id wire.NetworkID) bool {
	c := s.clients[client]
	return c != nil && int(id.Index) < len(c.seen) && c.seen[id.Index] == id.Generation
}

// perClient returns the mean number of entities that a client sees.
func (s *sights) perClient(server *netcode.Server) float64 {
	seen, clients := 0, 0
	for id := range server.Clients {
		if c := s.clients[id]; c != nil {
			seen += c.count
			clients++
		}
	}
	return float64(seen) / float64(max(1, clients))
}

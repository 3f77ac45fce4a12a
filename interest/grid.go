package interest

import (
	"fmt"
	"math"

	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/wire"
)

// GridConfig says how a [Grid] measures. Position and Enter are needed.
type GridConfig struct {
	// Position says where an entity is. It goes by nothing but the rows of that entity: it is asked again only
	// when one of those has changed.
	Position Position
	// Enter is the distance from a client's viewpoint at which an entity comes into sight, in the game's unit of length:
	// finite and above 0.
	Enter float32
	// Leave is the distance beyond which it goes out of sight again, not below Enter. What lies between is as it was, so
	// that nothing flickers at the border. Zero means a tenth more than Enter.
	Leave float32
	// Unplaced makes entities that are nowhere visible to everybody; else they are visible to nobody.
	Unplaced bool
	// Near and Far are the weights, 256 being 1, with which entities at a client's viewpoint and at Leave compete for its
	// budget, in eight steps between. Both zero: the grid sets no weights.
	Near, Far uint16
}

// rings is the number of steps in which weights go from Near to Far.
const rings = 8

// Grid shows a client what is near its viewpoint: an entity or a point that game code sets. A client without one sees
// nothing that is anywhere. Distances are kept to 1/8192 of the leave radius or finer, and beyond 32 768 leave radii
// from the origin along an axis, positions count as there.
type Grid struct {
	lives
	cells        cells
	config       GridConfig
	scale        scale
	leave        int64 // the radius, and below it squares of radii, in whole numbers
	enterSquared int64
	leaveSquared int64
	ring         [rings]int64
	weights      [rings]uint16
	unplaced     Set
	regrouped    uint64 // the newest change of unplaced
	sights       roll[sight]
}

// sight is one client's.
type sight struct {
	follows wire.NetworkID // whom the viewpoint goes with; zero: nobody
	at      point
	looks   bool // there is a viewpoint
	moved   bool // it is not where it was when the set was made
	set     Set
	before  Set
	built   uint64  // the newest change that the set reflects
	rings   []uint8 // by index, of what is or was in the set: its ring, plus one
	crossed []uint32
}

// NewGrid returns the policy of distances. It panics if the config makes no sense.
func NewGrid(c GridConfig) *Grid {
	if c.Leave == 0 {
		c.Leave = c.Enter * 1.1
	}
	usable := c.Enter > 0 && c.Leave >= c.Enter && float64(c.Leave) <= math.MaxFloat32
	if c.Position == nil || !usable {
		panic(fmt.Sprintf("interest: a grid needs Position and 0 < Enter <= Leave, all finite: not %v and %v", c.Enter, c.Leave))
	}
	g := &Grid{config: c, scale: scaleFor(c.Leave)}
	enter, leave := g.scale.length(c.Enter), g.scale.length(c.Leave)
	g.leave, g.enterSquared, g.leaveSquared = leave, enter*enter, leave*leave
	for i := range g.ring {
		radius := leave * int64(i+1) / rings
		g.ring[i] = radius * radius
		g.weights[i] = uint16(int(c.Near) + (int(c.Far)-int(c.Near))*i/(rings-1))
	}
	return g
}

// Follow makes an entity a client's viewpoint, from the next tick on. When it is gone, or nowhere, the viewpoint stays
// where it was last. Neither needs to be there yet.
func (g *Grid) Follow(client wire.ClientID, id wire.NetworkID) { g.sights.open(client).follows = id }

// Look makes a point a client's viewpoint, from the next tick on. A NaN takes the viewpoint away.
func (g *Grid) Look(client wire.ClientID, x, y, z float32) {
	at, ok := g.scale.point(x, y, z)
	v := g.sights.open(client)
	v.follows = wire.NetworkID{}
	v.moved = v.moved || v.at != at || v.looks != ok
	v.at, v.looks = at, ok
}

// Leave implements [Policy].
func (g *Grid) Leave(client wire.ClientID) { g.sights.drop(client) }

// Prepare implements [Policy]. It measures where the entities are that have changed.
func (g *Grid) Prepare(s *snapshot.Store) {
	before := g.tick
	if !g.follow(s) {
		return
	}
	g.cells.change++
	g.forgetRenewed()
	if s.Tick() == before+1 {
		for id := range s.Changes {
			g.measure(s, id)
		}
		return
	}
	for index := range g.alive.All { // of the captures between nothing is known
		g.measure(s, g.id(index))
	}
}

// forgetRenewed takes who died out of the grid and out of what clients saw.
func (g *Grid) forgetRenewed() {
	any := false
	for index := range g.renewed.All {
		any = true
		if g.cells.placed.Has(index) {
			g.cells.take(index)
		}
		if g.unplaced.Has(index) {
			g.unplaced.remove(index)
			g.regrouped = g.cells.change
		}
	}
	if any {
		for _, v := range g.sights.of {
			v.set.removeAll(g.renewed)
		}
	}
}

// measure asks where an entity is.
func (g *Grid) measure(s *snapshot.Store, id wire.NetworkID) {
	index := id.Index
	x, y, z, ok := g.config.Position(s, id)
	var at point
	if ok {
		at, ok = g.scale.point(x, y, z)
	}
	if ok {
		g.cells.put(index, at)
	} else if g.cells.placed.Has(index) {
		g.cells.take(index)
	}
	if g.unplaced.Has(index) == ok {
		g.regrouped = g.cells.change
		if ok {
			g.unplaced.remove(index)
		} else {
			g.unplaced.add(index)
		}
	}
}

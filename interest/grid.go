package interest

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/wire"
)

// Position returns the position of an entity, in the game's unit of length. ok is false if it has none. A game in two dimensions
// returns z = 0.
type Position func(s *snapshot.Store, id wire.NetworkID) (x, y, z float32, ok bool)

// PositionOf returns a Position that reads a replicated component, dequantised as clients will have it. It panics if the protocol
// does not replicate T. The result belongs to one goroutine.
func PositionOf[T any](schema *snapshot.Schema, of func(component *T) (x, y, z float32)) Position {
	row := RowOf[T](schema)
	plan, component := schema.Plan(row), new(T)
	return func(s *snapshot.Store, id wire.NetworkID) (x, y, z float32, ok bool) {
		lanes := s.Row(id, row)
		if lanes == nil && !s.Mask(id).Has(row) {
			return 0, 0, 0, false
		}
		dequantise(plan, lanes, component)
		x, y, z = of(component)
		return x, y, z, true
	}
}

// GridConfig configures a [Grid]. Position is required.
type GridConfig struct {
	// Position returns the position of an entity. It must depend on the rows of that entity only: it is called again only when
	// one of them has changed.
	Position Position
	// Enter is the distance from a client's viewpoint at which an entity comes into sight, in the game's unit of length. Zero
	// shows everything: the grid then only measures, for [Bands] and for weights.
	Enter float32
	// Leave is the distance beyond which an entity goes out of sight, at least Enter. Between Enter and Leave nothing changes, so
	// that entities do not flicker at the border. Zero means 1.1 × Enter.
	Leave float32
	// Unplaced makes entities without a position visible to everybody; otherwise they are visible to nobody.
	Unplaced bool
	// Near and Far are the weights of entities at the viewpoint and at Leave when entities compete for the client's budget. 256
	// is the normal weight. The weight changes in eight steps between them, and is measured every 8 ticks. If both are zero the
	// grid sets no weights. They need an Enter.
	Near, Far uint16
}

// rings is the number of weights from Near to Far.
const rings = 8

// Grid shows a client the entities near its viewpoint, which is an entity or a point that the game sets. A client without a
// viewpoint sees no entity that has a position. Distances are exact to 1/8192 of the leave radius or finer. A coordinate is
// limited to 32 768 leave radii from the origin.
type Grid struct {
	ticking
	cells
	config       GridConfig
	scale        scale
	leave        int64 // leave radius; below it squares of radii, all in units of scale
	enterSquared int64
	leaveSquared int64
	ring         [rings]int64
	weights      [rings]uint16
	clients      map[wire.ClientID]*sight
	news         recent // entities that got a position or lost it
	found        set    // scratch of build
	words        set    // the words of found that are not zero
	spare        []page // scratch of build
}

// page is a word of a set of entities that is not zero.
type page struct {
	word uint32
	of   uint64
}

// sight is the state of one client.
type sight struct {
	follows wire.NetworkID // entity that the viewpoint follows; zero: none
	viewpoint
	point point
	moved bool   // the viewpoint changed since the set was built
	set   []page // the entities near the viewpoint, ascending
	built uint64 // number of the newest change that the set contains
	news  recent // entities that came into the set or left it
}

// NewGrid returns a policy that shows entities by distance. It panics if the config is invalid.
func NewGrid(c GridConfig) *Grid {
	if c.Leave == 0 {
		c.Leave = c.Enter * 1.1
	}
	usable := c.Enter == 0 && c.Leave == 0 && c.Near|c.Far == 0 || c.Enter > 0 && c.Leave >= c.Enter && float64(c.Leave) <= math.MaxFloat32
	if c.Position == nil || !usable {
		panic(fmt.Sprintf("interest: a grid needs Position and 0 < Enter <= Leave, all finite: not %v and %v", c.Enter, c.Leave))
	}
	g := &Grid{config: c, scale: scaleFor(max(c.Leave, math.SmallestNonzeroFloat32)), clients: map[wire.ClientID]*sight{}}
	enter, leave := g.scale.length(c.Enter), g.scale.length(c.Leave)
	g.leave, g.enterSquared, g.leaveSquared = leave, enter*enter, leave*leave
	for i := range g.ring {
		radius := leave * int64(i+1) / rings
		g.ring[i] = radius * radius
		g.weights[i] = uint16(max(int(c.Near)+(int(c.Far)-int(c.Near))*i/(rings-1), 1))
	}
	return g
}

// sightOf returns the state of a client, and makes it if there is none.
func (g *Grid) sightOf(client wire.ClientID) *sight {
	v := g.clients[client]
	if v == nil {
		v = &sight{}
		g.clients[client] = v
	}
	return v
}

// Follow makes an entity the viewpoint of a client, from the next tick on. If the entity dies or has no position, the viewpoint
// stays at its last position. The client and the entity may come into being later.
func (g *Grid) Follow(client wire.ClientID, id wire.NetworkID) { g.sightOf(client).follows = id }

// Look makes a point the viewpoint of a client, from the next tick on. NaN removes the viewpoint.
func (g *Grid) Look(client wire.ClientID, x, y, z float32) {
	v := g.sightOf(client)
	v.follows = wire.NetworkID{}
	g.move(v, [3]float32{x, y, z})
}

// move moves a viewpoint.
func (g *Grid) move(v *sight, exact [3]float32) {
	at, ok := g.scale.point(exact[0], exact[1], exact[2])
	v.moved = v.moved || v.point != at || v.looks != ok
	v.at, v.point, v.looks = exact, at, ok
}

// viewpoint returns the viewpoint of a client.
func (g *Grid) viewpoint(client wire.ClientID) viewpoint {
	v := g.clients[client]
	if v == nil {
		return viewpoint{}
	}
	if p := g.place(v.follows.Index); p != nil && p.id == v.follows && (p.exact != v.at || !v.looks) {
		g.move(v, p.exact)
	}
	return v.viewpoint
}

// Leave implements [Policy].
func (g *Grid) Leave(client wire.ClientID) { delete(g.clients, client) }

// Prepare implements [Policy]. It measures the positions of changed entities.
func (g *Grid) Prepare(s *snapshot.Store, all bool) {
	begins := g.begin(s)
	if g.change++; begins {
		g.news.turn()
		for _, v := range g.clients {
			v.news.turn()
		}
	}
	switch {
	case all:
		for i := range g.places {
			if p := g.place(uint32(i)); p != nil && !s.Alive(p.id) {
				g.forget(uint32(i))
			}
		}
		for id := range s.All {
			g.measure(s, id)
		}
	case begins:
		for _, id := range s.Deaths() {
			g.forget(id.Index)
		}
		for id := range s.Changes {
			g.measure(s, id)
		}
	}
}

// forget removes a dead entity from the grid and from the sets of clients.
func (g *Grid) forget(index uint32) {
	if g.place(index) == nil {
		return
	}
	g.take(index)
	for _, v := range g.clients {
		if at, found := v.pageOf(index >> 6); found {
			v.set[at].of &^= 1 << (index & 63)
		}
	}
}

// pageOf returns the place of a word in the set.
func (v *sight) pageOf(word uint32) (at int, found bool) {
	return slices.BinarySearchFunc(v.set, word, func(p page, word uint32) int { return cmp.Compare(p.word, word) })
}

// has reports whether an entity is in the set.
func (v *sight) has(index uint32) bool {
	at, found := v.pageOf(index >> 6)
	return found && v.set[at].of>>(index&63)&1 != 0
}

// measure asks for the position of an entity and stores it.
func (g *Grid) measure(s *snapshot.Store, id wire.NetworkID) {
	x, y, z, ok := g.config.Position(s, id)
	var at point
	if ok {
		at, ok = g.scale.point(x, y, z)
	}
	switch had := g.placed.has(id.Index); {
	case ok:
		if g.put(id, at, [3]float32{x, y, z}); !had {
			g.news.add(id.Index)
		}
	case had:
		g.take(id.Index)
		g.news.add(id.Index)
	}
}

// Changed implements [Policy].
func (g *Grid) Changed(client wire.ClientID, again *Again) {
	g.news.addTo(again)
	from, v := g.viewpoint(client), g.clients[client]
	switch {
	case g.config.Enter == 0:
		return
	case v == nil:
		again.blind = max(again.blind, blind)
		return
	case !from.looks && !v.follows.IsZero():
		again.blind = astray
	case !from.looks:
		again.blind = max(again.blind, blind)
	}
	if v.moved || v.looks && g.changedNear(v) {
		g.build(v)
	}
	v.moved, v.built = false, g.change
	v.news.addTo(again)
	if g.weighs() && isTurn(g.tick, client) {
		again.Seen(client)
	}
}

// changedNear reports whether an entity within the leave radius of a viewpoint may have changed since the set was built.
func (g *Grid) changedNear(v *sight) bool {
	if g.emptied > v.built {
		return true
	}
	if v.built >= g.marked || g.count == 0 {
		return false
	}
	low, high := g.around(v.point)
	for z := low.z; z <= high.z; z++ {
		for y := low.y; y <= high.y; y++ {
			for x := low.x; x <= high.x; x++ {
				if g.changed[g.bucket(cell{x, y, z})] > v.built {
					return true
				}
			}
		}
	}
	return false
}

// around returns the corners of the cells that may contain entities within the leave radius of a point.
func (g *Grid) around(at point) (low, high cell) {
	r := int32(g.leave)
	low, high = cellOf(point{at.x - r, at.y - r, at.z - r}), cellOf(point{at.x + r, at.y + r, at.z + r})
	low = cell{max(low.x, g.low.x), max(low.y, g.low.y), max(low.z, g.low.z)}
	high = cell{min(high.x, g.high.x), min(high.y, g.high.y), min(high.z, g.high.z)}
	return low, high
}

// build recomputes a client's set, and notes what came into it or left it.
func (g *Grid) build(v *sight) {
	if v.looks && g.count > 0 {
		low, high := g.around(v.point)
		for z := low.z; z <= high.z; z++ {
			for y := low.y; y <= high.y; y++ {
				for x := low.x; x <= high.x; x++ {
					g.visit(v, cell{x, y, z})
				}
			}
		}
	}
	next, before := g.spare[:0], v.set
	for i, words := range g.words {
		for ; words != 0; words &= words - 1 {
			w := uint32(i<<6 + bits.TrailingZeros64(words))
			p := page{w, g.found[w]}
			g.found[w] = 0
			for len(before) > 0 && before[0].word < w {
				v.note(before[0])
				before = before[1:]
			}
			next = append(next, p)
			if len(before) > 0 && before[0].word == w {
				p.of ^= before[0].of
				before = before[1:]
			}
			v.note(p)
		}
		g.words[i] = 0
	}
	for _, p := range before {
		v.note(p)
	}
	v.set, g.spare = next, v.set
}

// note notes that entities came into the set or left it.
func (v *sight) note(p page) {
	for ; p.of != 0; p.of &= p.of - 1 {
		v.news.add(p.word<<6 + uint32(bits.TrailingZeros64(p.of)))
	}
}

// visit finds the visible entities of a cell.
func (g *Grid) visit(v *sight, in cell) {
	least, most := in.bounds(v.point)
	if least > g.leaveSquared {
		return
	}
	whole := most <= g.enterSquared
	for next := g.heads[g.bucket(in)]; next != 0; {
		index := uint32(next - 1)
		p := &g.places[index]
		next = p.next
		if cellOf(p.at) != in {
			continue // another cell in the same bucket
		}
		if d := squared(p.at, v.point); whole || d <= g.enterSquared || d <= g.leaveSquared && v.has(index) {
			g.found.add(index)
			g.words.add(index >> 6)
		}
	}
}

func (g *Grid) weighs() bool { return g.config.Near|g.config.Far != 0 }

// Sees implements [Policy].
func (g *Grid) Sees(client wire.ClientID, id wire.NetworkID, _ snapshot.Mask) (rows snapshot.Mask, weight uint16) {
	p, v := g.place(id.Index), g.clients[client]
	switch {
	case g.config.Enter == 0 || p == nil && g.config.Unplaced:
		return snapshot.AllRows(), 0
	case p == nil || v == nil || !v.has(id.Index):
		return rows, 0
	case g.weighs():
		ring := 0
		for d := squared(p.at, v.point); ring < rings-1 && d > g.ring[ring]; {
			ring++
		}
		weight = g.weights[ring]
	}
	return snapshot.AllRows(), weight
}

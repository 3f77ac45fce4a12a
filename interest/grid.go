package interest

import (
	"fmt"
	"math"

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

// GridConfig configures a [Grid]. Position and Enter are required.
type GridConfig struct {
	// Position returns the position of an entity. It must depend on the rows of that entity only: it is called again only when
	// one of them has changed.
	Position Position
	// Enter is the distance from a client's viewpoint at which an entity comes into sight, in the game's unit of length. It is
	// finite and above 0.
	Enter float32
	// Leave is the distance beyond which an entity goes out of sight, at least Enter. Between Enter and Leave nothing changes, so
	// that entities do not flicker at the border. Zero means 1.1 × Enter.
	Leave float32
	// Unplaced makes entities without a position visible to everybody; otherwise they are visible to nobody.
	Unplaced bool
	// Near and Far are the weights of entities at the viewpoint and at Leave when entities compete for the client's budget. 256
	// is the normal weight. The weight changes in eight steps between them. If both are zero the grid sets no weights.
	Near, Far uint16
}

// rings is the number of weights from Near to Far.
const rings = 8

// Grid shows a client the entities near its viewpoint, which is an entity or a point that the game sets. A client without a
// viewpoint sees no entity that has a position. Distances are exact to 1/8192 of the leave radius or finer. A coordinate is
// limited to 32 768 leave radii from the origin.
type Grid struct {
	lifetimes
	cells        cells
	config       GridConfig
	scale        scale
	leave        int64 // leave radius; below it squares of radii, all in units of scale
	enterSquared int64
	leaveSquared int64
	ring         [rings]int64
	weights      [rings]uint16
	unplaced     Set
	regrouped    uint64 // number of the newest change of unplaced
	sights       perClient[sight]
	store        *snapshot.Store // of the last Prepare
}

// sight is the state of one client.
type sight struct {
	follows wire.NetworkID // entity that the viewpoint follows; zero: none
	at      point
	looks   bool // the client has a viewpoint
	moved   bool // the viewpoint changed since the set was built
	set     Set
	before  Set
	built   uint64  // number of the newest change that the set contains
	version uint64  // number of changes of the set, from 1
	rings   []uint8 // by index, for entities that are or were in the set: ring + 1
	crossed []uint32
}

// NewGrid returns a policy that shows entities by distance. It panics if the config is invalid.
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

// Follow makes an entity the viewpoint of a client, from the next tick on. If the entity dies or has no position, the viewpoint
// stays at its last position. The client and the entity may come into being later.
func (g *Grid) Follow(client wire.ClientID, id wire.NetworkID) { g.sights.open(client).follows = id }

// Look makes a point the viewpoint of a client, from the next tick on. NaN removes the viewpoint.
func (g *Grid) Look(client wire.ClientID, x, y, z float32) {
	at, ok := g.scale.point(x, y, z)
	v := g.sights.open(client)
	v.follows = wire.NetworkID{}
	v.moved = v.moved || v.at != at || v.looks != ok
	v.at, v.looks = at, ok
}

// Leave implements [Policy].
func (g *Grid) Leave(client wire.ClientID) { g.sights.drop(client) }

// Prepare implements [Policy]. It measures the positions of changed entities.
func (g *Grid) Prepare(s *snapshot.Store) {
	before := g.tick
	if !g.follow(s) {
		return
	}
	g.store = s
	g.cells.change++
	g.forgetRenewed()
	if s.Tick() == before+1 {
		for id := range s.Changes {
			g.measure(s, id)
		}
		return
	}
	for index := range g.alive.All { // ticks were skipped: their changes are unknown
		g.measure(s, g.id(index))
	}
}

// RefreshAll calls [GridConfig].Position again for all entities. Call it when its results have changed.
func (g *Grid) RefreshAll() {
	if g.store == nil {
		return
	}
	g.cells.change++
	for index := range g.alive.All {
		g.measure(g.store, g.id(index))
	}
}

// RefreshClient does nothing: the position of an entity is the same for all clients.
func (g *Grid) RefreshClient(wire.ClientID) {}

// forgetRenewed removes dead entities from the grid and from the sets of clients.
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
			v.version++
		}
	}
}

// measure asks for the position of an entity and stores it.
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

// cells is a spatial hash: a hash table of cells, with a linked list of entities for each bucket. A change of an entity stamps
// its bucket with the number of the change.
type cells struct {
	places  []place // by index
	placed  Set     // indexes with a position
	count   int
	heads   []int32 // by bucket: index of the first entity, plus 1; 0: none
	changed []uint64
	change  uint64 // number of the current change
	marked  uint64 // number of the newest change that moved an entity
	emptied uint64 // number of the newest change that left the table empty
	low     cell   // bounds of the cells with entities; may be too wide
	high    cell
}

// place is the position of an entity.
type place struct {
	at         point
	cell       cell
	next, prev int32 // indexes plus one, within the bucket
}

const fewestBuckets = 64

func (c *cells) bucket(of cell) uint64 { return of.spread() & uint64(len(c.heads)-1) }

// put stores the position of an entity, new or moved.
func (c *cells) put(index uint32, at point) {
	for int(index) >= len(c.places) {
		c.places = append(c.places, place{})
	}
	in := cellOf(at)
	if c.placed.Has(index) {
		p := &c.places[index]
		if p.at == at {
			return
		}
		if p.cell == in {
			p.at = at
			c.mark(in)
			return
		}
		c.take(index)
	}
	if c.count == len(c.heads) {
		c.rehash()
	}
	c.placed.add(index)
	c.count++
	c.places[index] = place{at: at, cell: in}
	c.link(index)
	c.mark(in)
	c.widen(in)
}

// take removes an entity, which has a position.
func (c *cells) take(index uint32) {
	p := &c.places[index]
	if p.next != 0 {
		c.places[p.next-1].prev = p.prev
	}
	if p.prev != 0 {
		c.places[p.prev-1].next = p.next
	} else {
		c.heads[c.bucket(p.cell)] = p.next
	}
	c.placed.remove(index)
	if c.count--; c.count == 0 {
		c.emptied = c.change
	}
	c.mark(p.cell)
}

func (c *cells) link(index uint32) {
	p := &c.places[index]
	head := &c.heads[c.bucket(p.cell)]
	p.prev, p.next = 0, *head
	if *head != 0 {
		c.places[*head-1].prev = int32(index) + 1
	}
	*head = int32(index) + 1
}

func (c *cells) mark(in cell) { c.changed[c.bucket(in)], c.marked = c.change, c.change }

// widen extends the bounds by a cell. The bounds never shrink while any entity is left: too wide bounds cost time only.
func (c *cells) widen(in cell) {
	if c.count == 1 {
		c.low, c.high = in, in // the only entity
		return
	}
	c.low = cell{min(c.low.x, in.x), min(c.low.y, in.y), min(c.low.z, in.z)}
	c.high = cell{max(c.high.x, in.x), max(c.high.y, in.y), max(c.high.z, in.z)}
}

// rehash doubles the number of buckets.
func (c *cells) rehash() {
	size := max(fewestBuckets, 2*len(c.heads))
	c.heads, c.changed = make([]int32, size), make([]uint64, size)
	for i := range c.changed {
		c.changed[i] = c.change
	}
	for index := range c.placed.All {
		c.link(index)
	}
}

// Distances are compared as integers, so that every machine decides alike. The unit is the largest power of two of the game's
// unit for which the leave radius is at least leaveSteps. Conversion is exact except for the fraction.
const (
	leaveSteps = 1 << 13 // leave radius in units: at least this, less than twice this
	reach      = 1 << 29 // limit of a coordinate: 32 768 leave radii or more
	cellBits   = 12      // width of a cell: a quarter to a half of the leave radius
)

// point is a position in units of scale.
type point struct{ x, y, z int32 }

// scale is the factor from the game's lengths to integers.
type scale float64

// scaleFor returns the scale for a leave radius, a finite number above 0.
func scaleFor(leave float32) scale {
	_, exponent := math.Frexp(float64(leave)) // 2^(exponent-1) <= leave < 2^exponent
	return scale(math.Ldexp(leaveSteps, 1-exponent))
}

// length converts a radius to units.
func (s scale) length(v float32) int64 { return int64(math.Floor(float64(v) * float64(s))) }

// point converts a position to units. A coordinate beyond reach is clamped. ok is false for NaN.
func (s scale) point(x, y, z float32) (p point, ok bool) {
	if x != x || y != y || z != z {
		return p, false
	}
	return point{s.axis(x), s.axis(y), s.axis(z)}, true
}

func (s scale) axis(v float32) int32 {
	return int32(math.Floor(min(max(float64(v)*float64(s), -reach), reach)))
}

// squared returns the squared distance of two points.
func squared(a, b point) int64 {
	dx, dy, dz := int64(a.x)-int64(b.x), int64(a.y)-int64(b.y), int64(a.z)-int64(b.z)
	return dx*dx + dy*dy + dz*dz
}

// cell is a cube of the grid.
type cell point

func cellOf(p point) cell { return cell{p.x >> cellBits, p.y >> cellBits, p.z >> cellBits} }

// spread hashes the coordinates of a cell.
func (c cell) spread() uint64 {
	h := uint64(uint32(c.x))*0x9E3779B97F4A7C15 ^ uint64(uint32(c.y))*0xC2B2AE3D27D4EB4F ^ uint64(uint32(c.z))*0x165667B19E3779F9
	return h ^ h>>32
}

// bounds returns the squares of the least and the greatest distance between p and the points of the cell.
func (c cell) bounds(p point) (least, most int64) {
	for _, axis := range [3][2]int32{{c.x, p.x}, {c.y, p.y}, {c.z, p.z}} {
		low := int64(axis[0])<<cellBits - int64(axis[1]) // of the cell, from p
		high := low + 1<<cellBits - 1
		near := max(low, -high, 0)
		far := max(-low, high)
		least += near * near
		most += far * far
	}
	return least, most
}

// Sees implements [Policy].
func (g *Grid) Sees(client wire.ClientID) Set {
	v := g.sights.open(client)
	if g.is(v.follows) && g.cells.placed.Has(v.follows.Index) {
		at := g.cells.places[v.follows.Index].at
		v.moved = v.moved || v.at != at || !v.looks
		v.at, v.looks = at, true
	}
	if v.moved || g.config.Unplaced && g.regrouped > v.built || v.looks && g.changedNear(v) {
		g.build(v)
	}
	v.moved, v.built = false, g.cells.change
	return v.set
}

// version implements versioned. Before the first build the set is empty, as it is for 1.
func (g *Grid) version(client wire.ClientID) uint64 { return g.sights.open(client).version + 1 }

// changedNear reports whether an entity within the leave radius of a viewpoint may have changed since the set was built.
func (g *Grid) changedNear(v *sight) bool {
	if g.cells.emptied > v.built {
		return true
	}
	if v.built >= g.cells.marked || g.cells.count == 0 {
		return false
	}
	low, high := g.around(v.at)
	for z := low.z; z <= high.z; z++ {
		for y := low.y; y <= high.y; y++ {
			for x := low.x; x <= high.x; x++ {
				if g.cells.changed[g.cells.bucket(cell{x, y, z})] > v.built {
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
	low = cell{max(low.x, g.cells.low.x), max(low.y, g.cells.low.y), max(low.z, g.cells.low.z)}
	high = cell{min(high.x, g.cells.high.x), min(high.y, g.cells.high.y), min(high.z, g.cells.high.z)}
	return low, high
}

// build recomputes a client's set. It reads the set before, for hysteresis.
func (g *Grid) build(v *sight) {
	v.set, v.before = v.before, v.set
	v.version++
	v.crossed = v.crossed[:0]
	v.set.reset(len(g.alive))
	if g.config.Unplaced {
		v.set.addAll(g.unplaced)
	}
	if !v.looks || g.cells.count == 0 {
		return
	}
	low, high := g.around(v.at)
	for z := low.z; z <= high.z; z++ {
		for y := low.y; y <= high.y; y++ {
			for x := low.x; x <= high.x; x++ {
				g.visit(v, cell{x, y, z})
			}
		}
	}
}

// visit adds the visible entities of a cell to a client's set.
func (g *Grid) visit(v *sight, in cell) {
	least, most := in.bounds(v.at)
	if least > g.leaveSquared {
		return
	}
	whole := most <= g.enterSquared && !g.weighs()
	for next := g.cells.heads[g.cells.bucket(in)]; next != 0; {
		index := uint32(next - 1)
		p := &g.cells.places[index]
		next = p.next
		if p.cell != in {
			continue // another cell in the same bucket
		}
		if whole {
			v.set[index>>6] |= 1 << (index & 63)
			continue
		}
		d := squared(p.at, v.at)
		if d > g.leaveSquared || d > g.enterSquared && !v.before.Has(index) {
			continue
		}
		v.set[index>>6] |= 1 << (index & 63)
		if g.weighs() {
			g.weigh(v, index, d)
		}
	}
}

func (g *Grid) weighs() bool { return g.config.Near != 0 || g.config.Far != 0 }

// weigh stores the ring of an entity, and notes a change of ring in crossed.
func (g *Grid) weigh(v *sight, index uint32, d int64) {
	ring := uint8(0)
	for ring < rings-1 && d > g.ring[ring] {
		ring++
	}
	for int(index) >= len(v.rings) {
		v.rings = append(v.rings, 0)
	}
	if v.rings[index] != ring+1 {
		v.rings[index] = ring + 1
		v.crossed = append(v.crossed, index)
	}
}

// Refine implements [Policy]. It sets the weights of entities that came into sight or changed their ring.
func (g *Grid) Refine(client wire.ClientID, view View, sees, shown Set) {
	v := g.sights.get(client)
	if v == nil || !g.weighs() {
		return
	}
	for index := range shown.All {
		if v.set.Has(index) && g.cells.placed.Has(index) {
			view.SetWeight(g.id(index), g.weights[v.rings[index]-1])
		}
	}
	for _, index := range v.crossed {
		if sees.Has(index) && !shown.Has(index) {
			view.SetWeight(g.id(index), g.weights[v.rings[index]-1])
		}
	}
	v.crossed = v.crossed[:0]
}

// astray reports whether a client follows an entity that never had a position in the grid.
func (g *Grid) astray(client wire.ClientID) bool {
	v := g.sights.get(client)
	return v != nil && !v.looks && v.follows != wire.NetworkID{}
}

// Blind reports whether a client has no viewpoint.
func (g *Grid) Blind(client wire.ClientID) bool {
	v := g.sights.get(client)
	return v == nil || !v.looks
}

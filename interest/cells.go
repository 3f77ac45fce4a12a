package interest

import (
	"math"

	"github.com/arche-netcode/netcode/wire"
)

// cells is a spatial hash: a hash table of cells, with a linked list of entities for each bucket. A change of an entity stamps
// its bucket with the number of the change.
type cells struct {
	places  []place // by index
	placed  set     // indexes with a position
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
	next, prev int32 // indexes plus one, within the bucket
	exact      [3]float32
	id         wire.NetworkID
}

// place returns the position of an index, nil if it has none.
func (c *cells) place(index uint32) *place {
	if c.placed.has(index) {
		return &c.places[index]
	}
	return nil
}

const fewestBuckets = 64

func (c *cells) bucket(of cell) uint64 { return of.spread() & uint64(len(c.heads)-1) }

// put stores the position of an entity, new or moved. moved is false if it stays in its unit of scale.
func (c *cells) put(id wire.NetworkID, at point, exact [3]float32) (moved bool) {
	if n := int(id.Index) + 1; n > len(c.places) {
		c.places = append(c.places, make([]place, n-len(c.places))...)
	}
	p := &c.places[id.Index]
	was, in := cellOf(p.at), cellOf(at)
	switch here := c.placed.has(id.Index); {
	case here && p.at == at:
		p.exact = exact
		return false
	case here && was == in:
		p.at, p.exact = at, exact
	default:
		if here {
			c.take(id.Index)
		}
		if c.count == len(c.heads) {
			c.rehash()
		}
		c.placed.add(id.Index)
		c.count++
		*p = place{at: at, exact: exact, id: id}
		c.link(id.Index)
		c.widen(in)
	}
	c.mark(in)
	return true
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
		c.heads[c.bucket(cellOf(p.at))] = p.next
	}
	c.placed.remove(index)
	if c.count--; c.count == 0 {
		c.emptied = c.change
	}
	c.mark(cellOf(p.at))
}

func (c *cells) link(index uint32) {
	p := &c.places[index]
	head := &c.heads[c.bucket(cellOf(p.at))]
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
	for index := range c.places {
		if c.placed.has(uint32(index)) {
			c.link(uint32(index))
		}
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

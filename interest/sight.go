package interest

import "github.com/arche-netcode/netcode/wire"

// Sees implements [Policy].
func (g *Grid) Sees(client wire.ClientID) Set {
	v := g.sights.open(client)
	if g.is(v.follows) && g.cells.placed.Has(v.follows.Index) {
		at := g.cells.places[v.follows.Index].at
		v.moved = v.moved || v.at != at || !v.looks
		v.at, v.looks = at, true
	}
	if v.moved || g.config.Unplaced && g.regrouped > v.built || v.looks && g.stirred(v) {
		g.build(v)
	}
	v.moved, v.built = false, g.cells.change
	return v.set
}

// stirred says whether anything has happened within reach of a viewpoint since its set was built.
func (g *Grid) stirred(v *sight) bool {
	if g.cells.emptied > v.built {
		return true
	}
	if v.built == g.cells.change || g.cells.count == 0 {
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

// around are the corners of the cells that may hold anything within reach of a place.
func (g *Grid) around(at point) (low, high cell) {
	r := int32(g.leave)
	low, high = cellOf(point{at.x - r, at.y - r, at.z - r}), cellOf(point{at.x + r, at.y + r, at.z + r})
	low = cell{max(low.x, g.cells.low.x), max(low.y, g.cells.low.y), max(low.z, g.cells.low.z)}
	high = cell{min(high.x, g.cells.high.x), min(high.y, g.cells.high.y), min(high.z, g.cells.high.z)}
	return low, high
}

// build makes a client's set anew: hysteresis needs what was in it before.
func (g *Grid) build(v *sight) {
	v.set, v.before = v.before, v.set
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

// visit takes the entities of a cell into a set.
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
			continue // of another cell in the same bucket
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

// weigh notes in which ring an entity is, and that it crossed into it.
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

// Refine implements [Policy]: it sets the weights of what came into sight and of what came nearer or went away.
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

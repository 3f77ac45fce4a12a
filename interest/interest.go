package interest

import (
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// Leaving says what becomes of an entity at a client that may not see it any more.
type Leaving uint8

// Effects of leaving sight.
const (
	Despawn Leaving = iota // The entity despawns there.
	Keep                   // The client keeps the last state it was sent; when the entity dies, it despawns there.
)

// policyCache brings the views of a server's clients to what a policy says.
type policyCache struct {
	policy  Policy
	leaving Leaving
	lifetimes
	clients perClient[outcome]
}

// outcome is the last sight that one client's view was given.
type outcome struct {
	view  View
	sees  Set // alive and visible, as the view was told last
	shown Set // the part of sees that came into sight in the last update
}

// New returns what SetInterest of a server takes. Each network tick it compares what each client may see with what it
// could see before, and shows, hides or keeps the difference; what is new in the world is visible only if the policy says
// so. Coming back into sight sends full state.
func New(policy Policy, leaving Leaving) snapshot.Interest {
	return &policyCache{policy: policy, leaving: leaving}
}

// Prepare implements snapshot.Interest.
func (a *policyCache) Prepare(s *snapshot.Store) {
	a.follow(s)
	a.policy.Prepare(s)
}

// Leave implements snapshot.Interest.
func (a *policyCache) Leave(client wire.ClientID) {
	a.clients.drop(client)
	a.policy.Leave(client)
}

// Update implements snapshot.Interest.
func (a *policyCache) Update(client wire.ClientID, v *snapshot.View) { a.update(client, v) }

func (a *policyCache) update(client wire.ClientID, v View) {
	o := a.clients.open(client)
	sees := a.policy.Sees(client)
	o.shown.reset(len(a.alive))
	if o.view != v {
		a.begin(o, v, sees)
	} else {
		a.change(o, sees)
	}
	a.policy.Refine(client, v, o.sees, o.shown)
}

// begin tells a view for the first time. It may show everything that lived when it was made, of which nothing was sent.
func (a *policyCache) begin(o *outcome, v View, sees Set) {
	o.view = v
	v.ShowNew(false)
	o.sees.reset(len(a.alive))
	for w, alive := range a.alive {
		o.sees[w] = sees.word(w) & alive
		o.shown[w] = o.sees[w]
		for ; alive != 0; alive &= alive - 1 {
			id := a.id(indexOf(w, alive))
			if o.sees.Has(id.Index) {
				v.Show(id)
			} else {
				v.Hide(id)
			}
		}
	}
}

// change tells a view what is other than before. An entity that has died is the view's own business.
func (a *policyCache) change(o *outcome, sees Set) {
	o.sees.grow(len(a.alive))
	for w, alive := range a.alive {
		had := o.sees[w] &^ a.renewed.word(w) // nobody has seen who is new at an index
		want := sees.word(w) & alive
		o.sees[w], o.shown[w] = want, want&^had
		for lost := had & alive &^ want; lost != 0; lost &= lost - 1 {
			if id := a.id(indexOf(w, lost)); a.leaving == Keep {
				o.view.Keep(id)
			} else {
				o.view.Hide(id)
			}
		}
		for shown := o.shown[w]; shown != 0; shown &= shown - 1 {
			o.view.Show(a.id(indexOf(w, shown)))
		}
	}
}

// lifetimes follows which entity lives at each network index, from one Prepare to the next.
type lifetimes struct {
	generations []uint32 // of who lives there, or lived there last
	alive       Set
	renewed     Set // indexes at which not the same lives as at the Prepare before: somebody else, or nobody
	next        Set
	tick        tick.Tick
	count       int
}

// follow takes in the newest capture. It says false if that was taken in before: then nothing was done.
func (l *lifetimes) follow(s *snapshot.Store) bool {
	if s.Tick() == l.tick {
		return false
	}
	resting := s.Tick() == l.tick+1 && len(s.Births()) == 0 && s.Len() == l.count
	l.tick, l.count = s.Tick(), s.Len()
	clear(l.renewed)
	if resting {
		return true // nobody came, so nobody went either
	}
	l.next.reset(len(l.alive))
	for id := range s.All {
		for int(id.Index) >= len(l.generations) {
			l.generations = append(l.generations, 0)
		}
		l.next.add(id.Index)
		if l.generations[id.Index] != id.Generation {
			l.generations[id.Index] = id.Generation
			l.renewed.add(id.Index)
		}
	}
	l.renewed.grow(len(l.next))
	for w := range l.next {
		l.renewed[w] |= l.next[w] ^ l.alive.word(w)
	}
	l.alive, l.next = l.next, l.alive
	return true
}

// id is the entity that lives at index, or lived there last.
func (l *lifetimes) id(index uint32) wire.NetworkID {
	return wire.NetworkID{Index: index, Generation: l.generations[index]}
}

// is reports whether an entity was alive at the newest Prepare.
func (l *lifetimes) is(id wire.NetworkID) bool {
	return l.alive.Has(id.Index) && l.generations[id.Index] == id.Generation
}

// Position says where an entity is, in the game's unit of length; ok is false if it is nowhere. A game in two dimensions
// gives 0 for the third.
type Position func(s *snapshot.Store, id wire.NetworkID) (x, y, z float32, ok bool)

// PositionOf reads positions out of a replicated component, as clients will have it. It panics if the protocol does
// not replicate T. What it returns belongs to one goroutine.
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

// stirred says whether anything has happened within reach of a viewpoint since its set was built.
func (g *Grid) changedNear(v *sight) bool {
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

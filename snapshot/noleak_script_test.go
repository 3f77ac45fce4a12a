package snapshot

import (
	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/wire"
)

// play is the game's part of a tick: what the client may see is done in both worlds, what it may not in one of them, or in
// each another way.
func (g *leakGame) play() {
	if g.now == g.start+1 {
		for range 1 + g.below(leakPlaces/2) {
			g.birth()
		}
		return
	}
	g.author()
	for g.chance(g.busy) {
		place := g.below(leakPlaces)
		switch id, seen := g.seen(place); {
		case g.chance(50):
			w := g.below(2)
			g.secret(w, place)
		case seen:
			g.open(place, id)
		case g.free(g.worlds[0], place) && g.free(g.worlds[1], place):
			g.birthAt(place)
		case g.chance(50):
			g.converge(place)
		}
	}
}

// seen returns the entity at a place, and whether the client sees it or is to see it as a new one.
func (g *leakGame) seen(place int) (wire.NetworkID, bool) {
	w := g.worlds[0]
	id := w.at(g.index(place))
	if id.IsZero() {
		return id, false
	}
	return id, w.view.Visible(id) || g.born[place] == id.Generation
}

func (g *leakGame) birth() {
	place := g.below(leakPlaces)
	if g.free(g.worlds[0], place) && g.free(g.worlds[1], place) {
		g.birthAt(place)
	}
}

// birthAt is a birth for all, also if the client sees nothing new.
func (g *leakGame) birthAt(place int) {
	id := g.next(place)
	g.note("birth %v", id)
	for _, w := range g.worlds {
		g.spawn(w, id)
	}
	g.born[place] = id.Generation
	g.openSet(id, seqPosition)
	if g.chance(50) {
		g.openSet(id, seqHealth)
	}
	if g.chance(40) {
		g.openGroup(id, 1+uint32(g.below(sequenceGroups)))
	}
	if g.chance(30) {
		g.worlds[0].store.Attend(id)
		g.worlds[1].store.Attend(id)
	}
	if g.authors[place] = (Mask{}); g.chance(30) {
		g.authors[place] = format.FromWords(uint64(g.pick(1<<seqPosition, 1<<seqHealth, 1<<seqPosition|1<<seqHealth)))
	}
}

// next is the id of whoever is born at a place in both worlds.
func (g *leakGame) next(place int) wire.NetworkID {
	index := g.index(place)
	return wire.NetworkID{Index: index, Generation: 1 + max(g.worlds[0].generation(index), g.worlds[1].generation(index))}
}

// open does to an entity what the client may see.
func (g *leakGame) open(place int, id wire.NetworkID) {
	switch g.below(12) {
	case 0:
		if !g.chance(g.mortal) {
			return
		}
		g.note("death %v", id)
		g.born[place] = 0
		for _, w := range g.worlds {
			w.store.Despawn(id)
		}
	case 1, 2:
		row := g.pick(seqHealth, seqFrozen, seqLink)
		if g.worlds[0].store.Mask(id).Has(row) && g.rowAlike(id, row) {
			g.note("%v loses %d", id, row)
			for _, w := range g.worlds {
				w.store.Remove(id, row)
			}
			return
		}
		g.openSet(id, row)
	case 3, 4:
		g.openSet(id, seqLink)
	case 5, 6:
		g.openGroup(id, uint32(g.below(sequenceGroups+1)))
	case 7:
		weight := uint16(g.below(4) * 256)
		for _, w := range g.worlds {
			w.store.SetPriority(id, weight)
		}
	case 8: // a component with a rate
		if before := g.rested[place]; g.worlds[0].store.Turn(id, 4, before, g.now) {
			g.openSet(id, seqHealth)
		}
		g.rested[place] = g.now
	default:
		g.openSet(id, g.pick(seqHealth, seqPosition))
	}
}

func (g *leakGame) openGroup(id wire.NetworkID, group uint32) {
	g.note("%v joins %d", id, group)
	g.joins[g.placeOf(id)] = leakJoin{id, group}
}

// leakJoin is an entity and the group that it joins at the end of a tick's play.
type leakJoin struct {
	id    wire.NetworkID
	group uint32
}

// join does so, in each world in another order: what has hidden components may come later in one of them.
func (g *leakGame) join() {
	for place := range g.joins {
		other := leakPlaces - 1 - place
		g.worlds[0].store.SetGroup(g.joins[place].id, g.joins[place].group)
		g.worlds[1].store.SetGroup(g.joins[other].id, g.joins[other].group)
	}
	g.joins = [leakPlaces]leakJoin{}
}

// openSet gives a row of an entity a value in both worlds, which is the same as far as the client reads it.
func (g *leakGame) openSet(id wire.NetworkID, row int) {
	if row != seqLink {
		lanes := g.lanes(row)
		g.note("%v has %d: %v", id, row, lanes)
		for _, w := range g.worlds {
			w.store.Set(id, row, lanes)
		}
		return
	}
	if to, seen := g.seen(g.below(leakPlaces)); seen {
		g.note("%v names %v", id, to)
		for _, w := range g.worlds {
			w.store.Set(id, row, []uint32{to.Index, to.Generation})
		}
		return
	}
	for i, w := range g.worlds {
		to := g.blindTarget(w)
		g.note("%v names %v in %d", id, to, i)
		w.store.Set(id, row, []uint32{to.Index, to.Generation})
	}
}

func (g *leakGame) lanes(row int) []uint32 {
	switch row {
	case seqHealth:
		return []uint32{uint32(g.below(4) * 977)}
	case seqPosition:
		return []uint32{uint32(g.below(4) * 977), uint32(g.below(2) * 500)}
	}
	return nil
}

// blindTarget is somebody of one world whom the client does not see: nobody, one who is hidden, or one who is dead and was
// not seen in the tick before.
func (g *leakGame) blindTarget(w *leakWorld) wire.NetworkID {
	index := g.index(g.below(leakPlaces))
	id := wire.NetworkID{Index: index, Generation: w.generation(index)}
	if back := uint32(g.below(3)); id.Generation > back && back < 2 {
		id.Generation -= back
	}
	if id.Generation == 0 || g.born[g.placeOf(id)] == id.Generation || g.sees(id) {
		return wire.NetworkID{}
	}
	return id
}

// sees reports whether the client sees an id, or did in the tick before.
func (g *leakGame) sees(id wire.NetworkID) bool {
	return g.worlds[0].view.Visible(id) || g.worlds[1].view.Visible(id)
}

// author lets the client write what is its own and what it sees of it.
func (g *leakGame) author() {
	for place, rows := range g.authors {
		id, seen := g.seen(place)
		if !seen || rows.IsZero() || !g.chance(40) {
			continue
		}
		for m := rows.Intersect(g.worlds[0].view.Rows(id)).Intersect(g.worlds[0].store.Mask(id)); !m.IsZero(); m = m.Rest() {
			g.openSet(id, m.Lowest())
		}
		g.wrote = append(g.wrote, id)
	}
}

package snapshot

import (
	"slices"

	"github.com/arche-netcode/netcode/wire"
)

// secret does something in one world that the client may not see there.
func (g *leakGame) secret(world, place int) {
	w, index := g.worlds[world], g.index(place)
	id := w.at(index)
	switch {
	case id.IsZero():
		if g.free(w, place) {
			id = wire.NetworkID{Index: index, Generation: w.generation(index) + 1}
			g.note("  secret birth %v in %d", id, world)
			if g.met.births++; w.view.page(index).despawnOwed&bitOf(index) != 0 || w.view.page(index).visible&bitOf(index) != 0 {
				g.met.heirs++
			}
			g.secretBirth(w, id)
		}
	case g.born[place] == id.Generation:
	case !w.view.Visible(id):
		g.secretChange(world, id)
	default:
		g.secretRow(world, id)
	}
}

func (g *leakGame) secretBirth(w *leakWorld, id wire.NetworkID) {
	g.spawn(w, id)
	if !w.view.hideNew {
		w.unborn = append(w.unborn, id)
	}
	w.store.Set(id, seqPosition, g.lanes(seqPosition))
	if g.chance(40) {
		w.store.SetGroup(id, 1+uint32(g.below(sequenceGroups)))
	}
}

// secretChange does to a hidden entity what there is to do.
func (g *leakGame) secretChange(world int, id wire.NetworkID) {
	w := g.worlds[world]
	s := w.store
	if g.met.rows++; w.view.Keeps(id) {
		g.met.kept++
	}
	switch g.below(9) {
	case 0:
		if !w.view.Keeps(id) {
			g.note("  secret death %v in %d", id, world)
			w.unborn = slices.DeleteFunc(w.unborn, func(u wire.NetworkID) bool { return u == id })
			s.Despawn(id)
			g.met.deaths++
		}
	case 1, 2:
		group := uint32(g.below(sequenceGroups + 1))
		if w.view.Keeps(id) { // it may die in it, and that will show
			g.openGroup(id, group)
			return
		}
		g.note("  secret %v joins %d in %d", id, group, world)
		s.SetGroup(id, group)
		g.met.groups++
	case 3:
		s.SetPriority(id, uint16(g.below(4)*256))
		s.SetOwner(id, wire.ClientID(g.below(3)))
		s.SetNamed(id, wire.ClientID(g.below(3)))
	case 4:
		s.Remove(id, g.pick(seqFrozen, seqHealth, seqLink))
	case 5, 6: // also one that is seen
		to := w.at(g.index(g.below(leakPlaces)))
		g.note("  secret %v names %v in %d", id, to, world)
		s.Set(id, seqLink, []uint32{to.Index, to.Generation})
	default:
		row := g.pick(seqFrozen, seqHealth, seqPosition)
		s.Set(id, row, g.lanes(row))
		g.note("  secret %v has %d in %d", id, row, world)
	}
}

// secretRow does to an entity that the client sees what it may not see of it.
func (g *leakGame) secretRow(world int, id wire.NetworkID) {
	w := g.worlds[world]
	row := g.below(seqRows)
	if !w.view.Rows(id).Has(row) {
		g.met.hiddenRows++
		if w.store.Mask(id).Has(row) && g.chance(40) {
			g.note("  secret %v loses hidden %d in %d", id, row, world)
			w.store.Remove(id, row)
			return
		}
		lanes := g.lanes(row)
		if row == seqLink {
			to := w.at(g.index(g.below(leakPlaces)))
			lanes = []uint32{to.Index, to.Generation}
		}
		g.note("  secret %v has hidden %d in %d: %v", id, row, world, lanes)
		w.store.Set(id, row, lanes)
		return
	}
	link := w.store.Row(id, seqLink)
	if link == nil {
		return
	}
	if now := refAt(link, 0); g.sees(now) || g.bornNow(now) {
		return
	}
	to := g.blindTarget(w)
	g.note("  secret %v names %v in %d", id, to, world)
	w.store.Set(id, seqLink, []uint32{to.Index, to.Generation})
	g.met.aims++
}

// bornNow reports whether an id is born in this tick in both worlds.
func (g *leakGame) bornNow(id wire.NetworkID) bool {
	place := g.placeOf(id)
	return id.Generation != 0 && place < leakPlaces && g.index(place) == id.Index && g.born[place] == id.Generation
}

// converge makes hidden entities of a place the same in both worlds, so that they may be shown.
func (g *leakGame) converge(place int) {
	a, b := g.worlds[0], g.worlds[1]
	index := g.index(place)
	id := a.at(index)
	if id != b.at(index) {
		for _, w := range g.worlds {
			w.unborn = slices.DeleteFunc(w.unborn, func(u wire.NetworkID) bool { return u.Index == index })
			w.store.Despawn(w.at(index))
		}
		if g.note("  both are gone at %d", index); !g.free(a, place) || !g.free(b, place) {
			return
		}
		id = g.next(place)
		g.note("  secret birth of %v", id)
		for _, w := range g.worlds {
			g.secretBirth(w, id)
		}
	}
	if id.IsZero() {
		return
	}
	g.note("  %v is the same", id)
	g.met.converged++
	for row := range seqRows {
		if lanes := a.store.Row(id, row); a.store.Mask(id).Has(row) {
			b.store.Set(id, row, lanes)
		} else {
			b.store.Remove(id, row)
		}
	}
	b.store.SetGroup(id, a.store.Group(id))
	weight := uint16(g.below(4) * 256)
	a.store.SetPriority(id, weight)
	b.store.SetPriority(id, weight)
}

package snapshot

import (
	"fmt"
	"slices"

	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/wire"
)

// watch changes what the client may see, in both worlds alike.
func (g *leakGame) watch() {
	if g.chance(4) {
		hide := g.chance(50)
		g.note("sees what is new: %v", !hide)
		g.both(func(v *View) { v.ShowNew(!hide) })
		if hide {
			g.met.hideNew++
		}
	}
	for g.chance(35) {
		place := g.below(leakPlaces)
		switch id, seen := g.seen(place); {
		case seen:
			g.look(id)
		case g.showable(place):
			g.note("show %v", id)
			g.both(func(v *View) { v.Show(id) })
			g.met.shown++
		case g.worlds[0].view.Keeps(id) && g.chance(30):
			g.note("hide kept %v", id)
			g.both(func(v *View) { v.Hide(id) })
		case g.chance(50):
			g.idle(g.worlds[g.below(2)], g.index(place))
		}
	}
}

// look changes what the client sees of an entity that it sees.
func (g *leakGame) look(id wire.NetworkID) {
	v := g.worlds[0].view
	switch g.below(8) {
	case 0, 1, 2:
		g.note("hide %v", id)
		g.both(func(v *View) { v.Hide(id) })
	case 3:
		g.note("keep %v", id)
		g.both(func(v *View) { v.Keep(id) })
	case 4, 5, 6:
		rows := format.FromWords(uint64(g.below(1 << seqRows))).Union(noComponent)
		if g.chance(30) {
			rows = AllRows()
		}
		for m := rows.Minus(v.Rows(id)).Intersect(format.FromWords(1<<seqRows - 1)); !m.IsZero(); m = m.Rest() {
			if row := m.Lowest(); !g.rowAlike(id, row) {
				rows = rows.Without(row)
			}
		}
		g.note("%v shows %b", id, rows)
		g.both(func(v *View) { v.See(id, rows) })
	case 7:
		weight := uint16(g.below(3) * 256)
		again := g.chance(30)
		g.both(func(v *View) {
			if v.SetWeight(id, weight); again {
				v.Again(id)
			}
		})
	}
}

// idle says of an entity that the client does not see what changes nothing, in one world.
func (g *leakGame) idle(w *leakWorld, index uint32) {
	id := wire.NetworkID{Index: index, Generation: w.generation(index)}
	if w.view.Visible(id) || w.view.Keeps(id) {
		return
	}
	switch g.below(5) {
	case 0:
		w.view.Hide(id)
	case 1:
		w.view.See(id, Mask{})
	case 2:
		w.view.SetWeight(id, uint16(g.below(3)*256))
	case 3:
		w.view.Keep(id)
	case 4:
		w.view.Again(id)
	}
}

// rowAlike reports whether the client reads the same of a row in both worlds if it may see it.
func (g *leakGame) rowAlike(id wire.NetworkID, row int) bool {
	a, b := g.worlds[0].store, g.worlds[1].store
	if a.Mask(id).Has(row) != b.Mask(id).Has(row) {
		return false
	}
	if row == seqLink && a.Mask(id).Has(row) {
		return g.reads(0, id) == g.reads(1, id)
	}
	return slices.Equal(a.Row(id, row), b.Row(id, row))
}

// reads returns the entity that a link names to the client.
func (g *leakGame) reads(world int, id wire.NetworkID) wire.NetworkID {
	if to := refAt(g.worlds[world].store.Row(id, seqLink), 0); g.sees(to) {
		return to
	}
	return wire.NetworkID{}
}

// showable reports whether the client may be shown who is hidden at a place: all that it comes to see by that is the same.
func (g *leakGame) showable(place int) bool {
	a, b := g.worlds[0], g.worlds[1]
	id := a.at(g.index(place))
	if id.IsZero() || b.at(id.Index) != id || a.store.Group(id) != b.store.Group(id) || a.store.Priority(id) != b.store.Priority(id) {
		return false
	}
	for row := range seqRows {
		if !g.rowAlike(id, row) {
			return false
		}
	}
	for other := range leakPlaces { // who names it
		by := a.at(g.index(other))
		if by.IsZero() || by != b.at(by.Index) || by != id && !a.view.Rows(by).Has(seqLink) {
			continue
		}
		if m := a.store.Mask(by).Intersect(b.store.Mask(by)); m.Has(seqLink) &&
			(refAt(a.store.Row(by, seqLink), 0) == id) != (refAt(b.store.Row(by, seqLink), 0) == id) {
			return false
		}
	}
	return true
}

// theSame holds the two worlds against each other as the client may see them: what differs here is the script's fault.
func (g *leakGame) theSame() error {
	a, b := g.worlds[0], g.worlds[1]
	for place := range leakPlaces {
		index := g.index(place)
		id, other := a.at(index), b.at(index)
		if a.view.Visible(id) != b.view.Visible(other) || a.view.Visible(id) && id != other {
			return fmt.Errorf("%v is visible %v, %v is visible %v", id, a.view.Visible(id), other, b.view.Visible(other))
		}
		if !a.view.Visible(id) {
			continue
		}
		if a.view.Rows(id) != b.view.Rows(id) || a.store.Group(id) != b.store.Group(id) || a.store.Priority(id) != b.store.Priority(id) {
			return fmt.Errorf("%v differs", id)
		}
		for row := range seqRows {
			if a.view.Rows(id).Has(row) && !g.rowAlike(id, row) {
				return fmt.Errorf("row %d of %v is %v, and %v", row, id, a.store.Row(id, row), b.store.Row(id, row))
			}
		}
	}
	return nil
}

package snapshot

import (
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// ownWrites stores changes that the client made itself, or that are hidden from it. They count as no changes for this client.
type ownWrites struct {
	newest []tick.Tick // by index: tick of the newest change, if all of it was the client's own or hidden from it
	before []tick.Tick // by index: tick of the newest change before that which was neither
	latest []tick.Tick // by index: newest tick in which all changes were the client's own, also in rows that name entities
}

// ObserveBut does what Observe does, for a client that made all changes of the entities in own in the newest commit itself. These
// changes are not sent to it. It does nothing after Observe, and between Begin and Commit. It changes the order in own. Package authority uses it.
func (v *View) ObserveBut(own []wire.NetworkID) {
	if v.observed == v.store.tick || v.store.open {
		return
	}
	v.grow()
	kept := v.ownWrites.kept(v, own)
	v.observe()
	for _, id := range kept {
		if v.touchedAt(id.Index) < v.store.tick {
			v.page(id.Index).unsent &^= bitOf(id.Index)
		}
	}
	v.applyDeferred()
}

// kept notes the changes of the entities in own as the client's own. It returns those for which nothing waited to be sent.
func (a *ownWrites) kept(v *View, own []wire.NetworkID) []wire.NetworkID {
	n := 0
	for _, id := range own {
		if !v.Visible(id) || v.maskChanged(id.Index) {
			continue
		}
		a.latest = grown(a.latest, int(id.Index)+1, v.indexes)
		a.latest[id.Index] = v.store.tick
		if v.store.changed.has(id.Index) {
			a.skipOwn(v, id.Index)
		}
		if v.page(id.Index).unsent&bitOf(id.Index) == 0 {
			own[n] = id
			n++
		}
	}
	return own[:n]
}

// skipOwn notes that the changes of an index in the newest commit are no changes for the client.
func (a *ownWrites) skipOwn(v *View, index uint32) {
	a.newest = grown(a.newest, int(index)+1, v.indexes)
	a.before = grown(a.before, int(index)+1, v.indexes)
	if a.newest[index] == v.store.tick {
		return
	}
	if was := v.store.changedBefore(index); was != a.newest[index] {
		a.before[index] = was
	}
	a.newest[index] = v.store.tick
}

// wrote reports whether all changes of an index at tick t were the client's own.
func (a *ownWrites) wrote(index uint32, t tick.Tick) bool {
	return int(index) < len(a.latest) && a.latest[index] == t
}

// changedAt returns the tick of the newest change of an index that is neither the client's own nor hidden from it. moved is the tick of
// the newest change of any kind.
func (a *ownWrites) changedAt(index uint32, moved tick.Tick) tick.Tick {
	if int(index) < len(a.newest) && a.newest[index] == moved {
		return a.before[index]
	}
	return moved
}

// Again makes the newest state of an entity be sent to the client, with the rows that the client wrote itself. It is for an entity
// that the client no longer writes, or that it is to write from the server's values on. It returns the tick from which a record has
// that state; tick.None if there is none. Package authority uses it.
func (v *View) Again(id wire.NetworkID) tick.Tick {
	if v.store.open {
		v.decide(sightCall{do: func(v *View, c sightCall) { v.Again(c.id) }, id: id})
		return v.store.tick
	}
	v.Observe()
	if !v.Visible(id) {
		return tick.None
	}
	from := v.next()
	v.touch(id.Index, from)
	return from
}

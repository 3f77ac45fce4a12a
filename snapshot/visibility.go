package snapshot

import (
	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// Interest decides what each client may see. A server asks it once a network tick, between the capture and the packets. So no
// client is sent a byte about anything that it may not see.
type Interest interface {
	// Prepare is called once a network tick, when the world has been captured.
	Prepare(s *Store)
	// Update is called then for each client. It says what changed for this one by Show, Hide, Keep, SetRows and
	// SetWeight of its view. Entities that are new since the last call are visible unless ShowNew(false) was called.
	Update(client wire.ClientID, v *View)
	// Leave is called when a client is gone.
	Leave(client wire.ClientID)
}

// Show lets the client see an entity. Its first record is full, whatever the client had before. Between Begin and Commit the
// call takes effect with the commit, like all calls about sight.
func (v *View) Show(id wire.NetworkID) {
	if v.deferCall(deferredCall{what: orderShow, id: id}) {
		return
	}
	if v.store.Alive(id) && !v.Visible(id) {
		v.show(id, v.next())
	}
}

// Hide takes an entity out of the client's sight. From then on nothing is sent about it but its despawn, and that only if a
// record of it was sent.
//
// An entity that is hidden before the first packet of its first tick was never shown: not even its existence leaks. Until the
// commit Visible tells the state before.
func (v *View) Hide(id wire.NetworkID) {
	if v.deferCall(deferredCall{what: orderHide, id: id}) {
		return
	}
	switch {
	case v.Visible(id):
		v.noteHidden(id.Index, true)
		v.end(id.Index, v.next())
	case v.Keeps(id):
		v.owe(id.Index, v.next())
	}
}

// hiddenAt is the ticks as of which an entity, and a component of it, was hidden last.
type hiddenAt struct{ all, rows tick.Tick }

// noteHidden notes that an entity, or a component of it, is hidden from now on, if a payload of its lifetime was written.
func (v *View) noteHidden(index uint32, all bool) {
	if v.lifetimes[index].life > v.wrote {
		return
	}
	v.lastHidden = v.next()
	v.hidden = grown(v.hidden, int(index)+1, len(v.acks))
	if all {
		v.hidden[index].all = v.lastHidden
	} else {
		v.hidden[index].rows = v.lastHidden
	}
}

// Keep takes an entity out of the client's sight as Hide does, but the client keeps its last state. Nothing more is sent
// until Show. The entity despawns there when it dies or Hide is called.
func (v *View) Keep(id wire.NetworkID) {
	if v.deferCall(deferredCall{what: orderKeep, id: id}) {
		return
	}
	if !v.Visible(id) {
		return
	}
	v.noteHidden(id.Index, true)
	if v.ack(id.Index).base == tick.None {
		v.end(id.Index, v.next()) // nothing of this life is known to be there, and of an earlier one nothing may stay
		return
	}
	v.leave(id.Index, v.next())
	v.unsent.unset(id.Index)
	v.untie(id.Index)
	v.retained.set(id.Index)
}

// ShowNew sets whether the client sees new entities until they are hidden, as at first, or only when they are shown. Between
// Begin and Commit new entities of that tick are seen only if that was so before and is to be so.
func (v *View) ShowNew(show bool) {
	if v.deferCall(deferredCall{what: orderShowNew, show: show}) { // which otherwise took in what is new by now
		v.hideNew = v.hideNew || !show
		return
	}
	v.hideNew = !show
}

// ShowAll resets the client's sight: it sees every entity, also later ones, with all components and normal weight.
func (v *View) ShowAll() {
	if v.deferCall(deferredCall{what: orderShowAll}) {
		return
	}
	v.ShowNew(true)
	clear(v.overrides.weight)
	for id := range v.store.All {
		v.Show(id)
		v.SetRows(id, AllRows())
	}
}

// Visible reports whether the client may see id, which is false for dead ids.
func (v *View) Visible(id wire.NetworkID) bool {
	return v.visible.has(id.Index) && v.lifetimes[id.Index].generation == id.Generation
}

// Keeps reports whether id is out of the client's sight and the client keeps its last state.
func (v *View) Keeps(id wire.NetworkID) bool {
	return v.retained.has(id.Index) && v.lifetimes[id.Index].generation == id.Generation
}

// next returns the earliest tick whose snapshot can reflect a change of visibility made now: the tick after this one if a
// packet of this one was written.
func (v *View) next() tick.Tick {
	if v.wrote >= v.store.tick {
		return v.store.tick + 1
	}
	return v.store.tick
}

// show begins a lifetime at tick t (rule 7). It drops a despawn that is owed: the full record that follows replaces every
// lower generation.
func (v *View) show(id wire.NetworkID, t tick.Tick) {
	v.enter(id, t)
	v.renamed(id.Index, t)
}

// enter begins a lifetime as show does: it forgets the baseline (rule 7). It leaves the rows of other entities that name this one.
func (v *View) enter(id wire.NetworkID, t tick.Tick) {
	v.forget(id.Index)
	p := &v.lifetimes[id.Index]
	if p.generation != id.Generation {
		p.began, p.left = tick.None, tick.None
	}
	p.generation = id.Generation
	p.life = t
	g := &v.pages[id.Index/format.PageEntities]
	g.since = max(g.since, t)
	v.overrides.reset(id.Index, v.store.shape[id.Index])
	v.despawnOwed.unset(id.Index)
	v.retained.unset(id.Index)
	v.visible.set(id.Index)
	v.wait(id.Index)
	if v.shares {
		v.meet(id.Index)
	}
}

// died ends the lifetime of an entity that despawned in the store.
func (v *View) died(id wire.NetworkID) {
	switch {
	case v.Visible(id):
		v.end(id.Index, v.store.tick)
	case v.Keeps(id):
		v.owe(id.Index, v.store.tick)
	}
}

// end ends the lifetime at an index at tick t (rule 7). A despawn is owed if any record was sent, acknowledged or not.
func (v *View) end(index uint32, t tick.Tick) {
	if v.cancelSpawn(index) {
		return
	}
	unseen := v.unseen(index, t)
	v.leave(index, t)
	if v.lifetimes[index].shown == 0 {
		v.unsent.unset(index)
		v.untie(index)
		return
	}
	if unseen {
		v.due(index, t)
		return
	}
	v.owe(index, t)
}

// unseen reports whether an entity that leaves sight at tick t came into it too late to be sent, and was out of sight before.
// The client has not seen it in its present group.
func (v *View) unseen(index uint32, t tick.Tick) bool {
	p := &v.lifetimes[index]
	return p.life >= t && p.left < t && p.left <= p.ended
}

// leave takes an index out of sight.
func (v *View) leave(index uint32, t tick.Tick) {
	v.visible.unset(index)
	v.unacked.unset(index)
	v.oversize.unset(index)
	v.forget(index)
	p := &v.lifetimes[index]
	if p.life < t { // else it was shown in no tick
		p.began, p.left = p.life, t
	}
	p.life = t + 1
	v.renamed(index, t)
}

// forget drops the ack state of an index.
func (v *View) forget(index uint32) {
	v.alone(index).dropBase()
}

// owe makes a despawn due, together with what the client lacks of the group.
func (v *View) owe(index uint32, t tick.Tick) {
	v.due(index, t)
	v.bind(index, t)
}

// due makes a despawn due by itself.
func (v *View) due(index uint32, t tick.Tick) {
	v.retained.unset(index)
	v.lifetimes[index].ended = t
	v.despawnOwed.set(index)
	v.anyDespawnOwed = true
	v.wait(index)
}

// renamed marks rows that name an entity whose visibility changed. From tick t on they name it to this client, or nobody.
func (v *View) renamed(target uint32, t tick.Tick) {
	v.sights++
	v.rename(target, t)
}

func (v *View) rename(target uint32, t tick.Tick) {
	for _, index := range v.store.refs.to(target) {
		if v.visible.has(index) && v.names(index, target) {
			v.touch(index, t)
		}
	}
}

// pendingSpawns contains entities that became visible in the newest commit. The game may still hide them before the next
// packet, and hiding must leave no trace: references to them stay nil, and a despawn already due at the same index stays due.
// flushSpawns applies the side effects of a spawn; Plan, Write and Acked call it first.
type pendingSpawns struct {
	list         []uint32  // indexes of them
	of           bitset    // of these, who may still be hidden like that
	replacesOwed bitset    // of these, those before whom somebody's despawn was owed
	replacesSent bitset    // of these, those whose despawn was on its way
	at           tick.Tick // when they were born
}

// addSpawn shows a new entity of the newest commit.
func (v *View) addSpawn(index uint32) {
	n := &v.spawns
	n.of, n.replacesOwed, n.replacesSent = n.of.grownTo(len(v.acks)), n.replacesOwed.grownTo(len(v.acks)), n.replacesSent.grownTo(len(v.acks))
	n.list, n.at = append(n.list, index), v.store.tick
	n.of.set(index)
	if v.despawnOwed.has(index) {
		if n.replacesOwed.set(index); !v.unsent.has(index) {
			n.replacesSent.set(index)
		}
	}
	v.sights++
}

// flushSpawns applies the side effects of the newest spawns: rows that name them are sent.
func (v *View) flushSpawns() {
	if len(v.spawns.list) > 0 {
		v.flushAllSpawns()
	}
}

// flushAllSpawns does so where there are any.
func (v *View) flushAllSpawns() {
	n := &v.spawns
	for _, index := range n.list {
		if n.of.has(index) {
			n.of.unset(index)
			v.rename(index, n.at)
		}
		n.replacesOwed.unset(index)
		n.replacesSent.unset(index)
	}
	n.list = n.list[:0]
}

// cancelSpawn hides an entity of the newest commit without a trace. It says false where side effects were applied.
func (v *View) cancelSpawn(index uint32) bool {
	n := &v.spawns
	if !n.of.has(index) {
		return false
	}
	n.of.unset(index)
	v.visible.unset(index)
	p := &v.lifetimes[index]
	p.began, p.left = p.life, n.at
	p.life = n.at + 1
	v.sights++
	if n.replacesOwed.has(index) {
		v.despawnOwed.set(index)
		v.anyDespawnOwed = true
	}
	if !n.replacesOwed.has(index) || n.replacesSent.has(index) {
		v.unsent.unset(index)
	}
	return true
}

// deferredCall is a call about sight between Begin and Commit. It takes effect when the view observes the commit, in the
// order of the calls.
type deferredCall struct {
	what   callKind
	id     wire.NetworkID
	rows   Mask
	weight uint16
	show   bool
}

type callKind uint8

const (
	orderShow callKind = iota
	orderHide
	orderKeep
	orderRows
	orderWeight
	orderAgain
	orderBands
	orderShowNew
	orderShowAll
)

// deferCall stores a call until the commit if a tick is open. Else it observes the newest commit and says false.
func (v *View) deferCall(o deferredCall) bool {
	if v.store.open {
		v.deferred = append(v.deferred, o)
		return true
	}
	v.Observe()
	return false
}

// applyDeferred makes the deferred calls.
func (v *View) applyDeferred() {
	for i := range v.deferred {
		switch o := &v.deferred[i]; o.what {
		case orderShow:
			v.Show(o.id)
		case orderHide:
			v.Hide(o.id)
		case orderKeep:
			v.Keep(o.id)
		case orderRows:
			v.SetRows(o.id, o.rows)
		case orderBands:
			v.SetBands(o.id, o.rows)
		case orderWeight:
			v.SetWeight(o.id, o.weight)
		case orderAgain:
			v.Again(o.id)
		case orderShowNew:
			v.ShowNew(o.show)
		case orderShowAll:
			v.ShowAll()
		}
	}
	v.deferred = v.deferred[:0]
}

package snapshot

import (
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// Interest is the rule for who may see what. A server asks it once a network tick, between the capture of the world and
// the packets of that tick, so that nobody is sent a byte about what it may not see.
type Interest interface {
	// Prepare is called once a network tick, when the world has been captured.
	Prepare(s *Store)
	// Update is called then for each client. It says what changed for this one by Show, Hide, Keep, SetRows and
	// SetWeight of its view. Entities that are new since the last call are visible unless ShowNew(false) was called.
	Update(client wire.ClientID, v *View)
	// Leave is called when a client is gone.
	Leave(client wire.ClientID)
}

// Show lets the client see an entity. A life that begins is sent whole,
// whatever the client held before. As all that says what the client may see, it
// takes effect with the commit when it is called between Begin and Commit.
func (v *View) Show(id wire.NetworkID) {
	if v.deferCall(deferredCall{what: orderShow, id: id}) {
		return
	}
	if v.store.Alive(id) && !v.Visible(id) {
		v.show(id, v.next())
	}
}

// Hide takes an entity out of the client's sight. From then on no byte about
// it is produced but its despawn, and that only if a record of it was sent.
//
// An entity that is hidden between its first capture and the packets of that
// tick, or before its first capture is committed, was never shown: not even its
// existence leaks. Until that commit Visible says what was so before.
func (v *View) Hide(id wire.NetworkID) {
	if v.deferCall(deferredCall{what: orderHide, id: id}) {
		return
	}
	switch {
	case v.Visible(id):
		v.end(id.Index, v.next())
	case v.Keeps(id):
		v.owe(id.Index, v.next())
	}
}

// Keep takes an entity out of the client's sight as Hide does, but leaves the
// client what it has of it. Nothing more is sent until Show, except that the
// entity despawns there when it dies or Hide is called.
func (v *View) Keep(id wire.NetworkID) {
	if v.deferCall(deferredCall{what: orderKeep, id: id}) {
		return
	}
	if !v.Visible(id) {
		return
	}
	if v.ack(id.Index).base == tick.None {
		v.end(id.Index, v.next()) // nothing of this life is known to be there, and of an earlier one nothing may stay
		return
	}
	v.leave(id.Index, v.next())
	v.unsent.unset(id.Index)
	v.untie(id.Index)
	v.retained.set(id.Index)
}

// ShowNew says whether the client sees new entities until they are hidden,
// which is so at first, or does not see them until they are shown. Called
// between Begin and Commit, what is new in that tick is not seen if that was so
// before or is to be so from now on.
func (v *View) ShowNew(show bool) {
	if v.deferCall(deferredCall{what: orderShowNew, show: show}) { // which otherwise took in what is new by now
		v.hideNew = v.hideNew || !show
		return
	}
	v.hideNew = !show
}

// ShowAll makes everything as it is at first: the client sees every entity, and those
// to come, with all components and at normal weight.
func (v *View) ShowAll() {
	if v.deferCall(deferredCall{what: orderShowAll}) {
		return
	}
	v.ShowNew(true)
	clear(v.overrides.weight)
	for id := range v.store.All {
		v.Show(id)
		v.SetRows(id, ^Mask(0))
	}
}

// Visible reports whether the client may see id, which is false for dead ids.
func (v *View) Visible(id wire.NetworkID) bool {
	return v.visible.has(id.Index) && v.lifetimes[id.Index].generation == id.Generation
}

// Keeps reports whether id is out of the client's sight and its last state was
// left there, by [View.Keep].
func (v *View) Keeps(id wire.NetworkID) bool {
	return v.retained.has(id.Index) && v.lifetimes[id.Index].generation == id.Generation
}

// next is the earliest tick whose snapshot can still reflect a change of
// visibility made now: once a tick's snapshots are out, the one after it.
func (v *View) next() tick.Tick {
	if v.wrote >= v.store.tick {
		return v.store.tick + 1
	}
	return v.store.tick
}

// show begins a life at tick t (rule 7). An owed despawn is dropped: the
// record that will be sent says everything, of this generation or a higher one.
func (v *View) show(id wire.NetworkID, t tick.Tick) {
	v.enter(id, t)
	v.renamed(id.Index, t)
}

// enter is show without what follows for those that name it.
func (v *View) enter(id wire.NetworkID, t tick.Tick) {
	v.forget(id.Index)
	p := &v.lifetimes[id.Index]
	if p.generation != id.Generation {
		p.began, p.left = tick.None, tick.None
	}
	p.generation = id.Generation
	p.life = t
	g := &v.pages[id.Index/pageEntities]
	g.since = max(g.since, t)
	v.overrides.reset(id.Index)
	v.despawnOwed.unset(id.Index)
	v.retained.unset(id.Index)
	v.visible.set(id.Index)
	v.wait(id.Index)
	if v.shares {
		v.meet(id.Index)
	}
}

// died ends what there was of an entity of the store that is gone.
func (v *View) died(id wire.NetworkID) {
	switch {
	case v.Visible(id):
		v.end(id.Index, v.store.tick)
	case v.Keeps(id):
		v.owe(id.Index, v.store.tick)
	}
}

// end ends the life of whoever is at index at tick t (rule 7). The despawn is
// owed if any record went out, acknowledged or not.
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

// unseen reports whether who is in sight until tick t came into it too late to be
// shown, having been gone before: the client has not seen it in the group that it
// is in. Who was left with the client is not gone.
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

// forget takes away what the client has acknowledged of an index.
func (v *View) forget(index uint32) {
	v.alone(index).forget()
}

// owe makes a despawn due, with what the client lacks of the group.
func (v *View) owe(index uint32, t tick.Tick) {
	v.due(index, t)
	v.bind(index, t)
}

// due is owe of a despawn by itself.
func (v *View) due(index uint32, t tick.Tick) {
	v.retained.unset(index)
	v.lifetimes[index].ended = t
	v.despawnOwed.set(index)
	v.anyDespawnOwed = true
	v.wait(index)
}

// renamed marks the rows that name an entity whose visibility changed: to this
// client they name it, or nobody, from tick t on.
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

// pendingSpawns is what the newest commit made visible. Game code may hide it before anything is sent, and then it has to be as if it had
// never been there: rows that name it said nothing else for a moment, and what had been owed at its index is owed as before. So what
// follows from a birth is taken in once it is certain: before packets are planned or written, and before anything is heard of earlier ones.
type pendingSpawns struct {
	list         []uint32  // indexes of them
	of           bitset    // of these, who may still be hidden like that
	replacesOwed bitset    // of these, those before whom somebody's despawn was owed
	replacesSent bitset    // of these, those whose despawn was on its way
	at           tick.Tick // when they were born
}

// addSpawn is show for what is new in the newest commit.
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

// flushSpawns takes in what follows from the births of the newest commit: who was not hidden meanwhile is named by those that name it.
func (v *View) flushSpawns() {
	if len(v.spawns.list) > 0 {
		v.flushAllSpawns()
	}
}

// flushAllSpawns is born where there are any.
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

// cancelSpawn takes out of sight what was born in the newest commit, if nothing has followed from that.
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

// Between Begin and Commit nobody knows yet what a tick will be. What is asked of a view then waits for the commit: it
// takes effect when the view observes that, in the order of the calls, as if they had been made behind it.

// deferredCall is one such call.
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
	orderShowNew
	orderShowAll
)

// deferCall keeps an order until the commit, if a tick is open, and else observes the newest one, as every order
// does before it is obeyed.
func (v *View) deferCall(o deferredCall) bool {
	if v.store.open {
		v.deferred = append(v.deferred, o)
		return true
	}
	v.Observe()
	return false
}

// applyDeferred carries out what waited for the commit that was observed.
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

package snapshot

import (
	"math/bits"

	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// ackLifetime is the present lifetime of an index at one client. A baseline in its ack state is of this lifetime.
type ackLifetime struct {
	firstTick tick.Tick // first tick of the lifetime; acknowledgements of older records make no baseline
	endedAt   tick.Tick // the newest end of a lifetime; an older despawn settles nothing
	// lastFirst and lastEnd are the newest lifetime that has ended: its first tick, and the first tick after it.
	lastFirst, lastEnd tick.Tick
	// generation is that of the entity; 0: there was none yet.
	generation uint32
	// shownGeneration is the newest generation that a record was sent of and whose despawn is not settled; 0: the client has no record.
	shownGeneration uint32
}

// View is the server's knowledge of one client: what the client may see, what it has, and what is on its way. It has an ack state and
// some bits for each entity that the client sees. It belongs to the Store's goroutine.
type View struct {
	store    *Store
	number   uint64        // number among the views of the store, from 1
	payload  int           // most bytes of a snapshot in a packet with nothing else
	unknown  Mask          // Config.Unknown
	plain    bool          // Config.Plain
	recorder bool          // Config.Recorder
	client   wire.ClientID // Config.Client
	observed tick.Tick     // the newest commit that was observed
	start    tick.Tick     // the tick of the store when the view was made
	stats    ViewStats

	clientSight
	waiting
	ackStates
	resyncs
	progress
	scratch

	plan     sendPlan
	urged    []urgedEntity // those in pageSets.urged
	links    groupLinks
	starved  starvedGroup
	portions []visibleGroupSize // by groupMembers.number
}

// clientSight is the entities and components that the client may see.
type clientSight struct {
	hideNew    bool // ShowNew(false) was called
	spawns     pendingSpawns
	overrides  clientOverrides
	ownWrites  ownWrites
	shares     bool        // Share was called
	sights     uint64      // number of changes of visible
	lastHidden tick.Tick   // the newest tick in hidden
	deferred   []sightCall // calls that wait for the commit of an open capture, in their order
}

// waiting is the entities that have to be sent.
type waiting struct {
	anyDespawnOwed bool // false: despawnOwed is empty
	anyOversize    bool // false: oversize is empty
	flies          bool // false: unacked is empty
	waits          bool // false: unsent is empty
	waitWord       int  // the first word of unsent that may not be zero
}

// ackStates is the records that the client has, and those on their way.
type ackStates struct {
	seenPages
	recent recentRecords
	sent   sentRing
	met    []wire.NetworkID // see Met
}

// resyncs is the state of the client's requests to start again (Resync).
type resyncs struct {
	epoch    uint16 // the newest resync that was served
	epochSeq uint64 // acknowledgements of packets before this sequence make no baseline
	answer   bool   // a snapshot is due even if it is empty
	answered bool   // the client has decoded a snapshot since the newest resync
}

// progress tells where the next packet of a tick continues.
type progress struct {
	wrote     tick.Tick // the newest tick that a snapshot was written for
	spoke     tick.Tick // like wrote, and at first the tick of the store when the view was made
	cursor    uint32    // index at which writeUnlisted of the next packet begins
	part      int       // payloads written for this tick
	parts     int       // payloads of the last tick with any before this one
	nextPage  int       // page with which the lists of the next packet of this tick begin
	refTick   tick.Tick // the tick for which newestRef and listed were computed
	newestRef tick.Tick // the newest R of a page that waited; tick.None: none
	listed    int       // entities that waited with a record of the R of their page
	backlog   bool      // the last tick did not send everything that waited
}

// scratch is memory that is used again for each record.
type scratch struct {
	lanes   []uint32 // a row with entity fields, as this client reads it
	lacking []uint32 // members of a group or unit that are to be written
	records []record // their records, or those of a page
	single  record   // the record of one entity
}

// ViewStats counts what a View has done since it was made.
type ViewStats struct {
	Snapshots   uint64         // snapshot payloads written
	Spawns      uint64         // records without a baseline
	Updates     uint64         // records against a baseline
	Despawns    uint64         // despawn records
	Rows        uint64         // rows sent whole
	Deltas      uint64         // rows sent as a difference from the baseline
	Unchanged   uint64         // rows that equal the baseline, in one bit
	Resent      uint64         // records put back into unsent after a loss
	Repeated    uint64         // records put back into unsent by Repeat
	RingFull    uint64         // times nothing was written, since the ring was full of packets on their way
	Overwritten uint64         // pending packets forgotten, since the caller sent a whole ring of packets after them
	Oversize    uint64         // times that an entity did not fit even an empty packet
	OversizeID  wire.NetworkID // the last such entity
	TornGroups  uint64         // times that a group, or an atomic unit, did not fit even an empty packet and was sent apart
	Resyncs     uint64         // resyncs served
}

// heartbeat is the number of ticks after which a snapshot is sent even if nothing changed. So a client at rest can still expand the 16
// bits of a tick.
const heartbeat = 1 << 12

// NewView returns the View of a client that has nothing and may see every entity.
func NewView(store *Store, cfg Config) *View {
	cfg = cfg.WithDefaults()
	v := &View{store: store, observed: store.tick, start: store.tick, payload: cfg.Payload}
	v.sent, v.spoke = newSentRing(cfg.SentPackets, store.cfg.Window), store.tick
	v.unknown, v.client, v.plain, v.recorder = cfg.Lacks(store.schema), cfg.Client, cfg.Plain, cfg.Recorder
	store.numbered++
	v.number = store.numbered
	v.overrides.usual = store.schema.Coarse.Minus(cfg.Older).Union(v.unknown)
	v.grow()
	if store.open { // the commit of the open capture is still to be observed
		v.observed = store.tick - 1
	}
	for id := range store.All {
		if !store.open || store.bornAt[id.Index] != store.tick {
			v.show(id, store.tick)
		}
	}
	return v
}

// grow makes room for all indexes of the store.
func (v *View) grow() {
	n := len(v.store.gens)
	if n == v.indexes {
		return
	}
	v.growPages(n, cap(v.store.gens))
	if len(v.links.first) > 0 {
		v.links.reserve(n, cap(v.store.gens))
	}
}

// Observe applies the store's newest commit to the view, once. Call it after each [Store.Commit] and before the next Begin. Between
// Begin and Commit it does nothing. Calls about the client's sight take effect here. The cost is one operation for each word of 64
// entities, and nothing for a tick without changes.
func (v *View) Observe() {
	if v.observed == v.store.tick || v.store.open {
		return
	}
	if !v.recorder {
		v.store.observers.Add(1)
	}
	v.observe()
	v.applyDeferred()
}

// observe applies a commit that was not observed yet, without the deferred calls.
func (v *View) observe() {
	s := v.store
	v.flushSpawns()
	v.observed = s.tick
	v.backlog = v.updatesPending()
	if s.tick-v.spoke >= heartbeat {
		v.answer = true
	}
	v.anyDespawnOwed = v.anyDespawnOwed && v.any(func(g *ackPage) uint64 { return g.despawnOwed })
	v.anyOversize = v.anyOversize && v.any(func(g *ackPage) uint64 { return g.oversize })
	if len(v.vacant) > 0 && v.vacant[0].at <= s.tick {
		v.dropVacant()
	}
	if len(s.gens) != v.indexes {
		v.grow()
	}
	if len(s.refs.changed) > 0 {
		v.refreshRefs()
	}
	for _, index := range s.reshaped {
		v.leavePage(index)
	}
	for _, id := range s.deaths {
		v.died(id)
	}
	for _, id := range s.births {
		if !v.hideNew {
			v.addSpawn(id.Index)
			v.enter(id, s.tick)
		}
	}
	masked := v.overrides.veils
	if masked {
		v.reshape()
		v.markVisibleChanges()
	}
	if len(s.groups.left) > 0 {
		v.linkDepartures()
	}
	if masked || len(s.words) == 0 {
		return
	}
	v.waits = true
	if len(s.words) < v.count {
		for _, w := range s.words {
			v.pages[w].unsent |= s.changed[w] & v.pages[w].visible
		}
		return
	}
	for w := v.seenFrom(0); w < len(s.changed); w = v.seenFrom(w + 1) {
		v.pages[w].unsent |= s.changed[w] & v.pages[w].visible
	}
}

// wait notes that a record or despawn of an index has to be sent.
func (v *View) wait(index uint32) {
	v.page(index).unsent |= bitOf(index)
	v.waits = true
	v.links.changes++
}

// Repeat puts entities back into unsent that were sent before a tick and are neither acknowledged nor lost. It uses a budget that is
// left over (rule 8). Call it if nothing is Pending, before the packets of a tick.
func (v *View) Repeat(before tick.Tick) {
	v.flushSpawns()
	for w := v.seenFrom(0); v.flies && w < len(v.pages); w = v.seenFrom(w + 1) {
		for word := v.pages[w].unacked; word != 0; word &= word - 1 {
			index := uint32(w<<6 + bits.TrailingZeros64(word))
			if v.ack(index).went < before {
				v.wait(index)
				v.stats.Repeated++
			}
		}
	}
}

// Pending reports whether there is anything to send.
func (v *View) Pending() bool {
	if v.waits && (v.waitWord >= len(v.pages) || v.pages[v.waitWord].unsent == 0) {
		v.waitWord = v.seenFrom(0)
		for v.waitWord < len(v.pages) && v.pages[v.waitWord].unsent == 0 {
			v.waitWord = v.seenFrom(v.waitWord + 1)
		}
		v.waits = v.waitWord < len(v.pages)
	}
	return v.answer || v.waits
}

// Synced reports whether the client has acknowledged the newest state of everything.
func (v *View) Synced() bool {
	return !v.answer && !v.any(func(g *ackPage) uint64 { return g.unsent | g.unacked | g.despawnOwed | g.oversize })
}

// Known returns the number of entities with an acknowledged record of their present lifetime.
func (v *View) Known() int {
	n := 0
	for w := v.seenFrom(0); w < len(v.pages); w = v.seenFrom(w + 1) {
		for word := v.pages[w].visible; word != 0; word &= word - 1 {
			if v.ack(firstOf(uint32(w), word)).base != tick.None {
				n++
			}
		}
	}
	return n
}

// Unacked returns the number of entities whose newest record is on its way.
func (v *View) Unacked() (n int) {
	if !v.flies {
		return 0
	}
	for w := v.seenFrom(0); w < len(v.pages); w = v.seenFrom(w + 1) {
		n += bits.OnesCount64(v.pages[w].unacked)
	}
	v.flies = n > 0
	return n
}

// any reports whether a set of a page has any entity in any page.
func (v *View) any(set func(g *ackPage) uint64) bool {
	for w := v.seenFrom(0); w < len(v.pages); w = v.seenFrom(w + 1) {
		if set(v.pages[w]) != 0 {
			return true
		}
	}
	return false
}

// Oversize returns ViewStats.Oversize.
func (v *View) Oversize() uint64 { return v.stats.Oversize }

// Stats returns the counters of the View.
func (v *View) Stats() ViewStats { return v.stats }

// TooLarge reports whether the newest state of an entity does not fit a packet, so that the client does not get it.
func (v *View) TooLarge(id wire.NetworkID) bool {
	return v.Visible(id) && v.page(id.Index).oversize&bitOf(id.Index) != 0
}

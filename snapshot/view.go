package snapshot

import (
	"math/bits"

	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// ackLifetime tells which lifetime the ack state of an index is about. An ack state with a baseline is of this lifetime.
type ackLifetime struct {
	life  tick.Tick // acknowledgements of records before it make no baseline
	ended tick.Tick // the latest end of a life; despawns before it settle nothing
	// began and left are the life that was over last, from the first tick in which
	// the client was shown it to the first in which it was not.
	began, left tick.Tick
	// generation is of the entity that the state is about; 0: none yet.
	generation uint32
	// shown is the newest generation of which any record went out and whose
	// despawn is not settled; 0 = the client cannot hold anything.
	shown uint32
}

// View is the server's knowledge of one client: what the client may see, what it has, and what is on its way to it. It takes
// some bits and an ack state for each network index. It belongs to the Store's goroutine.
type View struct {
	store    *Store
	number   uint64    // among the views of the store, from 1
	payload  int       // bytes of a snapshot in an otherwise empty packet
	unknown  Mask      // Config.Unknown
	observed tick.Tick // the newest commit that has been looked at
	start    tick.Tick // the first one
	stats    ViewStats

	clientSight
	waiting
	ackStates
	resyncs
	progress
	scratch

	plan     sendPlan
	urged    urged
	ties     groupLinks
	starved  starvedGroup
	portions []visibleGroupSize // by number of the group
}

// clientSight tells which entities the client may see, with which of their components.
type clientSight struct {
	visible    bitset        // alive, and this client may see it
	lifetimes  []ackLifetime // by index
	retained   bitset        // out of sight, and the client was left what it has
	hideNew    bool
	spawns     pendingSpawns
	overrides  clientOverrides
	ownWrites  ownWrites
	shares     bool           // see Share
	sights     uint64         // changes of what is visible
	hidden     []hiddenAt     // by index
	lastHidden tick.Tick      // the newest of them
	deferred   []deferredCall // that wait for the commit of an open tick
}

// waiting tells which entities have to be sent.
type waiting struct {
	unsent         bitset // changed, or lost, since it was last sent; despawns included
	unacked        bitset // sent, and the newest sent is not yet confirmed
	despawnOwed    bitset // a despawn is owed, whatever the client acknowledged
	oversize       bitset // does not fit a packet as it is now: the client lacks it
	anyDespawnOwed bool   // despawnOwed may not be empty,
	anyOversize    bool   // nor oversize: else neither is looked at
	waits          bool   // unsent may not be empty
	waitWord       int    // the first word of unsent that may not be zero
}

// ackStates tells which records the client has, and which are on their way to it.
type ackStates struct {
	acks   []ackRecord // by index; of a member of its page only the rows count
	pages  []ackPage   // by index / 64
	recent sentPages
	sent   sentRing
	met    []wire.NetworkID // attended entities that the client was proved to hold
}

// resyncs tells which of the client's requests to begin anew were served.
type resyncs struct {
	epoch    uint16 // the newest resync that was served
	epochSeq uint64 // acknowledgements of earlier packets make no baseline
	answer   bool   // a snapshot is due even when there is nothing to say
	answered bool   // the client has decoded one since the newest resync
}

// progress tells where the next packet of a tick goes on.
type progress struct {
	wrote     tick.Tick // the newest tick a snapshot was written for
	spoke     tick.Tick // the newest tick with a sent snapshot, or the start
	cursor    uint32    // where the next packet goes on, when the budget cut one short
	part      int       // payloads written for this tick
	parts     int       // and for the last tick before it that had any
	nextPage  int       // the page with which the lists of the next packet of this tick begin
	refTick   tick.Tick // its tick
	newestRef tick.Tick // is: the newest R of any page that waited, tick.None: none
	listed    int       // and how many entities waited with a record of the R of their page
	short     bool      // not all that waited went out with the tick before
}

// scratch is memory that is used again.
type scratch struct {
	lanes   []uint32 // a row with entity fields, as this client gets it
	lacking []uint32 // members of a group that are to be written
	records []record // of them, or of a page
	single  record   // the one that is written
}

// ViewStats counts what a View did since it was made.
type ViewStats struct {
	Snapshots   uint64         // snapshot payloads written
	Spawns      uint64         // records without a baseline
	Updates     uint64         // records against a baseline
	Despawns    uint64         // despawn records
	Rows        uint64         // rows that travelled as absolute values
	Deltas      uint64         // rows that travelled as what differs from the baseline
	Unchanged   uint64         // rows that travelled as one bit: as in the baseline
	Resent      uint64         // records put back into unsent by a loss
	Repeated    uint64         // records put back into unsent because the budget allowed it
	RingFull    uint64         // times nothing was written, since the ring was full of records that are on their way
	Overwritten uint64         // pending packets forgotten because the caller sent a whole ring of packets after them
	Oversize    uint64         // times an entity did not fit even an empty packet
	OversizeID  wire.NetworkID // the last such entity
	TornGroups  uint64         // times a group, or a group with despawns of its members, did not fit even an empty packet and was sent apart
	Resyncs     uint64         // resyncs served
}

// heartbeat is the number of ticks after which a snapshot is sent even when nothing changed. So the 16 bits of a tick stay
// unambiguous to a client at rest.
const heartbeat = 1 << 12

// NewView returns the View of a client that has nothing and may see every entity.
func NewView(store *Store, cfg Config) *View {
	cfg = cfg.WithDefaults()
	v := &View{store: store, observed: store.tick, start: store.tick, payload: cfg.Payload}
	v.sent, v.spoke = newSentRing(cfg.SentPackets), store.tick
	v.unknown = cfg.Lacks(store.schema)
	store.numbered++
	v.number = store.numbered
	v.overrides.usual = store.schema.Coarse.Minus(cfg.Older).Union(v.unknown)
	v.grow()
	if store.open { // all of it is still to be observed
		v.observed = store.tick - 1
	}
	for id := range store.All {
		if !store.open || store.born[id.Index] != store.tick {
			v.show(id, store.tick)
		}
	}
	return v
}

// grow makes room for all indexes of the store.
func (v *View) grow() {
	n := len(v.store.gens)
	if n == len(v.acks) {
		return
	}
	v.acks = grown(v.acks, n, cap(v.store.gens))
	v.lifetimes = grown(v.lifetimes, n, cap(v.store.gens))
	v.visible = v.visible.grownTo(n)
	v.unsent = v.unsent.grownTo(n)
	v.unacked = v.unacked.grownTo(n)
	v.despawnOwed = v.despawnOwed.grownTo(n)
	v.retained = v.retained.grownTo(n)
	v.oversize = v.oversize.grownTo(n)
	v.plan.chosen = v.plan.chosen.grownTo(n)
	v.pages = grown(v.pages, len(v.visible), cap(v.visible))
	if !v.overrides.usual.IsZero() {
		v.overrides.growUsual(v.store)
	}
	if len(v.ties.first) > 0 {
		v.ties.reserve(n, cap(v.acks))
	}
}

// Observe takes in the store's newest commit, once. Call it after each [Store.Commit] and before the next Begin. Between
// Begin and Commit it does nothing. Show, Hide and the other calls about the client's sight take effect with the commit. A
// word of 64 entities costs one operation; a tick without changes costs none.
func (v *View) Observe() {
	if v.observed == v.store.tick || v.store.open {
		return
	}
	v.store.observers.Add(1)
	v.observe()
	if len(v.deferred) > 0 {
		v.applyDeferred()
	}
}

// observe takes in a commit that was not observed yet. Deferred calls are applied after it.
func (v *View) observe() {
	s := v.store
	v.flushSpawns()
	v.observed = s.tick
	v.short = v.updatesPending()
	if s.tick-v.spoke >= heartbeat {
		v.answer = true
	}
	v.anyDespawnOwed = v.anyDespawnOwed && v.despawnOwed.any()
	v.anyOversize = v.anyOversize && v.oversize.any()
	if len(s.gens) != len(v.acks) {
		v.grow()
	}
	if len(s.refs.changed) > 0 {
		v.refreshRefs()
	}
	for _, index := range s.reshaped {
		v.alone(index)
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
	masked := len(v.overrides.rows) > 0
	if masked {
		v.reshape()
		v.lacks()
	}
	if len(s.groups.left) > 0 {
		v.left()
	}
	if masked || len(s.words) == 0 {
		return
	}
	v.waits = true
	if len(s.words) < len(s.changed)/4 {
		for _, w := range s.words {
			v.unsent[w] |= s.changed[w] & v.visible[w]
		}
		return
	}
	unsent, visible := v.unsent[:len(s.changed)], v.visible[:len(s.changed)]
	for w, changed := range s.changed {
		unsent[w] |= changed & visible[w]
	}
}

// wait notes that something of an index has to be sent.
func (v *View) wait(index uint32) {
	v.unsent.set(index)
	v.waits = true
	v.ties.changes++
}

// Repeat puts back into unsent each entity that was sent before a tick and is neither acknowledged nor presumed lost. It
// spends a budget that is left over (rule 8). Call it when nothing is Pending, before the packets of a tick.
func (v *View) Repeat(before tick.Tick) {
	v.flushSpawns()
	for w := range v.unacked {
		for word := v.unacked[w]; word != 0; word &= word - 1 {
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
	if v.waits && (v.waitWord >= len(v.unsent) || v.unsent[v.waitWord] == 0) {
		v.waitWord = 0
		for v.waitWord < len(v.unsent) && v.unsent[v.waitWord] == 0 {
			v.waitWord++
		}
		v.waits = v.waitWord < len(v.unsent)
	}
	return v.answer || v.waits
}

// Synced reports whether the client has acknowledged the newest of everything.
func (v *View) Synced() bool {
	return !v.answer && !v.unsent.any() && !v.unacked.any() && !v.despawnOwed.any() && !v.oversize.any()
}

// Known returns the number of entities with an acknowledged record of their present lifetime.
func (v *View) Known() int {
	n := 0
	for i := range v.acks {
		if v.ack(uint32(i)).base != tick.None && v.visible.has(uint32(i)) {
			n++
		}
	}
	return n
}

// Unacked returns the number of entities whose newest record is on its way.
func (v *View) Unacked() int { return v.unacked.count() }

// Oversize returns ViewStats.Oversize.
func (v *View) Oversize() uint64 { return v.stats.Oversize }

// Stats returns the counters of the View.
func (v *View) Stats() ViewStats { return v.stats }

// lives lists the entities with state beside their rows, and those of them that are gone. Other entities cost nothing.
type lives struct {
	attended bitset
	ended    []wire.NetworkID
}

// Attend makes the store and its views note the fate of an entity, which is alive or reserved. Ended tells when it is gone,
// and [View.Met] when a client has acknowledged it.
func (s *Store) Attend(id wire.NetworkID) {
	s.lives.attended = s.lives.attended.grownTo(int(id.Index) + 1)
	s.lives.attended.set(id.Index)
}

// unattend notes that an entity is gone.
func (s *Store) unattend(id wire.NetworkID) {
	if s.lives.attended.has(id.Index) {
		s.lives.attended.unset(id.Index)
		s.lives.ended = append(s.lives.ended, id)
	}
}

// Ended returns the attended entities that are gone since ClearEnded, in order. They are not attended any more. The slice is
// the store's own.
func (s *Store) Ended() []wire.NetworkID { return s.lives.ended }

// ClearEnded starts a new list.
func (s *Store) ClearEnded() { s.lives.ended = s.lives.ended[:0] }

// Share tells that the client looks at the store's own world: it has all that it sees, and nothing is sent to it.
func (v *View) Share() {
	v.shares = true
	for id := range v.store.All {
		if v.Visible(id) {
			v.meet(id.Index)
		}
	}
}

// Held reports whether the client has acknowledged an entity in its present lifetime.
func (v *View) Held(id wire.NetworkID) bool {
	return v.Visible(id) && (v.shares || v.ack(id.Index).base != tick.None)
}

// Sent reports whether a record of an entity was sent in its present lifetime, so that the client may have it.
func (v *View) Sent(id wire.NetworkID) bool {
	return v.Visible(id) && v.ack(id.Index).went >= v.lifetimes[id.Index].life
}

// Needs returns the tick of the record that the client must have of an entity to have all its changes up to tick t. A later
// record does too. It returns tick.None where the client has acknowledged that, and where it gets none: the entity is not
// visible or does not fit a packet.
func (v *View) Needs(id wire.NetworkID, t tick.Tick) tick.Tick {
	if v.shares || !v.Visible(id) || v.oversize.has(id.Index) {
		return tick.None
	}
	needs := max(min(v.moved(id.Index), t), v.lifetimes[id.Index].life)
	if v.ack(id.Index).base >= needs {
		return tick.None
	}
	return needs
}

// Proved returns the newest tick as of which the client has acknowledged everything that it may see. An entity that does not
// fit a packet does not count. It looks at each entity whose newest state is not acknowledged.
func (v *View) Proved() tick.Tick {
	v.flushSpawns()
	proved := v.observed
	for w := range v.visible {
		for word := (v.unsent[w] | v.unacked[w]) & v.visible[w] &^ v.oversize[w]; word != 0; word &= word - 1 {
			index := firstOf(uint32(w), word)
			if held := v.ack(index).base; held == tick.None {
				proved = min(proved, v.lifetimes[index].life-1)
			} else if held < v.moved(index) {
				proved = min(proved, held)
			}
		}
		for word := v.despawnOwed[w]; word != 0; word &= word - 1 {
			proved = min(proved, v.lifetimes[firstOf(uint32(w), word)].ended-1)
		}
	}
	return proved
}

// TooLarge reports whether the newest state of an entity does not fit a packet, so that the client does not get it.
func (v *View) TooLarge(id wire.NetworkID) bool { return v.Visible(id) && v.oversize.has(id.Index) }

// Life returns the tick since which the client has seen an entity without a break, and whether it sees the entity now. Two
// lifetimes differ in it if anything of them was sent.
func (v *View) Life(id wire.NetworkID) (since tick.Tick, visible bool) {
	if !v.Visible(id) {
		return tick.None, false
	}
	return v.lifetimes[id.Index].life, true
}

// SawAt reports whether an entity was in the client's sight at a tick. It knows the present lifetime and the one before it.
// Ticks before the view's first count as that one. known is false if the client was never shown the entity, or if its index
// is another's now.
func (v *View) SawAt(id wire.NetworkID, t tick.Tick) (saw, known bool) {
	if uint(id.Index) >= uint(len(v.lifetimes)) || v.lifetimes[id.Index].generation != id.Generation {
		return false, false
	}
	p, t := &v.lifetimes[id.Index], max(t, v.start)
	return v.visible.has(id.Index) && t >= p.life || t >= p.began && t < p.left, true
}

// Sights returns how often an entity came into the client's sight or left it.
func (v *View) Sights() uint64 { return v.sights }

package snapshot

import (
	"math/bits"

	"github.com/arche-netcode/netcode/internal/plain"
	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/tick"
)

// ackState is the server's knowledge of the client's records of one entity: the newest acknowledged one and the newest sent one.
type ackState struct {
	base  tick.Tick // T: tick of the newest acknowledged record of this lifetime; tick.None: none
	went  tick.Tick // tick of the newest record that was sent
	span  uint16    // T - T', where T' is the baseline of T's own record; 0: there is no usable T'
	after uint16    // tick of the first record sent after T, minus T, at most maxSpan; 0: none, or not known
}

// newestUpTo reports whether the client cannot have a record that is newer than T and not after tick t.
func (a *ackState) newestUpTo(t tick.Tick) bool {
	return a.base <= t && (a.went <= a.base || a.after > 0 && a.base+tick.Tick(a.after) > t)
}

// sends notes that a record is sent at tick t.
func (a *ackState) sends(t tick.Tick) {
	if a.went <= a.base {
		a.after = uint16(min(t-a.base, maxSpan))
	}
	a.went = t
}

// ackRecord is the ack state of an entity that is no member of its page.
type ackRecord struct {
	ackState
	mask Mask // rows of the record of tick T
}

// ackPage is the ack state of 64 entities of one client, and the reference ticks of their page.
//
// Entities of a page are mostly sent in one packet and acknowledged together. So entities with equal ack states share one: they are
// the members of the page. Every other entity has its own ackRecord. To send or to acknowledge all members is one
// operation. An event that concerns only some members takes these out first. Membership affects speed only, not the bytes that are
// sent.
//
// A View also stores which entities of a page had a record in each recent tick (recentRecords). A tick is complete for a page if every
// packet with records of the page of that tick was acknowledged. The client then has exactly these records. R is the newest complete
// tick, and packets name it as the base tick of a list. N is a complete tick before R, and gives the second baseline (pageDistance).
//
// Encoded pages are shared by clients with equal R and N. For pages of large records with several clients, R therefore is an even
// tick: of the two newest ticks, if both are complete, the even one (docs/adr/0033).
type ackPage struct { // the fields that a packet is written from are in the first 64 bytes
	members uint64    // entities with the shared ack state
	sending uint64    // members with a record of tick sentTo, which ackState.went does not include yet
	refOf   uint64    // entities with a record of R
	nearOf  uint64    // entities with a record of N
	ref     tick.Tick // R: the newest complete tick, or the one before it; tick.None: none
	near    tick.Tick // N: see View.findNear; tick.None: none
	ackState
	sentTo           tick.Tick
	rowsChangedAt    tick.Tick // newest tick in which an entity came into sight, or its rows changed for this client alone
	resyncedAt       tick.Tick // newest tick that cannot be R, since a resync came after it
	newest           tick.Tick // newest tick in which a record was sent
	newestCompleteOf uint64    // entities with a record of newestComplete
	newestComplete   tick.Tick // the newest complete tick; tick.None: none
	slot             int32     // its place in tickRecords.of; 0: no record was sent
	preferEven       bool      // R is the even one of two complete ticks: the newest records are large, and there are leastSharing clients
	pageDistance
	pageSets
	pageStates
}

// ack returns the ack state of an index. It includes a send of a member that the shared state does not have yet.
func (v *View) ack(index uint32) ackState {
	g, bit := v.pages[index/format.PageEntities], uint64(1)<<(index%format.PageEntities)
	if g.members&bit == 0 {
		return v.record(index).ackState
	}
	a := g.ackState
	if g.sending&bit != 0 {
		a.sends(g.sentTo)
	}
	return a
}

// shown returns the rows of an index in the record of tick T. now is the rows that the client may see at present.
func (v *View) shown(index uint32, now Mask) Mask {
	g := v.pages[index/format.PageEntities]
	if g.members>>(index%format.PageEntities)&1 != 0 {
		return now // a member leaves the page before its rows change
	}
	return v.record(index).mask
}

// leavePage takes an index out of the members of its page. It returns the index's own ack record, which the caller may change.
func (v *View) leavePage(index uint32) *ackRecord {
	g := v.pages[index/format.PageEntities]
	if bit := uint64(1) << (index % format.PageEntities); g.members&bit != 0 {
		v.record(index).ackState = v.ack(index)
		g.members &^= bit
		g.sending &^= bit
	}
	return v.record(index)
}

// removeMembers takes some entities out of the members of a page.
func (v *View) removeMembers(w uint32, of uint64) {
	for of &= v.pages[w].members; of != 0; of &= of - 1 {
		v.leavePage(firstOf(w, of))
	}
}

// rowsSince returns the tick since which a visible index has had the same set of rows for this client.
func (v *View) rowsSince(index uint32) tick.Tick {
	shape := v.store.shapedAt[index]
	if v.page(index).masked&bitOf(index) != 0 {
		shape = v.life(index).shapedAt // without changes of components that the client may not see
	}
	return max(shape, v.touchedAt(index), v.life(index).firstTick)
}

// rowsSincePage returns a tick since which each visible entity of a page has had the same set of rows for this client. It may be later
// than the first such tick.
func (v *View) rowsSincePage(w uint32) tick.Tick {
	return max(v.store.pageShapedAt[w], v.pages[w].rowsChangedAt)
}

// otherRows reports whether the set of rows of a visible index changed for this client after a tick.
func (v *View) otherRows(index uint32, after tick.Tick) bool {
	w := index / format.PageEntities
	return max(v.store.pageShapedAt[w], v.pages[w].rowsChangedAt) > after && v.rowsSince(index) > after // the test of the page comes first: most often it decides
}

// splitMembers divides the members of a page into those in of and the others, and takes the smaller part out of the page. It returns the
// members in of that remain: all of them or none.
func (v *View) splitMembers(w uint32, of uint64) uint64 {
	g := v.pages[w]
	in := of & g.members
	if in == g.members || in == 0 {
		return in
	}
	if 2*bits.OnesCount64(in) >= bits.OnesCount64(g.members) {
		v.removeMembers(w, g.members&^in)
		return in
	}
	v.removeMembers(w, in)
	return 0
}

// noteSentAcks notes that records of some entities of a page are sent at tick t. A page may be sent in several packets of a tick. The
// shared ack state changes when the last member was sent.
func (v *View) noteSentAcks(w uint32, of uint64, t tick.Tick) {
	g := v.pages[w]
	if g.sending != 0 && g.sentTo != t {
		v.flushSending(w)
	}
	if in := of & g.members; in != 0 {
		if g.sending, g.sentTo = g.sending|in, t; g.sending == g.members {
			g.sends(t)
			g.sending = 0
		}
		of &^= in
	}
	for ; of != 0; of &= of - 1 {
		v.leavePage(firstOf(w, of)).sends(t)
	}
}

// flushSending puts the sends that are noted in sending into the shared ack state. Members that were not sent leave the page, or those
// that were, whichever are fewer.
func (v *View) flushSending(w uint32) {
	if g := v.pages[w]; g.sending != 0 && v.splitMembers(w, g.sending) != 0 {
		g.sends(g.sentTo)
		g.sending = 0
	}
}

// joinPage makes an index a member of its page if its rows have not changed since T and its ack state equals the members'. A page
// without members takes any ack state.
func (v *View) joinPage(index uint32) {
	w := index / format.PageEntities
	g := v.pages[w]
	own := v.record(index).ackState
	if v.otherRows(index, own.base) {
		return
	}
	v.flushSending(w)
	if g.members == 0 {
		g.ackState = own
	} else if g.ackState != own {
		return
	}
	g.members |= 1 << (index % format.PageEntities)
}

// regroup makes members of entities with a record of the page's newest complete tick, if their ack states are equal. Without it, each
// entity has its own ack state, and the same bytes are sent.
func (v *View) regroup(w uint32) {
	if plain.On {
		return
	}
	g := v.pages[w]
	if apart := g.newestCompleteOf &^ g.members; 2*bits.OnesCount64(apart) > bits.OnesCount64(g.newestCompleteOf) {
		v.removeMembers(w, g.members)
	}
	for of := g.newestCompleteOf &^ g.members; of != 0; of &= of - 1 {
		if index := firstOf(w, of); v.record(index).base == g.newestComplete {
			v.joinPage(index)
		}
	}
}

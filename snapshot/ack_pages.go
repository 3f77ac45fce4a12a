package snapshot

import (
	"math/bits"

	"github.com/arche-netcode/netcode/internal/plain"
	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/tick"
)

// ackState is the state of one entity that the client has acknowledged, and the records on their way.
type ackState struct {
	base  tick.Tick // T: tick of the newest acknowledged record of this life; tick.None: none
	went  tick.Tick // tick in which the newest record was sent
	span  uint16    // T - T': how many ticks before T the baseline of T's own record lies; 0: not usable
	after uint16    // the first record sent since T, in ticks after T, at most maxSpan; 0: none, or not known
}

// newestUpTo reports whether T is the newest record up to a tick that the client can have.
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

// ackRecord is the own ack state of an entity that is no member of its page.
type ackRecord struct {
	ackState
	mask Mask // the rows that the client was shown at T
}

// ackPage is the ack state of 64 entities of one client.
//
// Entities of a page are sent together and lost together. So the state is stored once for all that have the same one, the
// members; every other entity has its own in View.acks. Sending or acknowledging all members is one
// operation. An event that concerns some of them makes these leave first. Which entities are members changes no byte.
//
// A View also remembers which entities of a page had a record in each recent tick (sentPages). Of a tick whose every packet with a record of the
// page was acknowledged, the client holds exactly these records: such a tick is complete. The newest complete tick is the
// reference that packets name as R; the newest one before that is N, the second baseline.
//
// Large records cost the more to encode the more pairs of R and N clients have. So R of such a page is the even one of the two
// newest ticks, where both are complete and there are some clients (docs/adr/0033).
type ackPage struct { // what writing a packet needs is in the first 64 bytes
	members uint64
	sending uint64    // members with a record of tick sentTo, of which the common state does not tell yet
	refOf   uint64    // entities with a record of R
	nearOf  uint64    // entities with a record of N
	ref     tick.Tick // R: the newest complete tick, or the one before; tick.None: none
	near    tick.Tick // N: the newest complete tick before R, at most format.MaxNear ticks; tick.None: none
	ackState
	sentTo tick.Tick
	since  tick.Tick // no entity came into sight, or got or lost rows for this client alone, after this tick
	lost   tick.Tick // no tick up to this one can be R: a resync came after it
	topOf  uint64    // entities with a record of top
	top    tick.Tick // the newest complete tick; tick.None: none
	even   bool      // R is an even tick where it can be: the records of the newest tick are large, and have many clients
}

// ack returns the ack state of an index, with what was sent.
func (v *View) ack(index uint32) ackState {
	g, bit := &v.pages[index/format.PageEntities], uint64(1)<<(index%format.PageEntities)
	if g.members&bit == 0 {
		return v.acks[index].ackState
	}
	a := g.ackState
	if g.sending&bit != 0 {
		a.sends(g.sentTo)
	}
	return a
}

// shown returns the rows that the client was shown of an index at T. Now are the rows that it may see.
func (v *View) shown(index uint32, now Mask) Mask {
	if v.pages[index/format.PageEntities].members>>(index%format.PageEntities)&1 != 0 {
		return now // the rows of a member are those of T
	}
	return v.acks[index].mask
}

// alone takes an index out of the members of its page and returns its own state, which the caller may change.
func (v *View) alone(index uint32) *ackRecord {
	g := &v.pages[index/format.PageEntities]
	if bit := uint64(1) << (index % format.PageEntities); g.members&bit != 0 {
		v.acks[index].ackState = v.ack(index)
		g.members &^= bit
		g.sending &^= bit
	}
	return &v.acks[index]
}

// allAlone takes some entities out of the members of a page.
func (v *View) allAlone(w uint32, of uint64) {
	for of &= v.pages[w].members; of != 0; of &= of - 1 {
		v.alone(firstOf(w, of))
	}
}

// rowsSince returns the tick since which the rows of a visible index have been the same for this client.
func (v *View) rowsSince(index uint32) tick.Tick {
	shape := v.store.shape[index]
	if w := index / format.PageEntities; int(w) < len(v.overrides.masked) && v.overrides.masked[w]>>(index%format.PageEntities)&1 != 0 {
		shape = v.overrides.shape[index] // a component that is hidden came or went unseen
	}
	return max(shape, v.touchedAt(index), v.lifetimes[index].life)
}

// rowsSincePage returns a tick since which the rows of every visible entity of a page have been the same for this client: not
// always the first such tick.
func (v *View) rowsSincePage(w uint32) tick.Tick { return max(v.store.shaped[w], v.pages[w].since) }

// otherRows reports whether the rows of a visible index became others for this client after a tick.
func (v *View) otherRows(index uint32, after tick.Tick) bool {
	w := index / format.PageEntities
	return max(v.store.shaped[w], v.pages[w].since) > after && v.rowsSince(index) > after // the page first: it is enough most often
}

// keepMost takes the smaller part of a page's members out of them: those of some entities, or the others. It returns which
// of these entities are members still.
func (v *View) keepMost(w uint32, of uint64) uint64 {
	g := &v.pages[w]
	in := of & g.members
	if in == g.members || in == 0 {
		return in
	}
	if 2*bits.OnesCount64(in) >= bits.OnesCount64(g.members) {
		v.allAlone(w, g.members&^in)
		return in
	}
	v.allAlone(w, in)
	return 0
}

// sentPage notes that records of some entities of a page are sent at tick t. A page may be sent in several packets: the
// common state tells of it when the last member was sent.
func (v *View) sentPage(w uint32, of uint64, t tick.Tick) {
	g := &v.pages[w]
	if g.sending != 0 && g.sentTo != t {
		v.settlePage(w)
	}
	if in := of & g.members; in != 0 {
		if g.sending, g.sentTo = g.sending|in, t; g.sending == g.members {
			g.sends(t)
			g.sending = 0
		}
		of &^= in
	}
	for ; of != 0; of &= of - 1 {
		v.alone(firstOf(w, of)).sends(t)
	}
}

// settlePage makes the common state of a page tell of all that was sent.
func (v *View) settlePage(w uint32) {
	if g := &v.pages[w]; g.sending != 0 && v.keepMost(w, g.sending) != 0 {
		g.sends(g.sentTo)
		g.sending = 0
	}
}

// joinPage makes an index a member of its page if its state is the common one, or the first member.
func (v *View) joinPage(index uint32) {
	w := index / format.PageEntities
	g, own := &v.pages[w], v.acks[index].ackState
	if v.otherRows(index, own.base) {
		return
	}
	v.settlePage(w)
	if g.members == 0 {
		g.ackState = own
	} else if g.ackState != own {
		return
	}
	g.members |= 1 << (index % format.PageEntities)
}

// gather makes members of the entities of a page with a record of its newest complete tick, as far as most of them have the
// same state. Without it every entity has its own state, and the same is written.
func (v *View) gather(w uint32) {
	if plain.On {
		return
	}
	g := &v.pages[w]
	if apart := g.topOf &^ g.members; 2*bits.OnesCount64(apart) > bits.OnesCount64(g.topOf) {
		v.allAlone(w, g.members)
	}
	for of := g.topOf &^ g.members; of != 0; of &= of - 1 {
		if index := firstOf(w, of); v.acks[index].base == g.top {
			v.joinPage(index)
		}
	}
}

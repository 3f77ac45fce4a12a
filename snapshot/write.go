package snapshot

import (
	"math/bits"

	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// A snapshot payload is one bit string, least significant bit first:
//
//	tick      16 bits, low bits of the packet's own tick S
//	resynced   1 bit, then 16 bits epoch if set
//	despawns  1 bit "one more", gap, generation      … 0
//	lists     1 bit; if set, Var (S - U - 1), then
//	          for each list: 1 bit "one more"; 1 bit "R = U, N = R - 1, skip = 0", or
//	          Var (U - R), Var (R - N) or 0, Var skip
//	          for each page of which there are records of tick R, from the page on
//	          that lies skip pages behind the last one told of: its code, and with
//	          pageSome for each four of those records, as long as there are more: a
//	          symbol of Codes.Nibble, which of them; the usual record of each
//	          … 0
//	others    for each: a symbol of Codes.Gap, record, run; the end
//	zero padding to the byte, or to the end of the payload
//
//	record, usual: against T, with the rows of T: the body. T is R in a list,
//	          and for the others the tick of the newest record of the entity that
//	          is not after U; without lists, of the newest there is
//	odd:      1 bit "against T"
//	  no:     generation, one bit per row of the schema: present;
//	          then each present row, whole
//	  yes:    1 bit "T is the usual one", or age (S-T-1);
//	          1 bit "rows as at T" or one bit per row of the schema: present;
//	          the body
//	run:      behind a record against nothing all of whose rows are exact floats:
//	          1 bit "the next indexes have the same generation and rows"; then
//	          zeros to the byte, 8 bits how many, their rows, whole
//	body:     for each four rows of those at T and now: which of them differ from
//	          T; then those that do, as what differs (delta.Delta)
//	          then, whole, each row that was not at T, and of those that name
//	          entities each that differs
//
// Gaps of despawns count the indexes skipped since the one before. Gap,
// generation and age are in the Var code of wire.

// despawnShare is the part of a packet for despawns while any are owed: a third. So neither they nor updates starve.
const despawnShare = 3

// MinPayload is the least room for a snapshot, in bytes: any despawn fits a third of it.
const MinPayload = 64

// packetWriter is the state of one Write.
type packetWriter struct {
	v      *View
	cache  *EncodeCache
	w      wire.BitWriter
	s      tick.Tick // S, the packet's own tick
	sent   *sentPacket
	full   int    // bits that the packet may reach
	most   int    // bits that one entity or group may reach that is too large for full
	short  bool   // the budget allows less than a packet takes
	limit  int    // bits that the list being written may reach
	last   uint32 // index of the record before, plus one
	run    openRun
	inList bool     // a list is written
	page   *ackPage // then: the page
	lists  lists
	ahead  uint32    // behind the last page with deltas made ahead
	refers bool      // the packet has lists
	upTo   tick.Tick // U: the newest R that lists may have, or S without lists
	// gapContext is 1 when the packet has lists.
	gapContext int
	// partial: other messages took some of the packet, or the budget did, so that
	// what does not fit now may fit the next one.
	partial bool
	// tied: there are group links. Then waiting, ending and kept are the entries, and the bits of despawns and of records, that are
	// kept for linked entities; headed is the bits that name the list that the packet continues.
	tied                          bool
	waiting, ending, kept, headed int
	split                         bool // a group went one by one beside ties
	filled                        bool // there is no room for a page of large records
}

// Write fills dst with one snapshot payload of what the client lacks and returns its length, 0 when there is nothing to send.
// seq is the sequence of its packet and must rise from call to call. The payload counts as sent: the caller sends it. It
// returns 0 also when more records on their way could not be remembered (ViewStats.RingFull), and between Begin and Commit.
func (v *View) Write(dst []byte, seq uint64) int { return v.WriteAt(&v.store.cache, dst, seq) }

// WriteAt does what Write does, with another cache of the view's store.
func (v *View) WriteAt(desk *EncodeCache, dst []byte, seq uint64) int {
	return v.WriteWithin(desk, dst, len(dst), false, seq)
}

// WriteWithin does what WriteAt does within a budget: it uses the first room bytes of dst. With lend it uses more for one
// entity or group that is too large for room, if an earlier packet has left it out.
func (v *View) WriteWithin(desk *EncodeCache, dst []byte, room int, lend bool, seq uint64) int {
	if !v.mayWrite(room) {
		return 0
	}
	if v.payload > 0 && len(dst) > v.payload {
		dst = dst[:v.payload] // else what the packet's header happens to take says where the list ends, which others could share
	}
	room = min(room, len(dst))
	if desk.deltas.tick != v.store.tick {
		desk.begin()
	}
	p := packetWriter{v: v, cache: desk, w: wire.NewBitWriter(dst), s: v.store.tick, upTo: v.store.tick, partial: room < v.payload}
	v.sent.release()
	if p.sent = v.sent.open(seq, p.s, v.overwritten); p.sent == nil {
		v.stats.RingFull++
		return 0
	}
	if v.wrote != p.s {
		v.parts, v.part, v.nextPage = v.part, 0, 0
	}
	p.sent.part = v.part
	v.wrote, v.spoke = p.s, p.s
	p.writeHeader()
	p.full, p.short = room*8-endBits, room < len(dst)
	if p.most = p.full; lend {
		p.most = len(dst)*8 - endBits
	}
	hungry := v.starved.index != 0 && p.isStarved()
	if !hungry {
		p.chooseRefs()
		p.writeDespawns()
	}
	p.w.Bool(false)
	p.limit = p.full - p.kept - p.ending
	p.writeRecords(hungry)
	if p.sent.n == 0 && !v.answer {
		v.sent.cancel(p.sent)
		return 0
	}
	if p.sent.records > 0 {
		v.plan.wrote(p.w.Bits() / p.sent.records)
	}
	v.part++
	v.answer = false
	v.stats.Snapshots++
	n := p.w.Finish()
	if p.filled && !p.short && v.parts >= leastPadded && len(dst)-n <= mostPadding {
		clear(dst[n:])
		n = len(dst)
	}
	return n
}

// mayWrite reports whether there is something to write, and room for it. A tick that is open is not written.
func (v *View) mayWrite(room int) bool {
	if v.store.open {
		return false
	}
	v.flushSpawns()
	return v.Pending() && room >= MinPayload
}

// endBits is the room for the ends: of the despawns, of the lists, of a run and of the unlisted records.
const endBits = 1 + 1 + 2*15 + 1

func (v *View) overwritten(p *sentPacket) {
	v.stats.Overwritten++
	v.lost(p)
}

// updatesPending reports whether anything but despawns waits.
func (v *View) updatesPending() bool {
	if !v.waits {
		return false
	}
	if w := v.waitWord; !v.anyDespawnOwed && w < len(v.unsent) && v.unsent[w] != 0 {
		return true // where Pending found something
	}
	for w := range v.unsent {
		if v.unsent[w]&^v.despawnOwed[w] != 0 {
			return true
		}
	}
	return false
}

func (p *packetWriter) writeHeader() {
	p.w.Write(uint64(p.s.Low()), 16)
	p.w.Bool(p.v.epoch != 0)
	if p.v.epoch != 0 {
		p.w.Write(uint64(p.v.epoch), 16)
	}
}

// writeDespawns writes the despawns that are owed, with those of atomic units.
func (p *packetWriter) writeDespawns() {
	if p.v.ties.n > 0 {
		p.tie()
	}
	p.limit = p.full
	if p.v.updatesPending() {
		p.limit = p.full/despawnShare + p.ending
	}
	p.last = 0
	if p.v.anyDespawnOwed {
		p.despawns()
	}
}

// despawns writes owed despawns by index, up to the limit.
func (p *packetWriter) despawns() {
	v := p.v
	plain := p.limit
	for w := range v.despawnOwed {
		if v.despawnOwed[w] == 0 {
			continue
		}
		for word := v.despawnOwed[w] & p.despawnMask(w); word != 0; word &= word - 1 {
			index := uint32(w<<6 + bits.TrailingZeros64(word))
			if v.lifetimes[index].ended > p.s {
				continue // ended after this tick's first packets: the next tick's business
			}
			if p.leave(index, plain); !p.fits(func() { p.despawn(index) }) {
				if plain = 0; !p.tied {
					return
				}
				continue
			}
			v.unsent.unset(index)
			v.unacked.set(index)
			v.alone(index)
			v.acks[index].went = p.s
			v.sent.addGroup(p.sent, sentGroup{of: 1 << (index % format.PageEntities), word: index / format.PageEntities, despawn: true})
			v.stats.Despawns++
		}
	}
}

// despawn writes that this generation of an index and all before it are gone.
func (p *packetWriter) despawn(index uint32) {
	p.w.Bool(true)
	p.w.Var(uint64(index - p.last))
	p.last = index + 1
	p.w.Var(uint64(p.v.lifetimes[index].shown))
}

// writeRecords writes visible entities that changed: first listed ones, or a starved group instead, then the others.
func (p *packetWriter) writeRecords(hungry bool) {
	p.writeListsHead()
	room := p.writeListed()
	p.last = 0
	if p.tied {
		p.together()
	}
	if hungry {
		p.writeStarved()
	}
	if room {
		p.writeUnlisted()
	}
	p.endRun()
	p.symbol(p.v.store.schema.Codes.Gap, p.gapContext, format.GapEnd)
}

// writeEntity writes one entity, or its whole group, and reports whether there was room for it.
func (p *packetWriter) writeEntity(index uint32) bool {
	m := p.v.groupOf(index)
	if p.v.ties.n > 0 && (m != nil || p.v.ties.has(index)) {
		if done, wrote := p.writeUnit(index); done {
			return wrote
		}
	} else if m != nil && len(m.indexes) > 1 {
		if done, wrote := p.writeGroup(m); done {
			return wrote
		}
	}
	return p.writeSingle(index)
}

// writeSingle writes one entity and reports whether there was room for it.
func (p *packetWriter) writeSingle(index uint32) bool {
	r := &p.v.scratch
	p.prepare(index, r)
	if !p.fits(func() { p.writeAt(r) }) {
		return p.tooLarge(index)
	}
	p.recordSent(r)
	return true
}

// tooLarge leaves out an entity that fits no packet, so that nothing waits behind it, and reports it in the stats. It says
// false when the next packet may have room.
func (p *packetWriter) tooLarge(index uint32) bool {
	v := p.v
	if p.sent.n > 0 || p.partial {
		return false
	}
	v.stats.Oversize++
	v.stats.OversizeID = wire.NetworkID{Index: index, Generation: v.lifetimes[index].generation}
	v.unsent.unset(index)
	v.oversize.set(index)
	v.anyOversize = true
	v.plan.took(index)
	return true
}

// fits writes records and takes them back if they pass the limit.
func (p *packetWriter) fits(write func()) bool {
	mark, last, run := p.w, p.last, p.run
	if p.sent.n >= maxRecords-p.waiting {
		return false
	}
	write()
	if !p.w.Overflowed() && p.w.Bits() <= p.limit {
		return true
	}
	p.w, p.last, p.run = mark, last, run
	return false
}

package snapshot

import (
	"slices"

	"github.com/arche-netcode/netcode/tick"
)

// Most clients that share a list share all of the packet: where the same waits, what it says behind the list is the
// same too, and so is its head. Then the payload of the first of them is copied as bytes, and what it carried is noted
// by words. That is done where each record is the usual one and nothing is a client's own, for this client and for that
// one: then all that was looked at while it was written is what waits, from where it began, and what the entities that
// were written, or found no room, lean on. Where any of this differs, as much of the list is copied as comes to the same.
type sharedWhole struct {
	// What it came from, beside the list.
	wholeHead
	unsent bitset     // all that waited
	asked  []restWord // who is in the packet behind the list, and who found no room

	// What it came to; no bytes: it is not kept.
	code         []byte
	even         bool // all records of the list lean on what most do
	bits         int
	rest         []sentEntry // records behind the list
	cursor       uint32
	deltas, same uint64 // rows
	bodies       uint64 // records of which a body was asked for
}

// wholeHead is what of a packet's beginning is a number.
type wholeHead struct {
	epoch      uint16
	part, room int
	partial    bool   // other messages took some of the packet
	from       uint32 // the cursor
	n, records int    // of the packet whose list is gone through
}

// restWord is some of a word behind the list, and what their records lean on.
type restWord struct {
	wordOf
	base, before tick.Tick
	written      bool // else there was no room
}

// forget makes it one that is not kept. Its memory stays.
func (w *sharedWhole) forget() {
	*w = sharedWhole{unsent: w.unsent, asked: w.asked[:0], code: w.code[:0], rest: w.rest[:0]}
}

// plain reports whether nothing is a client's own that packets ask for beside what waits, and what was acknowledged.
func (v *View) plain() bool {
	return v.shareable() && !v.whole.on && !v.owes && !v.big && v.ties.n == 0 && v.hunger.index == 0 &&
		len(v.own.rows) == 0 && v.own.latest <= v.store.tick && len(v.store.groups.of) == 0
}

func (p *packetWriter) wholeHead(before *sentPacket, room int) wholeHead {
	v := p.v
	return wholeHead{epoch: v.epoch, part: v.part, room: room, partial: p.partial, from: v.cursor, n: before.n, records: before.records}
}

// takeWhole writes the payload of another client, if it is that of this one too. It returns 0 where there is none.
func (p *packetWriter) takeWhole(dst []byte, before *sentPacket) int {
	if p.plain = before != nil && p.v.plain(); !p.plain {
		return 0
	}
	l, head := &p.desk.lists, p.wholeHead(before, len(dst))
	p.head = head
	for i := range l.n {
		m := &l.kept[i]
		if len(m.whole.code) > 0 && m.whole.wholeHead == head && p.mayCome(m, before) && p.allComesTo(m, before) {
			l.used = true
			l.copied++
			l.wholes++
			return p.carryWhole(m, dst)
		}
	}
	return 0
}

// allComesTo reports whether all that a packet came from is the same for this client.
func (p *packetWriter) allComesTo(m *sharedList, before *sentPacket) bool {
	v := p.v
	if !slices.Equal(v.unsent, m.whole.unsent) {
		return false
	}
	for at := m.shared(before); at < before.n; {
		entries := v.sent.following(before, at)
		if !listsTheSame(m.listed[at:at+len(entries)], entries) {
			return false
		}
		at += len(entries)
	}
	if !p.listLeansAlike(m) {
		return false
	}
	for i := range m.whole.asked {
		if !p.restLeansAlike(&m.whole.asked[i]) {
			return false
		}
	}
	return true
}

// listLeansAlike reports whether each record of a list leans on the same for this client.
func (p *packetWriter) listLeansAlike(m *sharedList) bool {
	alike, alone, end := p.leanAlike(m), uint64(0), m.end()
	p.single = nil
	if m.whole.even && alike.n == 1 {
		of := alike.all[0].of
		for i := range m.words {
			alone |= m.words[i].of &^ of[m.words[i].word]
		}
		if alone == 0 {
			p.single = alike.all[0]
			return true
		}
	}
	return p.eachComesTo(m, end, &alike)
}

// restLeansAlike reports whether a record of each of some of a word leans on the same for this client, and is the usual one.
func (p *packetWriter) restLeansAlike(r *restWord) bool {
	v, left := p.v, r.of
	g := &v.cohorts
	for i := range g.all[:g.used] {
		c := &g.all[i]
		in := left & c.of[r.word]
		if in == 0 {
			continue
		}
		q := slot{base: c.base, lean: c.lean, near: c.near, after: c.after}
		if c.went == p.s || !p.leansAs(r, firstOf(r.word, in), &q) {
			return false
		}
		left &^= in
	}
	for ; left != 0; left &= left - 1 {
		index := firstOf(r.word, left)
		if q := &v.slots[index]; q.mask != v.maskOf(index) || v.went[index] == p.s || !p.leansAs(r, index, q) {
			return false
		}
	}
	return true
}

// leansAs reports whether the record of an index, with this slot, leans on T and T', without a word about it.
func (p *packetWriter) leansAs(r *restWord, index uint32, q *slot) bool {
	return q.base == r.base && p.before(q) == r.before && p.v.newest(index, q, p.upTo)
}

// carryWhole copies a payload, and notes what it carries.
func (p *packetWriter) carryWhole(m *sharedList, dst []byte) int {
	v, w := p.v, &m.whole
	p.goList(m)
	v.going = room(v.going, len(w.asked), usualList)
	for i := range w.asked {
		if r := &w.asked[i]; r.written {
			v.wentWord(r.word, r.of)
		}
	}
	for i := range w.rest {
		v.sent.add(p.sent, w.rest[i])
	}
	p.gone()
	p.sent.records = p.sent.n
	v.cursor = w.cursor
	v.stats.Updates += uint64(p.sent.n)
	v.stats.Deltas += w.deltas
	v.stats.Unchanged += w.same
	p.desk.bodies.shared += w.bodies
	p.done(w.bits)
	return copy(dst, w.code)
}

// begin begins to keep a packet whose list is kept.
func (w *sharedWhole) begin(p *packetWriter) {
	v := p.v
	w.wholeHead = p.head
	w.unsent = append(w.unsent[:0], v.unsent...)
	w.deltas, w.same = v.stats.Deltas, v.stats.Unchanged
}

// keepWhole keeps a packet that was written, if all of it may be another client's too.
func (p *packetWriter) keepWhole(code []byte, before *sentPacket) {
	m, v := p.keeps, p.v
	if !p.plain || m == nil || len(m.entries) == 0 || v.hunger.index != 0 {
		return
	}
	w := &m.whole
	for i := len(m.listed); i < before.n; i++ {
		if e := v.sent.entry(before, i); e.despawn {
			m.listed = append(m.listed, notListed)
		} else {
			m.listed = append(m.listed, e.index)
		}
	}
	w.even = true
	for i := range m.waits {
		w.even = w.even && m.waits[i].even == m.waits[i].wait
	}
	n := p.sent.n - len(m.entries)
	w.rest = v.sent.appendLast(room(w.rest, n, usualList), p.sent, n)
	for i := range w.rest {
		w.ask(p, w.rest[i].index, true)
	}
	for _, index := range p.roomless[:p.refusals] {
		w.ask(p, index, false)
	}
	w.cursor, w.bits = v.cursor, p.w.Bits()
	w.deltas, w.same = v.stats.Deltas-w.deltas, v.stats.Unchanged-w.same
	w.bodies = uint64(p.sent.n + p.refusals)
	w.code = append(room(w.code, len(code), firstCode), code...)
}

// noRoom notes that an index, of which the usual record was to be written, found no room.
func (p *packetWriter) noRoom(index uint32) {
	if p.refusals < len(p.roomless) {
		p.roomless[p.refusals] = index
		p.refusals++
	} else {
		p.plain = false
	}
}

// ask notes what the record of an index behind the list leans on, whether it was written or found no room. What a record
// leans on does not change when it goes out.
func (w *sharedWhole) ask(p *packetWriter, index uint32, written bool) {
	var member slot
	q := p.v.slot(index, &member)
	r := restWord{wordOf{index >> 6, 1 << (index & 63)}, q.base, p.before(q), written}
	if n := len(w.asked) - 1; n >= 0 {
		if last := &w.asked[n]; last.word == r.word && last.base == r.base && last.before == r.before && last.written == written {
			last.of |= r.of
			return
		}
	}
	w.asked = append(room(w.asked, 1, usualList), r)
}

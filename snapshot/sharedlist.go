package snapshot

import (
	"cmp"

	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// Clients with like round trips have acknowledged the same packets, and then
// what a packet goes through again of an earlier one is the same for all of
// them, bit by bit: it is written for the first of them and copied for the
// others. A sharedList is that part of a packet, with all that it came from.
// Where any of this differs for another client, no more is copied than before
// that. It ends before the first four with a record that is not the usual one, or
// does not fit: from there on each client's packet goes its own way.
type sharedList struct {
	// What it came from.
	tick   tick.Tick // of the packet whose list was gone through
	near   tick.Tick // how far before that the other one lies that the packet names
	part   int
	masked bool        // the client may not see all components of all entities
	from   *alike      // what of that packet others carried too, from its entry
	fromAt int         // of that number on
	listed []uint32    // what was gone through
	waits  []wordWaits // which of them waited
	lean   tick.Tick   // T′ of the first of their records, and so of most
	uneven []tick.Tick // T′ of the others, in their order

	// What it came to.
	*alike // the records
	code   wire.Piece
	marks  []listMark // how far it may be copied; the last is its end
}

// wordWaits is which of the entities of a word were asked for, and of these
// which waited and have got their record.
type wordWaits struct {
	word        uint32
	asked, wait uint64
	even        uint64 // those of the waiting whose T′ is that of most
}

// notListed stands for what a list holds beside entities.
const notListed = ^uint32(0)

// sharedLists are those of one tick.
type sharedLists struct {
	tick   tick.Tick
	kept   []sharedList // the first n are of the tick, the others memory
	n      int
	used   bool      // any of the tick's was copied
	pause  tick.Tick // ticks in which none is kept: nobody shared the last ones
	next   tick.Tick // the next tick in which they are kept
	copied uint64    // whole, since the beginning
	parts  uint64    // and of which a part was copied
	every  int       // entities between two marks; 0: markEvery
	pool   *entryPool
}

const (
	// maxSharedLists bounds what is kept of a tick, and with it what is looked
	// through for each packet.
	maxSharedLists = 64
	// firstKept is what a list has room for at first: what most packets have,
	// so that a tick with more lists than any before allocates little.
	firstKept = 512
	// longestPause is how many ticks may pass until it is noticed that clients
	// have come to share.
	longestPause = 15
)

// begin forgets the lists of earlier ticks.
func (l *sharedLists) begin(t tick.Tick) {
	if l.n > 0 {
		l.pause = min(2*l.pause+1, longestPause)
		if l.used {
			l.pause = 0
		}
		l.next = l.tick + 1 + l.pause
	}
	l.tick, l.n, l.used = t, 0, false
}

// keeps reports whether one more list of the tick is to be kept.
func (l *sharedLists) keeps() bool { return l.tick >= l.next && l.n < maxSharedLists }

// keep is an empty list of the tick, nil where none is to be kept.
func (l *sharedLists) keep() *sharedList {
	if !l.keeps() {
		return nil
	}
	if l.n == len(l.kept) {
		l.kept = append(l.kept, sharedList{
			listed: make([]uint32, 0, firstKept), waits: make([]wordWaits, 0, firstKept), uneven: make([]tick.Tick, 0, firstKept),
			marks: make([]listMark, 0, firstKept/markEvery),
		})
		l.kept[l.n].code.Reserve(8 * firstKept)
	}
	m := &l.kept[l.n]
	l.n++
	l.pool.release(m.alike)
	l.pool.release(m.from)
	*m = sharedList{listed: m.listed[:0], waits: m.waits[:0], uneven: m.uneven[:0], code: m.code, marks: m.marks[:0], alike: l.pool.take()}
	return m
}

// shareable reports whether what this client is sent of a list can be that of
// another one: a plan's choice is a client's own, and a trainer has to see all
// symbols.
func (v *View) shareable() bool { return !v.plan.active && v.store.watch == nil }

// copied writes what another client has got of the same list, or as much as there
// is of that for this one too, and returns how far that is; nil where there is none.
// Of a part the rest is kept with it.
func (p *packetWriter) copied(before *sentPacket, k *listKeeper) *listMark {
	if !p.v.shareable() {
		return nil
	}
	l := &p.desk.lists
	for i := range l.n {
		m := &l.kept[i]
		if end := m.end(); p.mayCome(m, before) && p.comesTo(m, end, before) {
			l.used = true
			l.copied++
			p.take(m)
			return end
		}
	}
	if i, at := p.longest(before); i >= 0 {
		l.used = true
		l.parts++
		*k = p.keep(before)
		m := &l.kept[i]
		p.takePart(m, &m.marks[at], k.list != nil)
		k.takePart(p, m, at)
		return &m.marks[at]
	}
	return nil
}

// mayCome reports whether a list came from one that says the same of itself.
func (p *packetWriter) mayCome(m *sharedList, before *sentPacket) bool {
	return m.tick == before.tick && m.near == p.near && m.part == before.part && m.masked == (len(p.v.own.rows) > 0)
}

// comesTo reports whether all that a list came from, so far, is the same for this
// client.
func (p *packetWriter) comesTo(m *sharedList, c *listMark, before *sentPacket) bool {
	v := p.v
	switch {
	case c.at > before.n || c.end.at%fourSize != 0 && c.end.at != before.records:
		return false
	case p.w.Bits()+c.bits > p.limit || p.sent.n+c.entries > maxRecords-p.waiting:
		return false
	}
	alike := p.leanAlike(m)
	same, alone := p.waitAlike(m, c, &alike)
	if !same {
		return false
	}
	if p.single = nil; alone == 0 && alike.n == 1 {
		p.single = alike.all[0]
	}
	for at := m.shared(before); at < c.at; {
		entries := v.sent.following(before, at)
		end := min(at+len(entries), c.at)
		if !listsTheSame(m.listed[at:end], entries) {
			return false
		}
		at = end
	}
	return (alone == 0 || p.eachComesTo(m, c, &alike)) && p.ownRows(m.entries[:c.entries])
}

// shared is how much of what a list went through is the same of another packet
// without a look at it: despawns come before records that others have too.
func (m *sharedList) shared(before *sentPacket) int {
	if m.from == nil || m.from != before.alike || m.fromAt != before.at {
		return 0
	}
	return m.fromAt + len(m.from.entries)
}

// listsTheSame reports whether entries are of these entities.
func listsTheSame(listed []uint32, entries []sentEntry) bool {
	for i, index := range listed {
		if e := &entries[i]; e.despawn || e.index != index {
			if !e.despawn || index != notListed {
				return false
			}
		}
	}
	return true
}

// ownRows reports whether what is this client's own of the records' entities is
// as it is for most: what it may see of them, that nothing waits for the next tick,
// and that none is tied.
func (p *packetWriter) ownRows(entries []sentEntry) bool {
	v := p.v
	if len(v.own.rows) == 0 && len(v.own.touched) == 0 && v.ties.n == 0 {
		return true
	}
	for i := range entries {
		e := &entries[i]
		if v.maskOf(e.index) != e.mask || v.touchedAt(e.index) > p.s || v.ties.has(e.index) {
			return false
		}
	}
	return true
}

// take writes a list that comes to the same, and notes what the packet carries.
func (p *packetWriter) take(m *sharedList) {
	v := p.v
	p.copyBits(m, m.end())
	for i := range m.words {
		v.wordWent(m.words[i].word, m.words[i].of)
	}
	if p.single == nil || !v.cohorts.goFrom(p.single, m.words, len(m.entries), p.s) {
		v.goTogether(m.words, len(m.entries), p.s)
	}
	v.sent.addAlike(p.sent, m.alike)
}

// copyBits writes a list as far as a mark, and counts what it has.
func (p *packetWriter) copyBits(m *sharedList, c *listMark) {
	v := p.v
	p.w.Piece(&m.code, c.bits)
	p.sent.records += c.entries
	v.stats.Updates += uint64(c.entries)
	v.stats.Deltas += c.deltas
	v.stats.Unchanged += c.same
	p.desk.bodies.shared += uint64(c.entries)
}

// listKeeper keeps what is written of a list, for others: a four when it is
// done.
type listKeeper struct {
	list  *sharedList // nil when nothing is kept, or no more
	mark  wire.BitWriter
	at    wire.BitWriter // behind the last four that is kept
	come  listMark       // how far that is
	entry int            // of the packet, where the list begins
	own   bool           // the four that is gone through is this client's own
	every int            // entities from one mark to the next,
	next  int            // which is to be there
	from  *sentPacket    // whose list it is
}

// keep begins to keep what follows, if it can be of use.
func (p *packetWriter) keep(before *sentPacket) (k listKeeper) {
	if !p.v.shareable() {
		return k
	}
	if k.list = p.desk.lists.keep(); k.list != nil {
		k.list.tick, k.list.near, k.list.part, k.list.masked = before.tick, p.near, before.part, len(p.v.own.rows) > 0
		if k.entry = p.sent.n; before.alike != nil {
			k.list.from, k.list.fromAt = before.alike, before.at
			before.alike.holders.Add(1)
		}
		k.mark, k.at, k.from = p.w, p.w, before
		k.every = cmp.Or(p.desk.lists.every, markEvery)
		k.next = k.every
	}
	return k
}

// done notes a four, and all of the list up to an entry. Members are those of
// its entities that have got a record.
func (k *listKeeper) done(p *packetWriter, f *fours, members []member, upTo int) {
	m := k.list
	switch {
	case m == nil:
		return
	case k.own:
		k.end(p)
		return
	}
	groups := &p.v.store.groups
	first := p.sent.n - len(members)
	for i := len(m.listed); i < upTo; i++ {
		e := p.v.sent.entry(k.from, i)
		switch {
		case e.despawn:
			m.listed = append(m.listed, notListed)
			continue
		case len(members) > 0 && members[0].index == e.index:
			k.wrote(p, &members[0], first)
			members, first = members[1:], first+1
		case len(groups.of) == 0 || groups.whole(e.index) == nil:
			k.asked(e.index, false)
		}
		m.listed = append(m.listed, e.index)
	}
	k.reached(p, f, upTo)
}

// reached notes how far the list has come.
func (k *listKeeper) reached(p *packetWriter, f *fours, upTo int) {
	m := k.list
	k.at = p.w
	k.come.at, k.come.bits, k.come.end = upTo, k.at.Bits()-k.mark.Bits(), f.listed
	k.come.uneven = len(m.uneven)
	if k.come.entries, k.come.waits = len(m.entries), len(m.waits); k.come.entries > 0 && upTo >= k.next {
		k.putMark(m)
	}
}

// wrote notes that an entity of the list has got its record, an entry of the
// packet.
func (k *listKeeper) wrote(p *packetWriter, r *member, entry int) {
	m := k.list
	k.asked(r.index, true)
	if len(m.entries) == 0 {
		m.lean = r.body.before
	}
	if r.body.before == m.lean {
		m.waits[len(m.waits)-1].even |= 1 << (r.index & 63)
	} else {
		m.uneven = append(m.uneven, r.body.before)
	}
	m.entries = append(m.entries, *p.v.sent.entry(p.sent, entry))
	k.come.deltas += uint64(r.body.deltas)
	k.come.same += uint64(r.body.same)
}

// asked notes whether an entity waited.
func (k *listKeeper) asked(index uint32, waited bool) {
	m, w := k.list, index>>6
	if n := len(m.waits); n == 0 || m.waits[n-1].word != w {
		m.waits = append(m.waits, wordWaits{word: w})
	}
	a, bit := &m.waits[len(m.waits)-1], uint64(1)<<(index&63)
	a.asked |= bit
	if waited {
		a.wait |= bit
	}
}

// end ends what is kept, behind the last four that is done. One without records
// is of no use.
func (k *listKeeper) end(p *packetWriter) {
	m := k.list
	if k.list = nil; m == nil {
		return
	}
	if len(m.entries) == 0 {
		p.desk.lists.n--
		return
	}
	k.putMark(m)
	m.code.Since(&k.mark, &k.at)
	for i := range m.waits {
		if a := &m.waits[i]; a.wait != 0 {
			m.words = append(m.words, wordOf{a.word, a.wait})
		}
	}
	p.v.sent.hold(p.sent, k.entry, m.alike)
}

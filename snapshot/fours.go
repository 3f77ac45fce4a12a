package snapshot

import "cmp"

// The entities of a list are spoken of again four at a time: one symbol says of
// which of the next four there is a record, and those follow. Most often it is
// all four, and then where they are costs a quarter of a bit each.

// fourSize is how many entities of a list have one symbol.
const fourSize = 4

// leastAtOnce is how many entities of a list are worth a look at whether they can be gone through together: where they are fewer, the way
// of one is less code to run through, once a tick and out of no near cache, than that of many.
const leastAtOnce = 16

// The alphabet of codes.four: bit i is set when there is a record of the i-th.
const (
	fourNone  = 1 << fourSize // no more of the list
	fourCount = fourNone + 1
)

// Contexts of codes.four: how many of the four before there was a record of.
const (
	afterNone = iota
	afterSome
	afterAll // and at first
	fourContexts
)

// afterFour is the context behind a symbol.
func afterFour(symbol int) int {
	switch symbol {
	case 0:
		return afterNone
	case fourNone - 1:
		return afterAll
	}
	return afterSome
}

// fours is how far a packet has come in a list.
type fours struct {
	members []member // of the four that is gone through
	keeper  listKeeper
	listed
}

// listed is how far a packet has come when a four is done.
type listed struct {
	at      int // entities that were gone through
	written int // fours that were written
	passed  int // empty ones since, of which nothing was written yet
	context int
}

// member is an entity of which there is to be a record.
type member struct {
	index uint32
	bit   int       // its place in the four
	usual bool      // the record is nothing but its body, which is shared
	body  bodyEntry // then
	of    *bodies   // where its bits are
	full  record    // else
}

// goAgain writes what is to be said of the entities of an earlier packet. It
// says false when the packet is full. What is not as usual is left to the
// others.
func (p *packetWriter) goAgain(before *sentPacket) bool {
	v := p.v
	p.again = true
	grouped := len(v.store.groups.of) > 0
	f := fours{members: v.four[:0], listed: listed{context: afterAll}}
	from, room := 0, true
	var copied *listMark
	if p.desk.lists.n > 0 {
		copied = p.copied(before, &f.keeper)
	}
	if copied != nil {
		from, f.listed = copied.at, copied.end
	} else if p.desk.lists.keeps() {
		f.keeper = p.keep(before)
	}
	first, until := from, from
	few := before.n-from < cmp.Or(p.desk.least, leastAtOnce)
	for i := from; i < before.n && room; i++ {
		e := v.sent.entry(before, i)
		if e.despawn {
			until = max(until, i+1)
			continue
		}
		if i == until && !few {
			next := v.sent.following(before, i)
			behind := next[min(ahead, len(next)):]
			next = next[:min(ahead, len(next))]
			if begun := f.at % fourSize; begun > 0 {
				next = next[:min(fourSize-begun, len(next))] // those behind may be swept
			} else if n := p.sweep(&f, next, behind, i, before.records); n > 0 {
				i, until = i+n-1, i+n
				continue
			}
			v.fetch(next)
			p.desk.fetch(next, v.unsent)
			p.makeAhead(next)
			first, until = i, i+len(next)
		}
		if grouped && v.store.groups.at(e.index) != 0 && v.store.groups.whole(e.index) == nil {
			f.keeper.own = true // how much is seen of a group so large is this client's own
		}
		var body *bodyEntry
		if !few {
			body = p.desk.sheaf.bodies[i-first]
		}
		switch inGroup := grouped && (v.groupOf(e.index) != nil || v.ties.has(e.index)); {
		case inGroup:
		case body != nil || p.candidate(e.index):
			p.join(&f, e.index, f.at%fourSize, body)
			f.keeper.own = f.keeper.own || v.touchedAt(e.index) > p.s
		case v.unsent.has(e.index) && !v.owed.has(e.index):
			f.keeper.own = true // why it does not go out now is this client's own
		}
		if f.at++; f.at%fourSize == 0 || f.at == before.records {
			room = p.four(&f, i+1)
		}
	}
	f.keeper.end(p)
	if f.written*fourSize < before.records {
		p.symbol(v.store.schema.codes.four, f.context, fourNone)
	}
	v.four = f.members[:0]
	p.again = false
	p.gone()
	return room
}

// join makes an entity a member of the four, if its record is as usual. Its body
// may have been made ahead.
func (p *packetWriter) join(f *fours, index uint32, at int, body *bodyEntry) {
	n := len(f.members)
	if n == cap(f.members) {
		f.members = append(f.members, member{})
	}
	f.members = f.members[:n+1]
	m := &f.members[n]
	m.index, m.bit, m.usual = index, 1<<at, false
	of := &p.desk.bodies
	if body != nil {
		of.used(body)
	} else {
		body, of = p.usual(index), p.bodies
	}
	if body != nil {
		m.body, m.of, m.usual = *body, of, true
		return
	}
	f.keeper.own = true
	if p.prepare(index, &m.full); m.full.odd {
		f.members = f.members[:n]
	}
}

// four writes a four that was gone through, or as much of it as there is room
// for; upTo is how many entries of the list that makes. It says false when the
// packet is full.
func (p *packetWriter) four(f *fours, upTo int) bool {
	all := len(f.members)
	if all == 0 {
		f.passed++
		f.keeper.done(p, f, nil, upTo)
		return true
	}
	n := min(all, maxRecords-p.waiting-p.sent.n)
	for n > 0 && !p.fits(func() { p.members(f, n) }) {
		n--
	}
	if n == 0 {
		f.members, f.passed, f.keeper.own = f.members[:0], f.passed+1, true
		index := f.members[:1][0].index
		return p.tooLarge(index) || p.passes(index)
	}
	symbol := 0
	for i := range n {
		m := &f.members[i]
		symbol |= m.bit
		if m.usual {
			p.wroteUsual(m.index, &m.body)
		} else {
			p.wrote(&m.full)
		}
	}
	f.written, f.passed, f.context = f.written+f.passed+1, 0, afterFour(symbol)
	f.keeper.own = f.keeper.own || n < all
	f.keeper.done(p, f, f.members, upTo)
	f.members = f.members[:0]
	return n == all || p.passes(f.members[:all][n].index)
}

// members writes the empty fours so far and the first n members of this one.
func (p *packetWriter) members(f *fours, n int) {
	t, context, symbol := p.v.store.schema.codes.four, f.context, 0
	for range f.passed {
		p.symbol(t, context, 0)
		context = afterNone
	}
	for i := range n {
		symbol |= f.members[i].bit
	}
	p.symbol(t, context, symbol)
	for i := range n {
		if m := &f.members[i]; m.usual {
			p.writeBody(&m.body, m.of)
		} else {
			p.entity(&m.full)
		}
	}
}

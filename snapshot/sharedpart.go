package snapshot

// listMark is how far a shared list has come: what came before is good for a
// client for whom it comes to the same, though more of the list does not.
type listMark struct {
	at      int       // entities of the list that was gone through, despawns included
	entries int       // records
	waits   int       // words of those that were asked for,
	wait    wordWaits // and the last of them so far
	bits    int
	uneven  int // records whose T′ is not that of most
	end     listed

	deltas, same uint64 // rows
}

const (
	// markEvery is how many entities lie between two marks. What lies between the last
	// one and what differs is written anew.
	markEvery = 32
	// mostParts is with how many lists is looked how much of one is the same.
	mostParts = 4
)

// end is the whole of a list that is kept.
func (m *sharedList) end() *listMark { return &m.marks[len(m.marks)-1] }

// waitsOf is which entities of the i-th word were asked for so far.
func (c *listMark) waitsOf(m *sharedList, i int) *wordWaits {
	if i == c.waits-1 {
		return &c.wait
	}
	return &m.waits[i]
}

// longest finds the list of which most comes to the same for this client, and up
// to which mark; i is -1 where nothing does.
func (p *packetWriter) longest(before *sentPacket) (i, at int) {
	l, tried, most := &p.desk.lists, 0, 0
	i = -1
	for k := range l.n {
		m := &l.kept[k]
		if !p.mayCome(m, before) || !p.comesTo(m, &m.marks[0], before) {
			continue
		}
		low, high := 0, len(m.marks)-1 // the one comes to the same, the other does not or is the end, which does not
		for low+1 < high {
			if middle := (low + high) / 2; p.comesTo(m, &m.marks[middle], before) {
				low = middle
			} else {
				high = middle
			}
		}
		if n := m.marks[low].entries; n > most {
			i, at, most = k, low, n
		}
		if tried++; tried == mostParts {
			break
		}
	}
	return i, at
}

// takePart writes as much of a list as comes to the same, and notes what the packet
// carries, as if it had been written one by one; the rest is kept with it or not.
func (p *packetWriter) takePart(m *sharedList, c *listMark, kept bool) {
	v := p.v
	p.copyBits(m, c)
	v.going = room(v.going, c.waits, usualList)
	for i := range c.waits {
		a := c.waitsOf(m, i)
		v.wentWord(a.word, a.wait)
	}
	if kept { // what is kept holds them
		v.sent.pass(p.sent, c.entries)
		return
	}
	v.sent.addAll(p.sent, m.entries[:c.entries], 0, true)
}

// takePart begins what is kept with that.
func (k *listKeeper) takePart(p *packetWriter, m *sharedList, at int) {
	l, c := k.list, &m.marks[at]
	if l == nil {
		return
	}
	l.listed = append(l.listed, m.listed[:c.at]...)
	l.waits = append(append(l.waits, m.waits[:c.waits-1]...), c.wait)
	l.uneven = append(l.uneven, m.uneven[:c.uneven]...)
	l.lean = m.lean
	l.entries = append(l.entries, m.entries[:c.entries]...)
	l.marks = append(l.marks, m.marks[:at+1]...)
	k.at, k.come, k.next = p.w, *c, c.at+k.every
}

// putMark marks how far the list has come, where it has a record.
func (k *listKeeper) putMark(m *sharedList) {
	c := &k.come
	if n := len(m.marks); n > 0 && m.marks[n-1].at == c.at {
		return
	}
	c.wait = m.waits[c.waits-1]
	m.marks = append(room(m.marks, 1, usualList), *c)
	k.next = c.at + k.every
}

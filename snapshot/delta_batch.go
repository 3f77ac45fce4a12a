package snapshot

import (
	"math/bits"

	"github.com/arche-netcode/netcode/delta"
	"github.com/arche-netcode/netcode/internal/plain"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/tick"
)

// deltaBatch encodes the deltas of up to delta.MaxStreams entities with the same rows, T and T' together, row by row. Other entities
// are encoded one by one when their record is prepared. The plain code that it equals is deltaCache.encode.
type deltaBatch struct {
	index    [delta.MaxStreams]uint32
	missing  [delta.MaxStreams]bool // a baseline of the entity is no longer in the history
	n        int
	room     int       // how many more records may fit the packet
	mask     Mask      // rows of all entities
	t        tick.Tick // T
	previous tick.Tick // T'
	columns  [delta.MaxStreamRows]delta.BatchColumn
	strands  delta.Batch
	made     [delta.MaxStreams]uint32 // numbers of the deltas, 0 if a baseline is missing
}

const (
	// leastTogether is the least number of deltas that are worth a batch.
	leastTogether = 4
	// leastRecord is about the least bits of a record. With it newBatch bounds how many records the packet may have room for.
	leastRecord = 24
)

// together reports whether deltas of these rows can be encoded in a batch: few rows with few lanes, and none that is sent whole.
func together(s *Schema, rows Mask) bool {
	if rows.IsZero() || rows.Overlaps(s.Whole) || rows.Count() > delta.MaxStreamRows {
		return false
	}
	for m := rows; !m.IsZero(); m = m.Rest() {
		if s.Widths[m.Lowest()] > delta.MaxStreamLanes {
			return false
		}
	}
	return true
}

// encodeAhead encodes the deltas of the unlisted entities of a word. It does nothing if the first entity has a delta: most often
// another client then needed all of them.
func (p *packetWriter) encodeAhead(w int, word uint64) {
	d := p.cache
	if bits.OnesCount64(word) < leastTogether {
		return
	}
	if d.deltas.first[firstOf(uint32(w), word)] != 0 {
		return
	}
	for b := p.newBatch(); b != nil && word != 0; word &= word - 1 {
		if p.addToBatch(b, uint32(w<<6+bits.TrailingZeros64(word))); b.n == delta.MaxStreams || word&(word-1) == 0 {
			p.encodeBound(b)
			b.n = 0
		}
	}
}

const (
	// fewEntities is the least number of entities of a page that make a batch alone, without other pages.
	fewEntities = 16
	// pagesAhead bounds the pages that share batches, and pairsAhead the different pairs of R and N among them.
	pagesAhead = 256
	pairsAhead = 4
)

// encodePagesAhead encodes the deltas of page w of a list. If few of its entities wait, it joins them with those of the pages behind
// it.
func (p *packetWriter) encodePagesAhead(w uint32, wait uint64) {
	v, end := p.v, w+1
	switch {
	case w < p.ahead:
		return
	case bits.OnesCount64(wait) < fewEntities:
		end = min(w+pagesAhead, uint32(len(v.pages)))
	}
	for range pairsAhead {
		b, u, others := p.newBatch(), w, 0
		for ; b != nil && u < end && b.n < delta.MaxStreams; u++ {
			others += p.addPage(b, u)
		}
		if b != nil && b.n == delta.MaxStreams && u > w+1 {
			u-- // the last page may have more
		}
		if b == nil || b.n < leastTogether {
			break
		}
		p.encodeBound(b)
		if end = u; others < leastTogether {
			break
		}
	}
	p.ahead = end
}

// addPage adds the entities of a page that wait to a batch. It returns how many have another T, T' or set of rows than the batch.
func (p *packetWriter) addPage(b *deltaBatch, w uint32) (others int) {
	wait := p.waitsIn(w)
	if wait == 0 {
		return 0
	}
	g := &p.v.pages[w]
	p.setPage(g)
	of, usual := p.usualIn(g, w, wait)
	if !usual {
		of = wait
	}
	for ; of != 0 && b.n < delta.MaxStreams; of &= of - 1 {
		index, other := firstOf(w, of), false
		if usual {
			other = p.addVersion(b, index, p.v.maskOf(index), g.ref, p.usualPrevious(g, index))
		} else {
			other = p.addToBatch(b, index)
		}
		if other {
			others++
		}
	}
	return others
}

// newBatch returns an empty batch, nil if nothing is to be encoded ahead.
func (p *packetWriter) newBatch() *deltaBatch {
	b := &p.cache.batch
	b.n, b.room = 0, (p.limit-p.w.Bits())/leastRecord
	if plain.On || b.room < leastTogether || p.v.store.watch != nil {
		return nil
	}
	return b
}

// addToBatch adds an entity to a batch if its record will be implicit. See addVersion.
func (p *packetWriter) addToBatch(b *deltaBatch, index uint32) (other bool) {
	v, s := p.v, p.v.store
	if !p.candidate(index) {
		return false
	}
	ack, rows := v.ack(index), v.maskOf(index)
	base := ack.base
	if rows.Overlaps(s.schema.Whole) {
		return false
	}
	if p.inList {
		if base = p.page.ref; v.otherRows(index, base) {
			return false
		}
	} else if v.shown(index, rows) != rows || !ack.newestUpTo(p.upTo) {
		return false
	}
	previous, known := p.previous(index, &ack)
	return base != tick.None && known && p.addVersion(b, index, rows, base, previous)
}

// addVersion adds an entity to a batch unless its delta was encoded already. It returns other true if the entity has another T, T' or
// set of rows than the batch.
func (p *packetWriter) addVersion(b *deltaBatch, index uint32, rows Mask, base, previous tick.Tick) (other bool) {
	s := p.v.store
	if p.cache.deltas.find(index, rows, base, previous) != 0 {
		return false
	}
	if b.n == 0 {
		if p.s-base >= s.cfg.Window || !together(s.schema, rows.Minus(s.schema.Tags)) {
			return false
		}
		b.mask, b.t, b.previous = rows, base, previous
	}
	if rows != b.mask || base != b.t || previous != b.previous {
		return true
	}
	if b.room > 0 {
		b.index[b.n] = index
		b.n++
		b.room--
	}
	return false
}

// encodeBound encodes a batch if it is large enough.
func (p *packetWriter) encodeBound(b *deltaBatch) {
	if b != nil && b.n >= leastTogether {
		p.cache.deltas.addAll(p.v.store, b)
	}
}

// addAll encodes a batch and stores its deltas. None of them may be in the cache.
func (c *deltaCache) addAll(s *Store, of *deltaBatch) {
	rows := of.mask.Minus(s.schema.Tags)
	of.make(s, rows, of.t, of.previous)
	for k, index := range of.index[:of.n] {
		if of.made[k] = 0; of.missing[k] {
			continue
		}
		of.made[k] = c.add(s, index, of.mask, of.t, of.previous)
		e := &c.entries[of.made[k]]
		word, all := of.strands.Word(k)
		e.word, e.bits, e.deltas = word, uint32(of.strands.Bits(k)), uint8(of.strands.Rows(k))
		e.same = uint8(rows.Count()) - e.deltas
		if !all {
			c.code.Reserve(usualWords)
			c.code.AppendStream(&of.strands, k)
		}
	}
}

// make encodes the deltas into the batch's streams of bits.
func (b *deltaBatch) make(s *Store, rows Mask, t, previous tick.Tick) {
	columns, v := b.gatherRows(s, rows, t, previous)
	b.strands.Begin(b.n, s.schema.Codes.Which[len(columns)-1], columns, &v)
	for m, i := rows, 0; !m.IsZero(); m, i = m.Rest(), i+1 {
		row := m.Lowest()
		s.schema.Codes.Deltas[row].CodeColumn(&b.strands, &columns[i], &v)
	}
}

// gatherRows fills the columns with the versions of all rows, and returns them. It finds the versions of all columns first and prefetches
// them, so that it waits for all of them at once.
func (b *deltaBatch) gatherRows(s *Store, rows Mask, t, previous tick.Tick) ([]delta.BatchColumn, quantize.Baselines) {
	v := quantize.Baselines{Age: int64(s.tick - t), Span: int64(t - previous)}
	if previous != tick.None {
		v.Before = b.index[:] // any slice but nil: only its being there counts
	}
	n := 0
	clear(b.missing[:b.n])
	for m := rows; !m.IsZero(); m = m.Rest() {
		b.find(s, &b.columns[n], m.Lowest(), t, previous)
		b.columns[n].Touch(b.n)
		n++
	}
	for i := range b.columns[:n] {
		b.columns[i].Load(b.n)
	}
	return b.columns[:n], v
}

// find begins a column with the places of all versions of a row. The result is that of Store.versions. Most rows changed in the ticks
// after T and T', so that the entries of a stripe in these ticks have the versions of many rows.
func (b *deltaBatch) find(s *Store, c *delta.BatchColumn, row int, t, previous tick.Tick) {
	h, stride := &s.past, ageLanes+int(s.schema.Widths[row])
	s.schema.Codes.Deltas[row].BeginColumn(c)
	stripes := h.rows[row].stripes
	for k := 0; k < b.n; {
		number, both := b.index[k]/stripeRows, uint64(0)
		var atT, before *undoEntry
		if int(number) < len(stripes) && previous != tick.None {
			newest := stripes[number].newest
			if x, y := h.guess(newest, t), h.guess(newest, previous); x != 0 && y != 0 {
				atT, before = h.at(x), h.at(y)
				both = atT.there & before.there
			}
		}
		for ; k < b.n && b.index[k]/stripeRows == number; k++ {
			index := b.index[k]
			if bit := uint64(1) << (index % stripeRows); both&bit != 0 {
				c.Point(k, s.rows.row(index, row), h.old(atT, bit, stride)[ageLanes:], h.old(before, bit, stride)[ageLanes:])
			} else {
				b.findOne(s, c, k, row, t, previous)
			}
		}
	}
}

// findOne does what find does for the k-th entity.
func (b *deltaBatch) findOne(s *Store, c *delta.BatchColumn, k, row int, t, previous tick.Tick) {
	e := cachedDelta{index: b.index[k], t: t, previous: previous}
	r := rowVersions{row: row}
	if !s.versions(&r, &e) {
		b.missing[k] = true
		r.base, r.previous = r.now, r.now
	}
	if previous == tick.None {
		r.previous = r.base
	}
	c.Point(k, r.now, r.base, r.previous)
}

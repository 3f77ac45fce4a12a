package snapshot

import (
	"math/bits"

	"github.com/arche-netcode/netcode/delta"
	"github.com/arche-netcode/netcode/internal/plain"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/tick"
)

// batchEntities is the entities of a batch. They have the same rows, T and T'.
type batchEntities struct {
	index    [delta.MaxStreams]uint32
	n        int
	mask     Mask      // rows of all entities
	t        tick.Tick // T
	previous tick.Tick // T'
}

// deltaBatch encodes the deltas of its entities together, row by row. Other entities are encoded one by one when their record is
// prepared. The plain code that it equals is deltaCache.encode.
type deltaBatch struct {
	batchEntities
	missing [delta.MaxStreams]bool // a baseline of the entity is no longer in the history
	columns [delta.MaxStreamRows]delta.BatchColumn
	pages   int                                             // different pages of the entities
	ends    [delta.MaxStreams]int                           // by page: number of the first entity behind it
	held    [delta.MaxStreamRows][delta.MaxStreams]heldPage // by column and page
	strands delta.Batch
	made    [delta.MaxStreams]uint32 // numbers of the deltas, 0 if a baseline is missing
}

// heldPage has the versions of one row of a page: now, at T and at T'.
type heldPage struct {
	rows         delta.RowSlice
	log          *pageLog
	base, before uint32 // numbers of the first images after T and after T'; both of T if there is no T'
	rests        bool   // nothing has changed since T'
	apart        bool   // the page rests, or its versions are not in these two images
}

const (
	// leastTogether is the least number of deltas that are worth a batch.
	leastTogether = 4
	// leastRecord is about the least bits of a record. With it openQueues bounds how many records the packet may have room for.
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

const (
	// fewEntities is the least number of entities of a page that make a batch alone, without other pages.
	fewEntities = 16
	// pagesAhead bounds the pages that share batches, and pairsAhead the batches that are filled at once.
	pagesAhead = 256
	pairsAhead = 4
)

// encodePagesAhead encodes the deltas of page w of a list. If few of its entities wait, it joins them with those of the pages behind
// it.
func (p *packetWriter) encodePagesAhead(w uint32, wait uint64) {
	end := w + 1
	switch {
	case w < p.ahead || !p.openQueues():
		return
	case bits.OnesCount64(wait) < fewEntities:
		end = min(w+pagesAhead, uint32(len(p.v.pages)))
	}
	for p.ahead = w; p.ahead < end && p.cache.room > 0; p.ahead = uint32(p.v.seenFrom(int(p.ahead) + 1)) {
		p.addPage(p.ahead)
	}
	p.cache.encodeQueues()
}

// addPage adds the entities of a page that wait to the queues.
func (p *packetWriter) addPage(w uint32) {
	wait := p.waitsIn(w)
	if wait == 0 {
		return
	}
	g := p.v.pages[w]
	p.setPage(g)
	of, usual := p.usualIn(g, w, wait)
	if !usual {
		of = wait
	}
	for ; of != 0; of &= of - 1 {
		if index := firstOf(w, of); usual {
			p.addVersion(index, p.v.maskOf(index), g.ref, p.usualPrevious(g, index))
		} else {
			p.encodeLater(index)
		}
	}
}

// openQueues makes the queues ready. It returns false if nothing is to be encoded ahead.
func (p *packetWriter) openQueues() bool {
	p.cache.room = (p.limit - p.w.Bits()) / leastRecord
	return !plain.On && p.cache.room >= leastTogether && p.v.store.watch == nil
}

// encodeLater adds an entity to the queues if its record will be in the list.
func (p *packetWriter) encodeLater(index uint32) {
	v, rows := p.v, p.v.maskOf(index)
	if !p.candidate(index) || rows.Overlaps(v.store.schema.Whole) || v.otherRows(index, p.page.ref) {
		return
	}
	ack := v.ack(index)
	if previous, known := p.previous(index, &ack); known {
		p.addVersion(index, rows, p.page.ref, previous)
	}
}

// addVersion adds an entity to the queue of its rows, T and T', unless its delta was encoded already. A full queue is encoded.
func (p *packetWriter) addVersion(index uint32, rows Mask, base, previous tick.Tick) {
	d, s := p.cache, p.v.store
	if d.room == 0 || d.deltas.find(index, rows, base, previous) != 0 {
		return
	}
	for i := range d.queues {
		q := &d.queues[i]
		if q.n == 0 {
			if p.s-base >= s.cfg.Window || !together(s.schema, rows.Minus(s.schema.Tags)) {
				return
			}
			q.mask, q.t, q.previous = rows, base, previous
		} else if q.t != base || q.previous != previous || q.mask != rows {
			continue
		}
		q.index[q.n] = index
		d.room--
		if q.n++; q.n == delta.MaxStreams {
			d.encodeQueue(q)
		}
		return
	}
}

// encodeQueues encodes and empties the queues.
func (d *EncodeCache) encodeQueues() {
	for i := range d.queues {
		d.encodeQueue(&d.queues[i])
	}
}

// encodeQueue encodes a queue if it is large enough, and empties it.
func (d *EncodeCache) encodeQueue(q *batchEntities) {
	if q.n >= leastTogether {
		d.batch.batchEntities = *q
		d.deltas.addAll(d.store, &d.batch)
	}
	q.n = 0
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

// gatherRows fills the columns with the versions of all rows, and returns them.
func (b *deltaBatch) gatherRows(s *Store, rows Mask, t, previous tick.Tick) ([]delta.BatchColumn, quantize.Baselines) {
	v := quantize.Baselines{Age: int64(s.tick - t), Span: int64(t - previous)}
	if previous != tick.None {
		v.Before = b.index[:] // any slice but nil: only its being there counts
	}
	n := 0
	clear(b.missing[:b.n])
	b.split()
	for m, i := rows, 0; !m.IsZero(); m, i = m.Rest(), i+1 {
		b.look(s, i, m.Lowest(), t, previous)
	}
	for m, i := rows, 0; !m.IsZero(); m, i = m.Rest(), i+1 {
		b.touch(s, i, m.Lowest())
	}
	for m := rows; !m.IsZero(); m, n = m.Rest(), n+1 {
		b.gather(s, n, m.Lowest(), t, previous)
	}
	return b.columns[:n], v
}

// split finds the pages of the entities.
func (b *deltaBatch) split() {
	b.pages = 0
	for k := 0; k < b.n; b.pages++ {
		for page := b.index[k] / format.PageEntities; k < b.n && b.index[k]/format.PageEntities == page; {
			k++
		}
		b.ends[b.pages] = k
	}
}

// look begins the i-th column. It finds the images of its row at T and T', page by page. It, touch and gather visit all pages one after
// the other, so that each waits for the memory of all pages at once.
func (b *deltaBatch) look(s *Store, i, row int, t, previous tick.Tick) {
	s.schema.Codes.Deltas[row].BeginColumn(&b.columns[i])
	oldest := t
	if previous != tick.None {
		oldest = previous
	}
	for n, end := range b.ends[:b.pages] {
		h := &b.held[i][n]
		h.rows.InBase = 0
		if h.log = s.past.page(row, b.index[end-1]/format.PageEntities); h.log != nil {
			h.before, h.base = h.log.after(oldest), h.log.after(t)
		}
		h.rests = h.log == nil || oldest >= s.past.horizon && h.before == h.log.next
		h.apart = h.rests || oldest < s.past.horizon || h.base == h.log.next
	}
}

// touch finds where the versions of the i-th column lie, and prefetches them. A page has no rows if it has not changed since T, or if a
// change since T or T' may be forgotten.
func (b *deltaBatch) touch(s *Store, i, row int) {
	from := 0
	for n, end := range b.ends[:b.pages] {
		if h := &b.held[i][n]; !h.apart {
			page := b.index[from] / format.PageEntities
			h.rows.First, h.rows.Now = page*format.PageEntities, s.rows.page(page, row)
			h.rows.Base, h.rows.InBase = s.past.packed(h.log.at(h.base))
			h.rows.Before, h.rows.InBefore = s.past.packed(h.log.at(h.before))
			b.columns[i].Touch(b.index[from:end], &h.rows)
		}
		from = end
	}
}

// gather fills the i-th column, page by page: rows of a page that rests, then those that both images of the page have, then others by
// Store.versions.
func (b *deltaBatch) gather(s *Store, i, row int, t, previous tick.Tick) {
	c, k := &b.columns[i], 0
	for n, end := range b.ends[:b.pages] {
		for h := &b.held[i][n]; k < end; {
			if to := c.Take(k, b.index[:b.n], &h.rows); to > k {
				k = to
				continue
			}
			if now := s.rows.row(b.index[k], row); h.rests {
				c.Put(k, now, now, now)
			} else {
				b.find(s, c, k, row, t, previous)
			}
			k++
		}
	}
}

// find fills in the versions of a row of the k-th entity by Store.versions.
func (b *deltaBatch) find(s *Store, c *delta.BatchColumn, k, row int, t, previous tick.Tick) {
	e := cachedDelta{index: b.index[k], t: t, previous: previous}
	r := rowVersions{row: row}
	if !s.versions(&r, &e) {
		b.missing[k] = true
		r.base, r.previous = r.now, r.now
	}
	if previous == tick.None {
		r.previous = r.base
	}
	c.Put(k, r.now, r.base, r.previous)
}

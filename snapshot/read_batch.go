package snapshot

import (
	"math/bits"

	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// Where a page has records of both R and N, what its rows are expected to be is known before the first bit is read. It is then computed for a
// batch of entities, a component of all before the next. Each record comes to what decodeListed makes of it; tests hold them against each other.

// readBatch is entities of a list whose rows are extrapolated together.
type readBatch struct {
	first     int  // where in its page the first of them is
	fit       uint // bit k: the k-th is one of them
	mask      Mask // rows of each
	width     int  // lanes of each
	rows      []batchRow
	age, span int64                      // ticks from R to S, and from N to R
	old, near []uint32                   // all lanes of R and of N
	base      [wire.MaxExpected]*version // by entity: its record of R
	baseAt    [wire.MaxExpected]int32    // where its lanes begin,
	nearAt    [wire.MaxExpected]int32    // and those of its record of N
	reader    wire.RowReader
}

// batchRow is a row of a batch.
type batchRow struct {
	row, at, width int // of the schema, and its lanes
	delta          *wire.Delta
	expected       wire.Expected
	which          [wire.MaxExpected]uint16 // of the first of whichRows: the context of the symbol that says which of them changed
}

// begin makes the batch that of some entities of a list, at most wire.MaxExpected.
func (g *readBatch) begin(r *Replica, s tick.Tick, l *readList, of []spot) {
	g.fit = 0
	if l.near == tick.None || r.apart {
		return
	}
	nears, base, near := l.nears, r.past.block(l.ref), r.past.block(l.near)
	base.settle()
	near.settle()
	for k, at := range of {
		for len(nears) > 0 && nears[0].index < at.index {
			nears = nears[1:]
		}
		if len(nears) == 0 {
			break
		}
		if nears[0].index != at.index || at.place < 0 || nears[0].place < 0 {
			continue
		}
		v, w := &base.versions[at.place], &near.versions[nears[0].place]
		if r.heads[at.index] != v.life || r.lives[v.life].generation != v.generation || w.life != v.life || w.mask != v.mask {
			continue
		}
		if g.fit == 0 && !g.shape(r, v.mask) || v.mask != g.mask {
			continue
		}
		g.fit |= 1 << k
		g.base[k], g.baseAt[k], g.nearAt[k] = v, v.first, w.first
	}
	if g.fit == 0 {
		return
	}
	g.age, g.span, g.old, g.near = int64(s-l.ref), int64(l.ref-l.near), base.lanes, near.lanes
	g.expect(r, len(of))
}

// shape makes the rows of the batch those of a mask. It is false for a mask with rows that travel whole, or none but tags.
func (g *readBatch) shape(r *Replica, mask Mask) bool {
	if mask&r.schema.whole != 0 || mask&^r.schema.tags == 0 {
		return false
	}
	if g.mask == mask {
		return true
	}
	shape := r.shapes.of(mask)
	g.mask, g.width = mask, shape.lanes
	g.rows = g.rows[:0]
	for m := mask &^ r.schema.tags; m != 0; m &= m - 1 {
		row := m.next()
		g.rows = append(room(g.rows, 1, whichRows), batchRow{row: row, delta: r.schema.codes.deltas[row], at: int(shape.at[row]), width: int(shape.width[row])})
	}
	return true
}

// expect extrapolates the rows of the batch.
func (g *readBatch) expect(r *Replica, n int) {
	any := bits.TrailingZeros(g.fit)
	for k := range n {
		if g.fit>>k&1 == 0 { // what comes of it is not read
			g.baseAt[k], g.nearAt[k] = g.baseAt[any], g.nearAt[any]
		}
	}
	for i := range g.rows {
		row := &g.rows[i]
		row.delta.Expect(&row.expected, g.old[row.at:], g.near[row.at:], g.baseAt[:n], g.nearAt[:n], g.age, g.span)
	}
	for first := 0; first < len(g.rows); first += whichRows {
		rows := g.rows[first:min(first+whichRows, len(g.rows))]
		which, to := r.schema.codes.which[len(rows)-1].SymbolReader(), &rows[0].which
		for k := range n {
			moved := uint(0)
			for i := range rows {
				moved |= rows[i].expected.Moved(k) << i
			}
			context := wire.WhichContext(len(rows), moved, true, g.age)
			which.Want(context)
			to[k] = uint16(context)
		}
	}
}

// decodePlaced reads the record of the k-th entity of a page.
func (r *Replica) decodePlaced(b *wire.BitReader, s tick.Tick, l *readList, of []spot, k int) error {
	g := &r.stage.batch
	if from := k &^ (wire.MaxExpected - 1); g.first != from {
		g.first = from
		g.begin(r, s, l, of[from:min(from+wire.MaxExpected, len(of))])
	}
	if g.fit>>(k-g.first)&1 == 0 {
		return r.decodeListed(b, s, l, of[k])
	}
	if !r.decodeExpected(b, s, of[k], k-g.first) {
		return r.malformed()
	}
	return nil
}

// decodeExpected is decodeListed for the k-th entity of the batch. It returns false for what is not legal.
func (r *Replica) decodeExpected(b *wire.BitReader, s tick.Tick, at spot, k int) bool {
	g, t := &r.stage.batch, &r.stage
	base := g.base[k]
	v := t.add(s, at.index, base.generation)
	v.base, v.basePlace, v.mask = base.tick, at.place, base.mask
	t.extend(g.width)
	lanes, from := t.lanes[v.first:][:g.width], g.old[g.baseAt[k]:][:g.width]
	q := &g.reader
	q.Begin(b)
	for first := 0; first < len(g.rows); first += whichRows {
		rows := g.rows[first:min(first+whichRows, len(g.rows))]
		changed, ok := q.Symbol(r.schema.codes.which[len(rows)-1].SymbolReader(), int(rows[0].which[k]))
		if !ok {
			return false
		}
		for i := range rows {
			row := &rows[i]
			to, was := lanes[row.at:row.at+row.width], from[row.at:row.at+row.width]
			switch {
			case changed>>i&1 == 0:
				copy(to, was)
				continue
			case !q.Row(row.delta, &row.expected, k, to, was) && !g.readRow(b, row, k, to, was):
				return false
			}
			v.moved |= bit(row.row)
		}
	}
	q.End(b)
	return true
}

// readRow reads a row that the reader of the batch does not.
func (g *readBatch) readRow(b *wire.BitReader, row *batchRow, k int, lanes, base []uint32) bool {
	v := wire.Versions{Base: base, Before: g.near[int(g.nearAt[k])+row.at:][:row.width], Age: g.age, Span: g.span, Miss: g.reader.Miss()}
	g.reader.End(b)
	if !row.delta.Read(b, lanes, &v) {
		return false
	}
	g.reader.Resume(b, v.Miss)
	return true
}

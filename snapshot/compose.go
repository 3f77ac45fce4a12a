package snapshot

import (
	"math/bits"

	"github.com/arche-netcode/netcode/wire"
)

// measure is what a packet takes, while it is picked.
type measure struct {
	codes      *codes
	rows       int // of the schema
	bits       int
	last       uint32
	open       bool // a run
	n          int  // records in it behind the first
	mask       Mask
	generation uint32
	rowBits    int
	floats     bool
}

// goesOn reports whether a record would go on with the run.
func (m *measure) goesOn(index, generation uint32, mask Mask) bool {
	return m.open && m.n < mostInRun && index == m.last && generation == m.generation && mask == m.mask
}

// add counts a record.
func (m *measure) add(s *Schema, index, generation uint32, mask Mask, run bool) {
	if run {
		if m.n == 0 {
			m.bits = (m.bits+1+7)&^7 + 8
		}
		m.n++
		m.bits += m.rowBits
		m.last = index + 1
		return
	}
	m.endRun()
	if mask != m.mask || m.rowBits == 0 {
		m.mask, m.rowBits, m.floats = mask, s.rowBits(mask), s.onlyFloats(mask)
	}
	m.bits += m.gap(index-m.last) + 1 + varBits(generation) + m.rows + m.rowBits
	m.last, m.generation, m.open = index+1, generation, m.floats
}

// gap is how many bits a gap takes.
func (m *measure) gap(gap uint32) int {
	symbol, _, raw := gapSymbol(gap, true)
	_, length := m.codes.gap.Bits(0, symbol)
	return int(length + raw)
}

func (m *measure) endRun() {
	if m.open && m.n == 0 {
		m.bits++
	}
	m.open, m.n = false, 0
}

// size is how many bytes the packet has if it ends here.
func (m *measure) size() int {
	m2 := *m
	m2.endRun()
	_, length := m.codes.gap.Bits(0, gapEnd)
	return (m2.bits + int(length) + 7) / 8
}

// rowBits is how many bits rows take whole.
func (s *Schema) rowBits(mask Mask) (n int) {
	for m := mask &^ s.tags; m != 0; m &= m - 1 {
		n += s.plans[m.next()].Bits()
	}
	return n
}

func firstOf(word uint32, of uint64) uint32 { return word<<6 + uint32(bits.TrailingZeros64(of)) }

// compose makes the next packet of a round. It says false when nothing is left that goes in rounds.
func (p *packetWriter) compose(r *round, q *roundPacket) bool {
	v, s := p.v, p.v.store
	b := packetWriter{v: v, desk: p.desk, w: wire.NewBitWriter(q.room[:v.payload]), s: p.s}
	b.header()
	b.w.Write(0, 2) // neither despawns nor lists
	begun := measure{codes: &s.schema.codes, rows: s.schema.Rows(), bits: b.w.Bits()}
	apart := r.pick(s, begun, v.payload)
	if len(r.picked) == 0 {
		return false
	}
	q.rows = 0
	for _, index := range r.picked {
		b.whole(index, &apart)
		q.rows += uint64((s.rows.masks[index] &^ s.schema.tags).Count())
		q.note(index, s.rows.masks[index])
		r.rest.unset(index)
	}
	b.endRun()
	b.symbol(s.schema.codes.gap, 0, gapEnd)
	q.code = q.room[:b.w.Finish()]
	q.tail = wire.Tail{} // made when it is copied
	return true
}

// note notes a record.
func (q *roundPacket) note(index uint32, mask Mask) {
	w, bit := index>>6, uint64(1)<<(index&63)
	q.n++
	if last := len(q.groups) - 1; last >= 0 && q.groups[last].word == w && q.groups[last].rows == mask {
		q.groups[last].of |= bit
		return
	}
	q.groups = append(q.groups, sentGroup{of: bit, rows: mask, word: w})
}

// whole writes a record: by itself where it cannot go on with a run, or is not to.
func (p *packetWriter) whole(index uint32, a *apart) {
	s := p.v.store
	mask, generation := s.rows.masks[index], s.gens[index]
	u := &p.run
	if u.open && u.n < mostInRun && index == p.last && generation == u.generation && mask == u.mask && !a.take(u.n) {
		if u.n == 0 {
			p.w.Bool(true)
			p.w.Align()
			u.at = p.w.Bits() / 8
			p.w.Write(0, 8)
		}
		u.n++
		p.last = index + 1
		p.floats(index, mask)
		return
	}
	p.gap(index, true)
	p.w.Bool(false)
	p.w.Var(uint64(generation))
	p.w.Write(uint64(mask), uint(s.schema.Rows()))
	if s.schema.onlyFloats(mask) {
		p.floats(index, mask)
		*u = openRun{open: true, generation: generation, mask: mask}
		return
	}
	for told := mask &^ s.schema.tags; told != 0; told &= told - 1 {
		p.absolute(index, told.next())
	}
}

// floats writes rows that are nothing but exact floats.
func (p *packetWriter) floats(index uint32, mask Mask) {
	c := &p.v.store.rows
	page, in := index/pageRows, int(index%pageRows)
	for told := mask &^ c.schema.tags; told != 0; told &= told - 1 {
		row := told.next()
		n := int(c.schema.widths[row])
		p.w.Lanes(c.pages[row][page][in*n:][:n])
	}
}

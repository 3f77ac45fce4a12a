package wire

import (
	"encoding/binary"
	"math"
	"math/bits"
)

// Expect finds out of n rows of a column in which lanes they differ, and how far the lanes are from what is expected of
// them. Of v it is Age, Span and whether there is Before that count, here and in CodeColumn.
func (d *Delta) Expect(c *Column, n int, v *Versions) {
	span := v.Span
	if v.Before == nil {
		span = 1 // where it has no meaning
	}
	clear(c.changed[:n])
	clear(c.moved[:n])
	clear(c.odd[:n])
	if d.row == rowLines && d.ready {
		for i := range d.lanes {
			d.lineOf(c, n, i, v.Age, span)
		}
		return
	}
	d.compareAll(c, n)
	if d.row != rowTurn || !d.ready {
		copy(c.odd[:n], c.changed[:n])
		return
	}
	d.turnsOf(c, n, v.Age, span)
}

// compareAll finds out in which lanes rows differ.
func (d *Delta) compareAll(c *Column, n int) {
	lanes := uint8(1)<<(len(d.lanes)&7) - 1
	for k := range c.Now[:n] {
		a, b, o := &c.Now[k], &c.Base[k], &c.Before[k]
		c.changed[k] = lanes & uint8(bit(a[0] != b[0])|bit(a[1] != b[1])<<1|bit(a[2] != b[2])<<2|bit(a[3] != b[3])<<3)
		c.moved[k] = lanes & uint8(bit(b[0] != o[0])|bit(b[1] != o[1])<<1|bit(b[2] != o[2])<<2|bit(b[3] != o[3])<<3)
	}
}

// lineOf is Expect for a lane of rows of lines: Delta.lines. It calls nothing and has no branch that depends on a row.
func (d *Delta) lineOf(c *Column, n, i int, age, span int64) {
	i &= groupLanes - 1
	top, shift := int64(1)<<(d.lanes[i].bits&63)-1, uint(i)&7
	for k := range c.Now[:n] {
		now, base, before := c.Now[k][i], c.Base[k][i], c.Before[k][i]
		c.changed[k] |= uint8(bit(now != base)) << shift
		c.moved[k] |= uint8(bit(base != before)) << shift
		movement := int64(base) - int64(before)
		if age|span != 1 {
			movement = divide(movement*age, span)
		}
		c.off[k][i].set(int64(now)-min(max(int64(base)+movement, 0), top), movement)
	}
}

// set folds a distance by the sign of the movement.
func (o *offset) set(distance, movement int64) {
	side := movement >> 63
	distance = distance ^ side - side
	o.distance = uint64(distance<<1 ^ distance>>63)
	o.context = min(bits.Len64(uint64(movement^side-side)), movementSteps) * misses
}

// turnsOf is Expect for rotations: Delta.turn. What takes long, roots and divisions, is begun for one row while others wait
// for theirs.
func (d *Delta) turnsOf(c *Column, n int, age, span int64) {
	m, whole := d.m, 2*d.m*d.m
	for k := range c.Now[:n] {
		r0, r1, r2, changed := &c.Now[k], &c.Base[k], &c.Before[k], c.changed[k]
		if changed == 0 {
			continue
		}
		if c.odd[k] = changed; changed&1 != 0 || ((r1[0]^r2[0])|(r0[0]^r1[0]))&3 != 0 {
			continue
		}
		x, y, z := 2*int64(r1[1])-m, 2*int64(r1[2])-m, 2*int64(r1[3])-m
		a, b, e := 2*int64(r2[1])-m, 2*int64(r2[2])-m, 2*int64(r2[3])-m
		w := int64(math.Sqrt(float64(max(whole-x*x-y*y-z*z, 0)))) // as components does
		u := int64(math.Sqrt(float64(max(whole-a*a-b*b-e*e, 0))))
		dot := x*a + y*b + z*e + w*u
		a, b, e, u = x-a, y-b, z-e, w-u
		if age|span != 1 {
			a, b, e, u = d.far(a, age, span), d.far(b, age, span), d.far(e, age, span), d.far(u, age, span)
		}
		moved := a | b | e | u
		a, b, e, u = x+a, y+b, z+e, w+u
		square := a*a + b*b + e*e + u*u
		if moved == 0 {
			square = whole // as long as it was
		}
		if dot < 0 || u < 0 || square == 0 {
			continue
		}
		c.odd[k], c.square[k] = 0, uint64(square)
		c.to[k] = [groupLanes]int64{1: a, 2: b, 3: e}
	}
	for k := range c.Now[:n] {
		changed := c.changed[k] &^ c.odd[k]
		if changed == 0 {
			continue
		}
		length := root(c.square[k] << 16)
		for ; changed != 0; changed &= changed - 1 {
			i := bits.TrailingZeros8(changed) & 3
			to, base := c.to[k][i], int64(c.Base[k][i])
			sign := to >> 63
			q := int64((uint64(to^sign-sign)*d.length + length/2) / length)
			predicted := min(max((q^sign-sign+m+1)>>1, 0), m)
			c.off[k][i].set(int64(c.Now[k][i])-predicted, predicted-base)
		}
	}
}

// CodeColumn is Delta.Code for the rows of a column that differ, one to each strand. Expect has been asked about it.
func (d *Delta) CodeColumn(s *Strands, c *Column, v *Versions) {
	if d.ready && d.row != rowOther {
		d.tokensOf(s, c, v)
	}
	for k := range s.n {
		if c.odd[k] != 0 {
			d.codeOdd(s, c, k, v)
		}
	}
}

// tokensOf writes the symbol and the tokens of the rows that do not go their own way: Delta.tokens for all of them.
func (d *Delta) tokensOf(s *Strands, c *Column, v *Versions) {
	g, class := &d.groups[0], AgeClass(v.Age)
	of, age := 1<<(uint(g.count)&7), class*contextsPerAge
	context, known := class*(of+1)+of, 0
	if v.Before != nil {
		context, age, known = class*(of+1), age+misses, 0xFF
	}
	for k := range s.n {
		changed := uint(c.changed[k] &^ c.odd[k])
		if changed == 0 {
			continue
		}
		st := &s.strands[k]
		which := (context+int(c.moved[k])&known)*of + int(changed)
		e := g.flat[which].Load()
		if e == 0 {
			e = g.table.unfold(which/of, int(changed))
		}
		acc, n, at, miss := st.acc|uint64(e&0xFFFF)<<(st.n&63), st.n+uint(e>>16), st.at, st.miss
		for ; changed != 0; changed &= changed - 1 {
			i := bits.TrailingZeros(changed) & 3
			l, o := &d.lanes[i], &c.off[k][i]
			row, e := age+o.context+miss, uint32(0)
			if o.distance < shortTokens {
				e = l.short[row*shortTokens+int(o.distance)].Load()
			}
			code, size := uint64(e&(1<<shortSize-1)), uint(e>>shortSize)
			if e == 0 {
				code, size = l.long(o.distance, row)
			}
			if n+size >= 64 {
				binary.LittleEndian.PutUint64(s.bits[at:], acc)
				at, acc, n = at+int(n>>3), acc>>(n&^7&63), n&7
			}
			acc |= code << (n & 63)
			n += size
			miss = int(bit(o.distance > 2) + bit(o.distance > 30))
		}
		binary.LittleEndian.PutUint64(s.bits[at:], acc)
		st.at, st.acc, st.n, st.miss = at+int(n>>3), acc>>(n&^7&63), n&7, miss
	}
}

// codeOdd codes a row that goes its own way.
func (d *Delta) codeOdd(s *Strands, c *Column, k int, v *Versions) {
	n, st := len(d.lanes), &s.strands[k]
	of := Versions{Base: c.Base[k][:n], Age: v.Age, Span: v.Span, Miss: st.miss}
	if v.Before != nil {
		of.Before = c.Before[k][:n]
	}
	w := &s.words
	w.Reset()
	d.Code(w, c.Now[k][:n], &of, uint64(c.changed[k]), uint64(c.moved[k]))
	size := uint(w.Bits())
	w.Finish()
	for _, word := range w.list {
		for i := 0; i < 2 && size > 0; i++ {
			some := min(size, 32)
			s.put(st, word&(1<<32-1), some)
			word, size = word>>32, size-some
		}
	}
	st.miss = of.Miss
}

package wire

import (
	"encoding/binary"
	"math"
	"math/bits"
)

// CompareAll finds out of n rows of a column in which lanes they differ.
func (d *Delta) CompareAll(c *Column, n int) {
	lanes, any := uint8(1)<<(len(d.lanes)&7)-1, uint8(0)
	for k := range c.Now[:n] {
		a, b, o := &c.Now[k], &c.Base[k], &c.Before[k]
		b0, b1 := uint64(b[0])|uint64(b[1])<<32, uint64(b[2])|uint64(b[3])<<32
		changed := lanes & differing((uint64(a[0])|uint64(a[1])<<32)^b0, (uint64(a[2])|uint64(a[3])<<32)^b1)
		c.changed[k] = changed
		c.moved[k] = lanes & differing((uint64(o[0])|uint64(o[1])<<32)^b0, (uint64(o[2])|uint64(o[3])<<32)^b1)
		any |= changed
	}
	c.any = any
}

// differing is which of four lanes are not zero, two of them in each word.
func differing(a, b uint64) uint8 {
	const top = 1<<63 | 1<<31
	a, b = (a&^top+^uint64(top)|a)&top, (b&^top+^uint64(top)|b)&top
	a = a>>31 | b>>29
	return uint8(a|a>>31) & 15
}

// offsetsOf finds out how far the lanes of a column are from what is expected of them.
func (d *Delta) offsetsOf(s *Strands, c *Column, v *Versions) {
	span := v.Span
	if v.Before == nil {
		span = 1 // where it has no meaning
	}
	clear(s.odd[:s.n])
	switch {
	case d.row == rowLines && d.ready:
		for i := range d.lanes {
			if c.any>>(uint(i)&7)&1 != 0 {
				d.lineOf(s, c, i, v.Age, span)
			}
		}
	case d.row == rowTurn && d.ready:
		d.turnsOf(s, c, v.Age, span)
	default:
		s.odd = c.changed
	}
}

// lineOf is offsetsOf for a lane of rows of lines: Delta.lines. It calls nothing and has no branch that depends on a row.
func (d *Delta) lineOf(s *Strands, c *Column, i int, age, span int64) {
	i &= groupLanes - 1
	top := int64(1)<<(d.lanes[i].bits&63) - 1
	for k := range c.Now[:s.n] {
		base := int64(c.Base[k][i])
		movement := base - int64(c.Before[k][i])
		if age|span != 1 {
			movement = divide(movement*age, span)
		}
		s.off[k][i] = offsetOf(int64(c.Now[k][i])-min(max(base+movement, 0), top), movement)
	}
}

// offsetOf folds a distance by the sign of the movement.
func offsetOf(distance, movement int64) offset {
	side := movement >> 63
	distance = distance ^ side - side
	context := min(bits.Len64(uint64(movement^side-side)), movementSteps) * misses
	return offset(uint64(distance<<1^distance>>63)<<contextBits | uint64(context))
}

// turnsOf is offsetsOf for rotations: Delta.turn. What takes long, roots and divisions, is begun for one row while others wait
// for theirs.
func (d *Delta) turnsOf(s *Strands, c *Column, age, span int64) {
	m, whole := d.m, 2*d.m*d.m
	for k := range c.Now[:s.n] {
		r0, r1, r2, changed := &c.Now[k], &c.Base[k], &c.Before[k], c.changed[k]
		if changed == 0 {
			continue
		}
		if s.odd[k] = changed; changed&1 != 0 || ((r1[0]^r2[0])|(r0[0]^r1[0]))&3 != 0 {
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
		s.odd[k], s.square[k] = 0, uint64(square)
		s.to[k] = [groupLanes]int64{1: a, 2: b, 3: e}
	}
	for k := range c.Now[:s.n] {
		changed := c.changed[k] &^ s.odd[k]
		if changed == 0 {
			continue
		}
		length := root(s.square[k] << 16)
		for ; changed != 0; changed &= changed - 1 {
			i := bits.TrailingZeros8(changed) & 3
			to, base := s.to[k][i], int64(c.Base[k][i])
			sign := to >> 63
			q := int64((uint64(to^sign-sign)*d.length + length/2) / length)
			predicted := min(max((q^sign-sign+m+1)>>1, 0), m)
			s.off[k][i] = offsetOf(int64(c.Now[k][i])-predicted, predicted-base)
		}
	}
}

// CodeColumn is Delta.Code for the rows of a column that differ, one to each strand. CompareAll has been asked about it. Of v it is
// Age, Span and whether there is Before that count.
func (d *Delta) CodeColumn(s *Strands, c *Column, v *Versions) {
	if c.any == 0 {
		return
	}
	d.offsetsOf(s, c, v)
	if d.ready && d.row != rowOther {
		d.tokensOf(s, c, v)
	}
	for k := range s.n {
		if s.odd[k] != 0 {
			d.codeOdd(s, c, k, v)
		}
	}
}

// tokensOf writes the symbol and the tokens of the rows that do not go their own way: Delta.tokens for all of them, a lane
// of all before the next.
func (d *Delta) tokensOf(s *Strands, c *Column, v *Versions) {
	g, class := &d.groups[0], AgeClass(v.Age)
	lanes := uint(g.count) & 7
	context, age, known := class*(1<<lanes+1)+1<<lanes, class*contextsPerAge, 0
	if v.Before != nil {
		context, age, known = class*(1<<lanes+1), age+misses, 0xFF
	}
	any := uint8(0)
	for k := range s.n {
		usual := c.changed[k] &^ s.odd[k]
		if s.usual[k] = usual; usual == 0 {
			continue
		}
		any |= usual
		at := context + int(c.moved[k])&known
		e := g.flat[at<<lanes+int(usual)].Load()
		if e == 0 {
			e = g.table.unfold(at, int(usual))
		}
		s.put(&s.strands[k], uint64(e&0xFFFF), uint(e>>16))
	}
	for ; any != 0; any &= any - 1 {
		i := bits.TrailingZeros8(any) & (groupLanes - 1)
		l := &d.lanes[i]
		for k := 0; ; k++ {
			if k = l.shortOf(s, i, k, age); k == s.n {
				break
			}
			l.longOf(s, i, k, age)
		}
	}
}

// shortOf writes the tokens of a lane from the k-th row on, up to one that has no short token yet, whose number it returns.
// It calls nothing.
func (l *deltaLane) shortOf(s *Strands, i, k, age int) int {
	short, i := l.short, i&(groupLanes-1)
	for ; k < s.n; k++ {
		o, st, usual := s.off[k][i], &s.strands[k], -uint64(s.usual[k]>>(uint(i)&7)&1) // all bits or none
		distance := o.distance() & usual
		at := uint64(age+o.context()) + st.miss
		if distance >= shortTokens {
			return k
		}
		e := short[at*(shortTokens/2)+distance/2].Load() >> (distance & 1 * shortBits) & (1<<shortBits - 1)
		if e == 0 && usual != 0 {
			return k
		}
		e = e&uint32(usual) | 1&^uint32(usual)
		size, n := uint(bits.Len32(e)-1)&31, st.n&63
		code := uint64(e ^ 1<<size)
		st.miss ^= (st.miss ^ uint64(bit(distance > 2)+bit(distance > 30))) & usual
		st.acc |= code << n
		if st.n = n + size; st.n >= 64 {
			binary.LittleEndian.PutUint64(s.bits[st.at:], st.acc)
			st.acc, st.n, st.at = code>>(64-n), st.n-64, st.at+8
		}
	}
	return k
}

// longOf is shortOf for one row, whatever its token.
func (l *deltaLane) longOf(s *Strands, i, k, age int) {
	o, st := s.off[k][i], &s.strands[k]
	code, size := l.long(o.distance(), age+o.context()+int(st.miss))
	st.miss = uint64(bit(o.distance() > 2) + bit(o.distance() > 30))
	s.put(st, code, size)
}

// codeOdd codes a row that goes its own way.
func (d *Delta) codeOdd(s *Strands, c *Column, k int, v *Versions) {
	n, st := len(d.lanes), &s.strands[k]
	of := Versions{Base: c.Base[k][:n], Age: v.Age, Span: v.Span, Miss: int(st.miss)}
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
	st.miss = uint64(of.Miss)
}

package wire

import (
	"encoding/binary"
	"math"
	"math/bits"
)

// tokensAt finds out where among the short tokens of their lanes the tokens of a column are.
func (d *Delta) tokensAt(s *Strands, c *Column, v *Versions) {
	span, first := v.Span, AgeClass(v.Age)*contextsPerAge
	if v.Before == nil {
		span = 1 // where it has no meaning
	} else {
		first += misses
	}
	switch {
	case d.row == rowLines && d.ready:
		s.odd, s.usual = [MaxStrands]uint8{}, c.changed
		for any := c.any; any != 0; any &= any - 1 {
			d.lineAt(s, c, bits.TrailingZeros8(any), first, v.Age, span)
		}
	case d.row == rowTurn && d.ready:
		d.turnsAt(s, c, v.Age, span)
		for any := c.any &^ 1; any != 0; any &= any - 1 {
			d.partAt(s, c, bits.TrailingZeros8(any), first)
		}
	default:
		s.odd = c.changed
	}
}

// lineAt is tokensAt for a lane of rows of lines: Delta.lines. It calls nothing and has no branch that depends on a row, but for
// what is far off.
func (d *Delta) lineAt(s *Strands, c *Column, i, first int, age, span int64) {
	i &= groupLanes - 1
	l := &d.lanes[i]
	lane := s.lane(l, i, first)
	top := int64(1)<<(l.bits&63) - 1
	if age|span != 1 {
		for k := range c.now[:s.n] {
			now, base := int64(c.now[k][i]), int64(c.base[k][i])
			movement := divide((base-int64(c.before[k][i]))*age, span)
			lane.aim(s, k, now-min(max(base+movement, 0), top), movement, uint64(now^base))
		}
		return
	}
	for k := range c.now[:s.n] {
		now, base := int64(c.now[k][i]), int64(c.base[k][i])
		movement := base - int64(c.before[k][i])
		lane.aim(s, k, now-min(max(base+movement, 0), top), movement, uint64(now^base))
	}
}

// strandLane is where the tokens of a lane are.
type strandLane struct {
	token   *[MaxStrands]uint32
	far     *[MaxStrands]farToken
	first   uint64 // of the contexts
	nothing uint64
}

func (s *Strands) lane(l *deltaLane, i, first int) strandLane {
	return strandLane{&s.token[i], &s.far[i], uint64(first) * shortTokens, uint64(len(l.short) - 2)}
}

// aim notes which token a lane has that is so far from what is expected of it, where so much movement leads, and how far off it is
// for the lane behind it. It has none if it is the same.
func (l *strandLane) aim(s *Strands, k int, distance, movement int64, differ uint64) {
	side := movement >> 63
	distance = distance ^ side - side
	count := uint64(distance<<1 ^ distance>>63)
	steps := bits.Len32(uint32(min(movement^side-side, 1<<(movementSteps-1))))
	miss := s.miss[k]
	context := l.first + uint64(steps)*(misses*shortTokens) + miss
	at, next := context+count, (count+125)&shortTokens+(count+97)&shortTokens // one more above 2, and above 30
	if count >= shortTokens {
		at, next = l.nothing+1, 2*shortTokens
		l.far[k] = farToken{count, context / shortTokens}
	}
	if differ == 0 {
		at, next = l.nothing, miss
	}
	l.token[k], s.miss[k] = uint32(at), next
}

// turnsAt finds out where rotations go: Delta.turn. What takes long, roots and divisions, is begun for one row while others wait
// for theirs.
func (d *Delta) turnsAt(s *Strands, c *Column, age, span int64) {
	m, whole := d.m, 2*d.m*d.m
	for k := range c.now[:s.n] {
		r0, r1, r2, changed := &c.now[k], &c.base[k], &c.before[k], c.changed[k]
		s.usual[k], s.odd[k], s.square[k] = 0, changed, 1
		if changed == 0 || changed&1 != 0 || ((r1[0]^r2[0])|(r0[0]^r1[0]))&3 != 0 {
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
		s.usual[k], s.odd[k], s.square[k] = changed, 0, uint64(square)
		s.to[1][k], s.to[2][k], s.to[3][k] = a, b, e
	}
	for k := range s.square[:s.n] {
		s.square[k] = root(s.square[k] << 16)
	}
}

// partAt is lineAt for a lane of rotations, of which turnsAt has said where they go.
func (d *Delta) partAt(s *Strands, c *Column, i, first int) {
	i &= groupLanes - 1
	lane, goes, m := s.lane(&d.lanes[i], i, first), &s.to[i], d.m
	for k := range c.now[:s.n] {
		to, length, base := goes[k], s.square[k], int64(c.base[k][i])
		sign := to >> 63
		q := int64((uint64(to^sign-sign)*d.length + length/2) / length)
		predicted := min(max((q^sign-sign+m+1)>>1, 0), m)
		lane.aim(s, k, int64(c.now[k][i])-predicted, predicted-base, uint64(s.usual[k]>>(uint(i)&7)&1))
	}
}

// CodeColumn is Delta.Code for the rows of a column that differ, one to each strand. Of v it is Age, Span and whether there is
// Before that count.
func (d *Delta) CodeColumn(s *Strands, c *Column, v *Versions) {
	if c.any == 0 {
		return
	}
	d.tokensAt(s, c, v)
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
	context, known := class*(1<<lanes+1)+1<<lanes, 0
	if v.Before != nil {
		context, known = class*(1<<lanes+1), 0xFF
	}
	any := uint8(0)
	for k := range s.n {
		usual := s.usual[k]
		if usual == 0 {
			continue
		}
		any |= usual
		at := context + int(c.moved[k])&known
		e := g.flat[at<<lanes+int(usual)].Load()
		if e == 0 {
			e = g.table.unfold(at, int(usual))
		}
		s.put(k, uint64(e&0xFFFF), uint(e>>16))
	}
	for ; any != 0; any &= any - 1 {
		i := bits.TrailingZeros8(any) & (groupLanes - 1)
		l := &d.lanes[i]
		for k := 0; ; k++ {
			if k = l.shortOf(s, i, k); k == s.n {
				break
			}
			l.longOf(s, i, k)
		}
	}
}

// shortOf writes the tokens of a lane from the k-th row on, up to one that is no short one, or not known yet, whose number it
// returns. It calls nothing.
func (l *deltaLane) shortOf(s *Strands, i, k int) int {
	short, token, n := l.short, &s.token[i&(groupLanes-1)], s.n
	if n > MaxStrands {
		return n
	}
	for ; k < n; k++ {
		e := short[token[k]].Load()
		if e == 0 {
			return k
		}
		was, code := s.have[k]&63, uint64(e&shortCode)
		acc, have := s.acc[k]|code<<was, was+uint64(e>>shortSize)
		if have >= 64 {
			binary.LittleEndian.PutUint64(s.bits[s.at[k]:], acc)
			acc, have, s.at[k] = code>>(64-was), have-64, s.at[k]+8
		}
		s.acc[k], s.have[k] = acc, have
	}
	return k
}

// longOf is shortOf for one row, whatever its token.
func (l *deltaLane) longOf(s *Strands, i, k int) {
	at := uint64(s.token[i][k])
	t := farToken{at % shortTokens, at / shortTokens}
	if at > uint64(len(l.short)-2) {
		t = s.far[i][k]
	}
	code, size := l.long(t.distance, int(t.context))
	s.put(k, code, size)
}

// codeOdd codes a row that goes its own way.
func (d *Delta) codeOdd(s *Strands, c *Column, k int, v *Versions) {
	n := len(d.lanes)
	of := Versions{Base: c.base[k][:n], Age: v.Age, Span: v.Span, Miss: int(s.miss[k] / shortTokens)}
	if v.Before != nil {
		of.Before = c.before[k][:n]
	}
	w := &s.words
	w.Reset()
	d.Code(w, c.now[k][:n], &of, uint64(c.changed[k]), uint64(c.moved[k]))
	size := uint(w.Bits())
	w.Finish()
	for _, word := range w.list {
		for i := 0; i < 2 && size > 0; i++ {
			some := min(size, 32)
			s.put(k, word&(1<<32-1), some)
			word, size = word>>32, size-some
		}
	}
	s.miss[k] = uint64(of.Miss) * shortTokens
}

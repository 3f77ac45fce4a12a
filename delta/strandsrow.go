package delta

import (
	"encoding/binary"
	"math"
	"math/bits"

	"github.com/arche-netcode/netcode/internal/kernel"
	"github.com/arche-netcode/netcode/quantize"
)

// tokensAt finds out where among the short tokens of their lanes the tokens of a column are.
func (d *Delta) tokensAt(s *Strands, c *Column, v *quantize.Versions) {
	span, first := v.Span, AgeClass(v.Age)*contextsPerAge
	if v.Before == nil {
		span = 1 // where it has no meaning
	} else {
		first += misses
	}
	switch {
	case d.tops[1] != 0 && uint64(v.Age) <= widest && uint64(span) <= widest:
		d.wideAt(s, c, first, v.Age, span)
	case d.row == rowLines && d.ready:
		for k, differ := range c.Differ {
			s.Odd[k], s.Usual[k] = 0, differ&(1<<groupLanes-1)
		}
		for any := c.Any; any != 0; any &= any - 1 {
			d.lineAt(s, c, bits.TrailingZeros8(any), first, v.Age, span)
		}
	case d.row == rowTurn && d.ready:
		d.turnsAt(s, c, v.Age, span)
		for any := c.Any &^ 1; any != 0; any &= any - 1 {
			d.partAt(s, c, bits.TrailingZeros8(any), first)
		}
	default:
		for k, differ := range c.Differ {
			s.Odd[k] = differ & (1<<groupLanes - 1)
		}
	}
}

// lineAt is tokensAt for a lane of rows of lines: Delta.lines. It calls nothing and has no branch that depends on a row, but for
// what is far off.
func (d *Delta) lineAt(s *Strands, c *Column, i, first int, age, span int64) {
	i &= groupLanes - 1
	l, end := &d.lanes[i], s.N*groupLanes
	top := int64(1)<<(l.bits&63) - 1
	if end > len(c.Now) {
		return
	}
	if age|span != 1 {
		for at := i; at < end; at += groupLanes {
			base := int64(c.Base[at])
			movement := divide((base-int64(c.Before[at]))*age, span)
			s.movement[at/groupLanes], s.distance[at/groupLanes] = movement, int64(c.Now[at])-min(max(base+movement, 0), top)
		}
		s.tokensAt(l, c, i, first)
		return
	}
	contexts, nothing := uint64(first)*kernel.ShortTokens, uint64(len(l.short)-2)
	for at := i; at < end; at += groupLanes {
		now, base := int64(c.Now[at]), int64(c.Base[at])
		movement := base - int64(c.Before[at])
		extrapolated := base + movement
		if uint64(extrapolated) > uint64(top) { // seldom: what leads out of bounds ends there
			extrapolated = min(max(extrapolated, 0), top)
		}
		count, steps := folded(now-extrapolated, movement)
		miss := s.Miss[at/groupLanes]
		token, next := contexts+steps+miss+count, missBehind(count)
		if count >= kernel.ShortTokens {
			s.Far[at] = kernel.LongToken{Distance: count, Context: (token - count) / kernel.ShortTokens}
			token, next = nothing+1, 2*kernel.ShortTokens
		}
		if now == base {
			token, next = nothing, miss
		}
		s.Token[at], s.Miss[at/groupLanes] = uint32(token), next
	}
}

// folded is a distance, folded by the sign of the movement and counted as for short tokens, and how far the contexts of such a
// movement are from the first.
func folded(distance, movement int64) (count, steps uint64) {
	side := movement >> 63
	distance = distance ^ side - side
	count = uint64(distance<<1 ^ distance>>63)
	return count, uint64(bits.Len32(uint32(min(movement^side-side, 1<<(movementSteps-1))))) * (misses * kernel.ShortTokens)
}

// missBehind is what a short token is to the one behind it: one more above 2, and above 30.
func missBehind(count uint64) uint64 {
	return (count+kernel.ShortTokens-3)&kernel.ShortTokens + (count+kernel.ShortTokens-31)&kernel.ShortTokens
}

// tokensAt finds out which tokens a lane has whose movements and distances are known: none where a row does not go the usual way or
// is the same.
func (s *Strands) tokensAt(l *deltaLane, c *Column, i, first int) {
	i &= groupLanes - 1
	contexts, nothing := uint64(first)*kernel.ShortTokens, uint64(len(l.short)-2)
	for k := range s.Usual[:s.N] {
		count, steps := folded(s.distance[k], s.movement[k])
		miss := s.Miss[k]
		token, next := contexts+steps+miss+count, missBehind(count)
		if count >= kernel.ShortTokens {
			s.Far[k*groupLanes+i] = kernel.LongToken{Distance: count, Context: (token - count) / kernel.ShortTokens}
			token, next = nothing+1, 2*kernel.ShortTokens
		}
		if s.Usual[k]>>uint(i)&1 == 0 {
			token, next = nothing, miss
		}
		s.Token[k*groupLanes+i], s.Miss[k] = uint32(token), next
	}
}

// turnsAt finds out where rotations go: Delta.turn. What takes long, roots and divisions, is begun for one row while others wait
// for theirs.
func (d *Delta) turnsAt(s *Strands, c *Column, age, span int64) {
	m, whole := d.m, 2*d.m*d.m
	for k := range c.Differ[:s.N] {
		changed := c.Changed(k)
		s.Usual[k], s.Odd[k], s.length[k] = 0, changed, 1
		if changed == 0 || c.Differ[k]&(1|1<<groupLanes) != 0 {
			continue // nothing, or another component is left out
		}
		r1, r2 := (*[4]uint32)(c.Base[k*groupLanes:]), (*[4]uint32)(c.Before[k*groupLanes:])
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
		s.Usual[k], s.Odd[k], s.length[k] = changed, 0, uint64(square)
		s.to[1][k], s.to[2][k], s.to[3][k] = a, b, e
	}
	for k := range s.length[:s.N] {
		s.length[k] = root(s.length[k] << 16)
	}
}

// partAt is lineAt for a lane of rotations, of which turnsAt has said where they go.
func (d *Delta) partAt(s *Strands, c *Column, i, first int) {
	i &= groupLanes - 1
	goes, m := &s.to[i], d.m
	for k := range goes[:s.N] {
		to, length := goes[k], s.length[k]
		sign := to >> 63
		q := int64((uint64(to^sign-sign)*d.length + length/2) / length)
		extrapolated := min(max((q^sign-sign+m+1)>>1, 0), m)
		at := k*groupLanes + i
		s.movement[k], s.distance[k] = extrapolated-int64(c.Base[at]), int64(c.Now[at])-extrapolated
	}
	s.tokensAt(&d.lanes[i], c, i, first)
}

// CodeColumn is Delta.Code for the rows of a column that differ, one to each strand. Of v it is Age, Span and whether there is
// Before that count.
func (d *Delta) CodeColumn(s *Strands, c *Column, v *quantize.Versions) {
	if c.Any == 0 {
		return
	}
	if d.floats && d.ready {
		d.codeFloats(s, c, v)
		return
	}
	d.tokensAt(s, c, v)
	if d.ready && d.row != rowOther {
		d.tokensOf(s, c, v)
	}
	for first := 0; first < s.N; first += 8 { // most often none of eight
		for odd := binary.LittleEndian.Uint64(s.Odd[first&(MaxStrands-8):]); odd != 0; {
			k := bits.TrailingZeros64(odd) / 8
			if odd &^= 0xFF << (k * 8); first+k < s.N {
				d.codeOdd(s, c, first+k, v)
			}
		}
	}
}

// tokensOf writes the symbol and the tokens of the rows that do not go their own way: Delta.tokens for all of them.
func (d *Delta) tokensOf(s *Strands, c *Column, v *quantize.Versions) {
	class, lanes := AgeClass(v.Age), uint(d.groups[0].count)&7
	context, known := class*(1<<lanes+1)+1<<lanes, 0
	if v.Before != nil {
		context, known = class*(1<<lanes+1), 1<<lanes-1
	}
	if !d.wide {
		d.tokensOfRows(s, c, 0, s.N, context, known)
		return
	}
	for left := d.writeWide(s, c, context, known); left != 0; left &= left - 1 {
		k := bits.TrailingZeros32(left)
		d.tokensOfRows(s, c, k, k+1, context, known)
	}
}

// writeWide is tokensOf for the rows of which all tokens are known. It returns which those were not.
func (d *Delta) writeWide(s *Strands, c *Column, context, known int) uint32 {
	lanes, any := d.groups[0].count, c.Any
	if d.row == rowTurn {
		any &^= 1 // such rows go their own way
	}
	if (context+known+1)<<(lanes&7) > len(d.groups[0].flat) || s.N > MaxStrands {
		panic("wire: which lanes differ has fewer contexts than there are")
	}
	clear(s.Usual[s.N:])
	return uint32(kernel.Write(&s.batch, c, &d.tables, uint64(lanes), uint64(context), uint64(known), uint64(any)))
}

// tokensOfRows is tokensOf from one row up to another, a lane of all before the next.
func (d *Delta) tokensOfRows(s *Strands, c *Column, from, to, context, known int) {
	g := &d.groups[0]
	lanes, any := uint(g.count)&7, uint8(0)
	for k := from; k < to; k++ {
		usual := s.Usual[k]
		if usual == 0 {
			continue
		}
		any |= usual
		at := context + int(c.Moved(k))&known
		e := g.flat[at<<lanes+int(usual)].Load()
		if e == 0 {
			e = g.table.unfold(at, int(usual))
		}
		was, code := s.Have[k]&63, uint64(e&0xFFFF)
		s.Acc[k] |= code << was
		if s.Have[k] = was + uint64(e>>16); s.Have[k] >= 64 {
			s.spill(k, code>>(64-was))
		}
	}
	for ; any != 0; any &= any - 1 {
		i := bits.TrailingZeros8(any) & (groupLanes - 1)
		l := &d.lanes[i]
		for k := from; ; k++ {
			if k = l.shortOf(s, i, k, to); k == to {
				break
			}
			l.longOf(s, i, k)
		}
	}
}

// shortOf writes the tokens of a lane from the k-th row to the n-th, up to one that is no short one, or not known yet, whose number it
// returns. It calls nothing.
func (l *deltaLane) shortOf(s *Strands, i, k, n int) int {
	short := l.short
	if n > MaxStrands || k < 0 {
		return n
	}
	for at := k*groupLanes + i&(groupLanes-1); k < n; k, at = k+1, at+groupLanes {
		e := short[s.Token[at&(len(s.Token)-1)]].Load()
		if e == 0 {
			return k
		}
		was, code := s.Have[k]&63, uint64(e&kernel.ShortCode)
		acc, have := s.Acc[k]|code<<was, was+uint64(e>>kernel.ShortSize)
		if have >= 64 {
			binary.LittleEndian.PutUint64(s.Bytes[s.At[k]:], acc)
			acc, have, s.At[k] = code>>(64-was), have-64, s.At[k]+8
		}
		s.Acc[k], s.Have[k] = acc, have
	}
	return k
}

// longOf is shortOf for one row, whatever its token.
func (l *deltaLane) longOf(s *Strands, i, k int) {
	at := uint64(s.Token[k*groupLanes+i])
	t := kernel.LongToken{Distance: at % kernel.ShortTokens, Context: at / kernel.ShortTokens}
	if at > uint64(len(l.short)-2) {
		t = s.Far[k*groupLanes+i]
	}
	code, size := l.long(t.Distance, int(t.Context))
	s.put(k, code, size)
}

// codeOdd codes a row that goes its own way.
func (d *Delta) codeOdd(s *Strands, c *Column, k int, v *quantize.Versions) {
	n, at := len(d.lanes), k*groupLanes
	now, base, before := c.Now[at:at+n], c.Base[at:at+n], c.Before[at:at+n]
	of := quantize.Versions{Base: base, Age: v.Age, Span: v.Span, Miss: int(s.Miss[k] / kernel.ShortTokens)}
	if v.Before != nil {
		of.Before = before
	}
	w := &s.words
	w.Reset()
	d.Code(w, now, &of, uint64(c.Changed(k)), uint64(c.Moved(k)))
	size := uint(w.Bits())
	w.Finish()
	for _, word := range w.list {
		for i := 0; i < 2 && size > 0; i++ {
			some := min(size, 32)
			s.put(k, word&(1<<32-1), some)
			word, size = word>>32, size-some
		}
	}
	s.Miss[k] = uint64(of.Miss) * kernel.ShortTokens
}

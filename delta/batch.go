package delta

import (
	"encoding/binary"
	"math"
	"math/bits"
	"sync/atomic"

	"github.com/arche-netcode/netcode/internal/kernel"
	"github.com/arche-netcode/netcode/quantize"
)

// Batch encodes up to MaxStreams deltas side by side, each into its own stream of bits. It encodes one row of all
// entities before the next row. The latencies of one entity then overlap with the work on others, and the tables of a
// row stay in the cache. Each stream equals the bits that Delta.Code appends row by row; tests compare the two. The
// zero value is empty.
type Batch struct {
	batch
	words  BitBuffer // for rows that are encoded one by one
	floats floatBatch

	// Of a column of rotations: the extrapolated components, and their length.
	to     [groupLanes][MaxStreams]int64
	length [MaxStreams]uint64

	// Of a lane: the extrapolated movement, and the distance of the lane from its extrapolation.
	movement, distance [MaxStreams]int64
}

type batch = kernel.Batch

// BatchColumn has one row of each entity of a batch: its value now, at T and at T'. BeginColumn clears it, Put and Take
// fill it, CodeColumn encodes it.
type BatchColumn struct{ column }

type column = kernel.Column

// Put sets the row of the k-th entity: now, at T, and at T'. Pass base for before if T' is not used.
func (c *BatchColumn) Put(k int, now, base, before []uint32) { c.column.Put(k, now, base, before) }

// Take sets the rows of the entities with these indexes, from the k-th on. It stops at the first entity that lacks a
// version and returns its position.
func (c *BatchColumn) Take(k int, indexes []uint32, h *RowSlice) int {
	return c.column.Take(k, indexes, (*kernel.RowSlice)(h))
}

// Touch prefetches the rows that Take will read. Several calls before the first Take let the cache misses overlap.
func (c *BatchColumn) Touch(indexes []uint32, h *RowSlice) {
	c.column.Touch(indexes, (*kernel.RowSlice)(h))
}

// RowSlice is the rows of up to 64 entities in memory, in the order of their indexes.
type RowSlice struct {
	First            uint32   // index of the first entity
	Now              []uint32 // rows of all entities, from First on
	Base, Before     []uint32 // rows of the entities in InBase and InBefore
	InBase, InBefore uint64   // bit i: entity First+i
}

// BeginColumn clears c for rows of d, which have at most MaxStreamLanes lanes.
func (d *Delta) BeginColumn(c *BatchColumn) { c.Begin(len(d.lanes), d.wide) }

const (
	// MaxStreams is the maximum number of deltas in a batch.
	MaxStreams = kernel.MaxStreams
	// MaxStreamRows is the maximum number of rows per entity.
	MaxStreamRows = 4
	// MaxStreamLanes is the maximum number of lanes per row.
	MaxStreamLanes = groupLanes
)

// Begin starts n streams. It writes to each the symbol of t that tells which rows of the entity differ.
func (s *Batch) Begin(n int, t *Table, columns []BatchColumn, v *quantize.Baselines) {
	s.N = n
	rows, flat := uint(len(columns))&7, t.flatten() // at most MaxStreamRows
	context, known := AgeClass(v.Before != nil, v.Age, v.Span)*(1<<rows+1)+1<<rows, 0
	if v.Before != nil {
		context, known = context-1<<rows, 1<<rows-1
	}
	for first := 0; first < n; first += 8 {
		var changed, moved uint64 // of eight entities
		for i := range columns {
			differ := binary.LittleEndian.Uint64(columns[i].Differ[first&(MaxStreams-8):])
			changed |= nonzero8(differ) << i
			moved |= nonzero8(differ>>groupLanes) << i
		}
		for k := first; k < min(first+8, n); k++ {
			at, symbol := context+int(moved)&known, int(changed)&(1<<rows-1)
			e := flat[at<<rows+symbol].Load()
			if e == 0 {
				e = t.unfold(at, symbol)
			}
			s.Acc[k], s.Have[k], s.At[k], s.Miss[k] = uint64(e&0xFFFF), uint64(e>>16), k*kernel.StreamBytes, 0
			s.Differ[k] = uint8(symbol)
			changed, moved = changed>>8, moved>>8
		}
	}
}

// nonzero8 returns 1 in each byte whose lower four bits in b are not all zero, else 0.
func nonzero8(b uint64) uint64 {
	return (b&0x0F0F0F0F0F0F0F0F + 0x0F0F0F0F0F0F0F0F) >> 4 & 0x0101010101010101
}

// Rows returns how many rows of the k-th entity differ.
func (s *Batch) Rows(k int) int { return bits.OnesCount8(s.Differ[k]) }

// Bits returns the length of the k-th stream in bits.
func (s *Batch) Bits(k int) int { return (s.At[k]-k*kernel.StreamBytes)*8 + int(s.Have[k]) }

// Word returns the first 64 bits of the k-th stream, padded with zeros. all reports whether the stream has no more
// bits.
func (s *Batch) Word(k int) (word uint64, all bool) {
	if s.At[k] == k*kernel.StreamBytes {
		return s.Acc[k], true
	}
	return binary.LittleEndian.Uint64(s.Bytes[k*kernel.StreamBytes:]), false
}

// put appends the lowest n bits of v to stream k, n <= 56. The higher bits of v are zero.
func (s *Batch) put(k int, v uint64, n uint) {
	was := s.Have[k] & 63
	s.Acc[k] |= v << was
	if s.Have[k] = was + uint64(n); s.Have[k] >= 64 {
		s.spill(k, v>>(64-was))
	}
}

// spill appends the full accumulator of stream k to its bytes. left has the bits that did not fit.
func (s *Batch) spill(k int, left uint64) {
	binary.LittleEndian.PutUint64(s.Bytes[s.At[k]:], s.Acc[k])
	s.Acc[k], s.Have[k], s.At[k] = left, s.Have[k]-64, s.At[k]+8
}

// AppendStream appends the k-th stream and pads its last word with zeros, as Finish does. w must be at a word boundary.
func (w *BitBuffer) AppendStream(s *Batch, k int) {
	for at := k * kernel.StreamBytes; at < s.At[k]; at += 8 {
		w.list = append(w.list, binary.LittleEndian.Uint64(s.Bytes[at:]))
	}
	if s.Have[k] > 0 {
		w.list = append(w.list, s.Acc[k])
	}
}

// shorten allocates the cache of short tokens for all contexts. Tokens enter it at their first use.
func (t *Table) shorten() []atomic.Uint32 {
	t.onceShort.Do(func() {
		n := len(t.codes) * kernel.ShortTokens
		t.short = make([]atomic.Uint32, n+2)
		t.short[n].Store(kernel.ShortKnown)
	})
	return t.short
}

// flatCode returns the code of a symbol of a flat table, in the format of Code.enc. size is the number of entries per
// context.
func flatCode(t *Table, flat []atomic.Uint32, context, symbol, size int) uint32 {
	if e := flat[context*size+symbol].Load(); e != 0 {
		return e
	}
	return t.unfold(context, symbol)
}

// long returns the code of the token of any distance, which is folded as for short tokens. It caches short tokens.
//
//go:noinline
func (l *deltaLane) long(distance uint64, context int) (code uint64, size uint) {
	symbol, raw, rawBits := Token(int64(distance>>1) ^ -int64(distance&1))
	e := flatCode(l.table, l.flat, context, symbol, deltaFlat)
	length := uint(e >> 16)
	code, size = raw<<(length&63)|uint64(e&0xFFFF), length+rawBits
	if distance < kernel.ShortTokens {
		l.short[context*kernel.ShortTokens+int(distance)].Store(uint32(code) | kernel.ShortKnown | uint32(size)<<kernel.ShortSize)
	}
	return code, size
}

// tokensAt finds the tokens of a column: their places in the lanes' caches of short tokens.
func (d *Delta) tokensAt(s *Batch, c *BatchColumn, v *quantize.Baselines) {
	span, first := v.Span, AgeClass(v.Before != nil, v.Age, v.Span)*contextsPerAge
	if v.Before == nil {
		span = 1 // unused
	} else {
		first += misses
	}
	switch {
	case d.tops[1] != 0 && uint64(v.Age) <= widest && uint64(span) <= widest:
		d.wideAt(s, c, first, v.Age, span)
	case d.class == classLines && d.ready:
		for k, differ := range c.Differ {
			s.Odd[k], s.Usual[k] = 0, differ&(1<<groupLanes-1)
		}
		for any := c.Any; any != 0; any &= any - 1 {
			d.lineAt(s, c, bits.TrailingZeros8(any), first, v.Age, span)
		}
	case d.class == classTurn && d.ready:
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

// lineAt is tokensAt for one lane of rows of class classLines. It makes no call, and branches only on rare cases, so
// that rows overlap.
func (d *Delta) lineAt(s *Batch, c *BatchColumn, i, first int, age, span int64) {
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
		if uint64(extrapolated) > uint64(top) { // rare: clamp to the bounds
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

// folded returns a distance, zigzag-encoded relative to the sign of the movement, and the context offset of the
// movement's size class.
func folded(distance, movement int64) (count, steps uint64) {
	side := movement >> 63
	distance = distance ^ side - side
	count = uint64(distance<<1 ^ distance>>63)
	return count, uint64(bits.Len32(uint32(min(movement^side-side, 1<<(movementSteps-1))))) * (misses * kernel.ShortTokens)
}

// missBehind returns the next token's miss after a short token: +1 if count > 2, +1 if count > 30, times ShortTokens.
func missBehind(count uint64) uint64 {
	return (count+kernel.ShortTokens-3)&kernel.ShortTokens + (count+kernel.ShortTokens-31)&kernel.ShortTokens
}

// tokensAt finds the tokens of lane i from the known movements and distances. Rows of s.Odd and unchanged lanes get the
// empty token.
func (s *Batch) tokensAt(l *deltaLane, c *BatchColumn, i, first int) {
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

// turnsAt extrapolates the rotations of a column, as rotation.goOn does. Separate loops let the slow roots and
// divisions of different rows overlap.
func (d *Delta) turnsAt(s *Batch, c *BatchColumn, age, span int64) {
	m, whole := d.m, 2*d.m*d.m
	for k := range c.Differ[:s.N] {
		changed := c.Changed(k)
		s.Usual[k], s.Odd[k], s.length[k] = 0, changed, 1
		if changed == 0 || c.Differ[k]&(1|1<<groupLanes) != 0 {
			continue // unchanged, or another component is left out
		}
		r1, r2 := (*[4]uint32)(c.Base[k*groupLanes:]), (*[4]uint32)(c.Before[k*groupLanes:])
		x, y, z := 2*int64(r1[1])-m, 2*int64(r1[2])-m, 2*int64(r1[3])-m
		a, b, e := 2*int64(r2[1])-m, 2*int64(r2[2])-m, 2*int64(r2[3])-m
		w := int64(math.Sqrt(float64(max(whole-x*x-y*y-z*z, 0)))) // as in components
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
			square = whole // the length does not change
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

// partAt is lineAt for a lane of rotations. It needs the results of turnsAt in s.to.
func (d *Delta) partAt(s *Batch, c *BatchColumn, i, first int) {
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

// CodeColumn encodes the differing rows of a column, one per stream, as Delta.Code does. Of v it uses Age, Span, and
// whether Before is nil.
func (d *Delta) CodeColumn(s *Batch, c *BatchColumn, v *quantize.Baselines) {
	if c.Any == 0 {
		return
	}
	if d.floats && d.ready {
		d.tokensOfFloats(c, s.N, v)
		d.floatTokens(s, c, v)
		return
	}
	d.tokensAt(s, c, v)
	if d.ready && d.class != classOther {
		d.tokensOf(s, c, v)
	}
	for first := 0; first < s.N; first += 8 { // usually none of eight
		for odd := binary.LittleEndian.Uint64(s.Odd[first&(MaxStreams-8):]); odd != 0; {
			k := bits.TrailingZeros64(odd) / 8
			if odd &^= 0xFF << (k * 8); first+k < s.N {
				d.codeOdd(s, c, first+k, v)
			}
		}
	}
}

// tokensOf writes the symbol and the tokens of all rows in s.Usual, one lane of all rows before the next.
func (d *Delta) tokensOf(s *Batch, c *BatchColumn, v *quantize.Baselines) {
	class, lanes := AgeClass(v.Before != nil, v.Age, v.Span), uint(d.groups[0].count)&7
	context, known := class*(1<<lanes+1)+1<<lanes, 0
	if v.Before != nil {
		context, known = class*(1<<lanes+1), 1<<lanes-1
	}
	g, any := &d.groups[0], uint8(0)
	for k, usual := range s.Usual[:s.N] {
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
		for k := 0; ; k++ {
			if k = l.shortOf(s, i, k, s.N); k == s.N {
				break
			}
			l.longOf(s, i, k)
		}
	}
}

// shortOf writes the short tokens of lane i for rows k..n-1. It stops at the first token that is long or not cached,
// and returns that row, else n. It makes no call.
func (l *deltaLane) shortOf(s *Batch, i, k, n int) int {
	short := l.short
	if n > MaxStreams || k < 0 {
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

// longOf writes one token of lane i, of any size.
func (l *deltaLane) longOf(s *Batch, i, k int) {
	at := uint64(s.Token[k*groupLanes+i])
	t := kernel.LongToken{Distance: at % kernel.ShortTokens, Context: at / kernel.ShortTokens}
	if at > uint64(len(l.short)-2) {
		t = s.Far[k*groupLanes+i]
	}
	code, size := l.long(t.Distance, int(t.Context))
	s.put(k, code, size)
}

// codeOdd encodes one row with Delta.Code.
func (d *Delta) codeOdd(s *Batch, c *BatchColumn, k int, v *quantize.Baselines) {
	n, at := len(d.lanes), k*groupLanes
	now, base, before := c.Now[at:at+n], c.Base[at:at+n], c.Before[at:at+n]
	of := quantize.Baselines{Base: base, Age: v.Age, Span: v.Span, Miss: int(s.Miss[k] / kernel.ShortTokens)}
	if v.Before != nil {
		of.Before = before
	}
	w := &s.words
	w.Reset()
	d.Code(w, now, &of)
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

// With wide vector registers, the tokens of a column are found two to four rows at a time, in assembly (docs/adr/0023).
// The result equals that of the plain loops, bit for bit; tests compare the two.

// widest is the maximum age and span of the assembly: a movement times widest is below 2^47, where float64 is exact.
const widest = 1 << 16

// quatNumbers returns the constants for extrapolating rotations with this age and span.
func (d *Delta) quatNumbers(age, span int64) kernel.Quats {
	return kernel.Quats{
		M: d.m, Straight: int64(bitOf(age|span == 1)), Age: float64(age), Half: float64(span/2) + 0.5, Part: 1 / float64(span),
		Limit: float64(4 * d.m), Whole: float64(2 * d.m * d.m), Length: float64(d.length),
	}
}

// goWide sets d.tops if the assembly can find the tokens of these rows.
func (d *Delta) goWide() {
	if !d.wide || !d.ready || d.class == classOther {
		return
	}
	var tops kernel.Tops
	for i := range d.lanes {
		if d.lanes[i].bits > 31 {
			return
		}
		tops[i], tops[i+groupLanes] = uint32(d.top(i)), uint32(d.top(i))
	}
	d.tops = tops
}

// wideAt is tokensAt in assembly.
func (d *Delta) wideAt(s *Batch, c *BatchColumn, first int, age, span int64) {
	_ = s.Usual[:s.N]                // SAFETY: the assembly accesses whole groups of four rows, at most MaxStreams rows; the arrays have that size
	last := &d.lanes[len(d.lanes)-1] // all lanes have the same number of contexts
	contexts, nothing := uint16(first*kernel.ShortTokens), uint16(len(last.short)-2)
	now, base, from := &c.Now, &c.Base, &c.Before
	half, part := float64(span/2)+0.5, 1/float64(span)
	if d.class == classTurn {
		t := d.quatNumbers(age, span)
		from = &s.Origin
		kernel.AimQuats(&s.batch, &c.column, &t)
		kernel.QuatParts(&s.batch, &c.column, &t)
	} else {
		for k := 0; k < MaxStreams; k += 8 {
			binary.LittleEndian.PutUint64(s.Usual[k:], binary.LittleEndian.Uint64(c.Differ[k:])&0x0F0F0F0F0F0F0F0F)
		}
		clear(s.Odd[:])
		if age|span != 1 {
			from = &s.Origin
			kernel.Retrace(from, base, &c.Before, s.N, float64(age), half, part)
		}
	}
	kernel.Tokens(&s.batch, now, base, from, &d.tops, contexts, nothing)
}

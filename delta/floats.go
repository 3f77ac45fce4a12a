package delta

import (
	"encoding/binary"
	"math/bits"
	"sync/atomic"

	"github.com/arche-netcode/netcode/internal/kernel"
	"github.com/arche-netcode/netcode/quantize"
)

// Rows of only floats are encoded in two steps: first the distances of all lanes of a column from their extrapolations,
// then their tokens, row by row. The bits equal those of Delta.Code.

// floatRaw and floatMiss are bit positions in the token of a float lane. Below floatRaw is the place of its code in the lane's table,
// if the previous lane had no miss.
const (
	floatRaw  = 16 // the number of raw bits, in 8 bits
	floatMiss = 24 // quantize.Baselines.Miss for the next lane
)

// tokensOfFloats finds the tokens of all lanes of a column of n float rows.
func (d *Delta) tokensOfFloats(c *BatchColumn, n int, v *quantize.Baselines) {
	first, span := AgeClass(v.Before != nil, v.Age, v.Span)*contextsPerAge, v.Span
	turns := int64(0)
	if v.Before == nil {
		span = 1 // unused
	} else if first += misses; d.spins {
		turns = spinTurns(v.Age, span)
	}
	switch {
	case c.Any == 0:
	case d.wide && n > 0:
		_ = c.Differ[:n] // SAFETY: the assembly accesses n rows, rounded up to an even number; the arrays have room for MaxStreams
		if kernel.FloatTokens(&c.column, n, uint32(first*deltaFlat), float64(v.Age), float64(span), turns) {
			c.largeAt(n, first, v.Age, span, turns)
		}
	default:
		c.floatsAt(0, n*groupLanes, first, v.Age, span, turns)
	}
}

// largeAt finds the tokens of the lanes that kernel.FloatTokens leaves out.
func (c *BatchColumn) largeAt(n, first int, age, span, turns int64) {
	for k := range n {
		large := c.Large[k/2] >> (k % 2 * groupLanes) & c.Changed(k)
		for ; large != 0; large &= large - 1 {
			at := k*groupLanes + bits.TrailingZeros8(large)
			c.floatsAt(at, at+1, first, age, span, turns)
		}
	}
}

// floatsAt is tokensOfFloats in plain Go, for the lanes from..to-1 of all rows. turns is not 0 for rotations that go on turning.
func (c *BatchColumn) floatsAt(from, to, first int, age, span, turns int64) {
	contexts := uint32(first * deltaFlat)
	var now, was float64
	for at := from; at < to; at++ {
		var extrapolated, movement int64
		if turns == 0 {
			extrapolated, movement = floatExtrapolation(c.Base[at], c.Before[at], age, span)
		} else {
			if at == from || at%groupLanes == 0 {
				row := at &^ (groupLanes - 1)
				now, was = spinFactors((*[4]uint32)(c.Base[row:]), (*[4]uint32)(c.Before[row:]), turns)
			}
			extrapolated, movement = spinExtrapolation(c.Base[at], c.Before[at], now, was)
		}
		distance := floatDistance(c.Now[at], extrapolated)
		side := movement >> 63
		steps := uint32(bits.Len64(uint64(movement^side-side))) / 2
		distance = distance ^ side - side
		sign := distance >> 63
		magnitude := uint64(distance ^ sign - sign)
		k := bits.Len64(magnitude)
		symbol := uint32(tokenBase(k)) + uint32(magnitude<<2>>(uint(k)&63)&1)<<1 + uint32(sign&1)
		raw := uint32(max(k-2, 0))
		c.Raw[at] = uint32(magnitude) & (1<<raw - 1)
		c.Token[at] = contexts + min(steps, movementSteps)*(misses*deltaFlat) + symbol | raw<<floatRaw |
			uint32(bitOf(k > 1)+bitOf(k > 4))<<floatMiss
	}
}

// floatTokens writes the symbols of changed lanes, and the tokens of these lanes.
func (d *Delta) floatTokens(s *Batch, c *BatchColumn, v *quantize.Baselines) {
	g := &d.groups[0]
	class, lanes := AgeClass(v.Before != nil, v.Age, v.Span), uint(g.count)&7
	context, known := class*(1<<lanes+1)+1<<lanes, uint8(0)
	if v.Before != nil {
		context, known = class*(1<<lanes+1), 1<<lanes-1
	}
	var flats [groupLanes][]atomic.Uint32
	for i := range d.lanes {
		flats[i&(groupLanes-1)] = d.lanes[i].flat
	}
	for k := range c.Differ[:s.N] {
		changed := c.Differ[k] & (1<<groupLanes - 1)
		if changed == 0 {
			continue
		}
		if g.table != nil {
			e := flatCode(g.table, g.flat, context+int(c.Moved(k)&known), int(changed), 1<<lanes)
			s.put(k, uint64(e&0xFFFF), uint(e>>16))
		}
		acc, have, to, miss := s.Acc[k], uint(s.Have[k]), s.At[k], uint32(s.Miss[k]/kernel.ShortTokens)
		for ; changed != 0; changed &= changed - 1 {
			i := bits.TrailingZeros8(changed) & (groupLanes - 1)
			at := k*groupLanes + i
			token, raw := c.Token[at], uint64(c.Raw[at])
			place := token&(1<<floatRaw-1) + miss*deltaFlat
			e := flats[i][place].Load()
			if e == 0 {
				e = d.lanes[i].table.unfold(int(place/deltaFlat), int(place%deltaFlat))
			}
			length := uint(e >> 16)
			code, size := raw<<(length&63)|uint64(e&0xFFFF), length+uint(token>>floatRaw&0xFF)
			miss = token >> floatMiss
			acc |= code << (have & 63)
			if have += size; have >= 64 {
				binary.LittleEndian.PutUint64(s.Bytes[to:], acc)
				have, to = have-64, to+8
				acc = code >> ((size - have) & 63)
			}
		}
		s.Acc[k], s.Have[k], s.At[k], s.Miss[k] = acc, uint64(have), to, uint64(miss)*kernel.ShortTokens
	}
}

// Floats reports whether BeginFloats supports rows of d.
func (d *Delta) Floats() bool { return d.floats && d.ready && len(d.lanes) <= groupLanes }

// floatBatch is a batch of entities that have only float rows.
type floatBatch struct {
	which *Table
	of    [MaxStreamRows]*Delta
	codes kernel.FloatCodes
}

// BeginFloats finds the tokens of n entities that have only float rows; AppendFloats writes them. which is the table of
// Begin.
func (s *Batch) BeginFloats(n int, which *Table, of []*Delta, columns []BatchColumn, v *quantize.Baselines) {
	f := &s.floats
	f.which, f.codes.Count = which, uint32(len(of))
	f.codes.Rows = &which.flatten()[0]
	f.codes.Context, f.codes.Known, f.codes.Shift = whichCodes(len(of), v)
	for i, d := range of {
		f.of[i] = d
		d.tokensOfFloats(&columns[i], n, v)
		c := &f.codes.Columns[i]
		if c.Lanes = nil; d.groups[0].table != nil {
			c.Lanes = &d.groups[0].flat[0]
		}
		c.Context, c.Known, c.Shift = whichCodes(len(d.lanes), v)
		for l := range d.lanes {
			c.Tokens[l] = &d.lanes[l].flat[0]
		}
	}
}

// whichCodes returns the place of the codes that tell which of n things differ: the first context, the mask of things
// that extend the context, and log2 of the codes per context.
func whichCodes(n int, v *quantize.Baselines) (context, known, shift uint32) {
	if context = uint32(WhichContext(n, 0, v.Before != nil, v.Age, v.Span)); v.Before != nil {
		known = 1<<n - 1
	}
	return context, known, uint32(n)
}

// mostFloats is an upper bound of the words of one entity.
const mostFloats = kernel.StreamBytes/8 + 1

// AppendFloats appends the k-th entity and returns how many of its rows differ.
func (w *BitBuffer) AppendFloats(s *Batch, k int, columns []BatchColumn) (rows int) {
	if columns[0].Wide && k < MaxStreams {
		w.Reserve(mostFloats)
		out := w.list[len(w.list):][:mostFloats] // SAFETY: the assembly writes at most mostFloats words
		if words, acc, n, differ := kernel.WriteFloats(&s.floats.codes, &columns[0].column, k, &out[0], w.acc, uint64(w.n)); differ >= 0 {
			w.list, w.acc, w.n = w.list[:len(w.list)+words], acc, uint(n)
			return bits.OnesCount(uint(differ))
		}
	}
	return w.floatsOf(s, k, columns)
}

// floatsOf is AppendFloats in plain Go. It also fills the code caches for the assembly.
func (w *BitBuffer) floatsOf(s *Batch, k int, columns []BatchColumn) (rows int) {
	f := &s.floats
	changed, moved := 0, uint32(0)
	for i := range columns {
		changed |= int(bitOf(columns[i].Changed(k) != 0)) << i
		moved |= bitOf(columns[i].Moved(k) != 0) << i
	}
	w.symbolOf(f.which, f.codes.Context+moved&f.codes.Known, changed)
	miss := uint32(0)
	for i := range columns {
		c, d, codes := &columns[i], f.of[i], &f.codes.Columns[i]
		lanes := c.Changed(k)
		if lanes == 0 {
			continue
		}
		if rows++; codes.Lanes != nil {
			w.symbolOf(d.groups[0].table, codes.Context+uint32(c.Moved(k))&codes.Known, int(lanes))
		}
		for ; lanes != 0; lanes &= lanes - 1 {
			l := bits.TrailingZeros8(lanes) & (groupLanes - 1)
			token := c.Token[k*groupLanes+l]
			place := token&(1<<floatRaw-1) + miss*deltaFlat
			w.symbolOf(d.lanes[l].table, place/deltaFlat, int(place%deltaFlat))
			w.put(uint64(c.Raw[k*groupLanes+l]), uint(token>>floatRaw&0xFF))
			miss = token >> floatMiss
		}
	}
	return rows
}

// symbolOf is Symbol for a flat table.
func (w *BitBuffer) symbolOf(t *Table, context uint32, symbol int) {
	code := flatCode(t, t.flat, int(context), symbol, flatSize(t.symbols))
	w.put(uint64(code&0xFFFF), uint(code>>16))
}

package delta

import (
	"encoding/binary"
	"math/bits"
	"sync/atomic"

	"github.com/arche-netcode/netcode/internal/kernel"
	"github.com/arche-netcode/netcode/quantize"
)

// Rows of nothing but floats are coded in two steps: first how far all lanes of a column are from what is expected of them,
// then their tokens, row by row. It comes to the bits of Delta.Code.

// A floatToken is all that the token of a lane depends on but how far off the lane before was: the place of its code among
// those of the lane's table, in 16 bits; how many raw bits follow, in 8; and Versions.Miss for the next lane.
const (
	floatRaw  = 16
	floatMiss = 24
)

// codeFloats is CodeColumn for rows of nothing but floats.
func (d *Delta) codeFloats(s *Strands, c *Column, v *quantize.Versions) {
	first, span := AgeClass(v.Age)*contextsPerAge, v.Span
	if v.Before == nil {
		span = 1 // where it has no meaning
	} else {
		first += misses
	}
	if d.wide && s.N > 0 {
		_ = s.Differ[:s.N] // SAFETY: the assembly reads and writes so many rows, and there is room for MaxStrands
		kernel.FloatTokens(&s.batch, c, s.N, uint32(first*deltaFlat), float64(v.Age), float64(span))
	} else {
		s.floatsAt(c, first, v.Age, span)
	}
	d.floatTokens(s, c, v)
}

// floatsAt finds the tokens of all lanes of a column.
func (s *Strands) floatsAt(c *Column, first int, age, span int64) {
	n := s.N * groupLanes
	contexts := uint32(first * deltaFlat)
	for at := range c.Base[:n] {
		extrapolated, movement := floatExtrapolation(c.Base[at], c.Before[at], age, span)
		distance := floatDistance(c.Now[at], extrapolated)
		side := movement >> 63
		steps := uint32(bits.Len64(uint64(movement^side-side))) / 2
		distance = distance ^ side - side
		sign := distance >> 63
		magnitude := uint64(distance ^ sign - sign)
		k := bits.Len64(magnitude)
		symbol := uint32(tokenBase(k)) + uint32(magnitude<<2>>(uint(k)&63)&1)<<1 + uint32(sign&1)
		raw := uint32(max(k-2, 0))
		s.Raw[at] = uint32(magnitude) & (1<<raw - 1)
		s.Token[at] = contexts + min(steps, movementSteps)*(misses*deltaFlat) + symbol | raw<<floatRaw |
			uint32(bitOf(k > 1)+bitOf(k > 4))<<floatMiss
	}
}

// floatTokens writes which lanes differ, and the tokens of these.
func (d *Delta) floatTokens(s *Strands, c *Column, v *quantize.Versions) {
	g := &d.groups[0]
	class, lanes := AgeClass(v.Age), uint(g.count)&7
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
			token, raw := s.Token[at], uint64(s.Raw[at])
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

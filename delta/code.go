package delta

import (
	"math/bits"

	"github.com/arche-netcode/netcode/internal/kernel"
	"github.com/arche-netcode/netcode/internal/plain"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/wire"
)

// Prepare sets up the fast paths of Batch. Any number of goroutines may call it, before any of them encodes.
func (d *Delta) Prepare() {
	d.once.Do(func() {
		for i := range d.lanes {
			if l := &d.lanes[i]; l.table != nil {
				l.flat = l.table.flatten()
			}
		}
		for i := range d.groups {
			if g := &d.groups[i]; g.table != nil {
				g.flat = g.table.flatten()
			}
		}
		d.wide = kernel.Wide()
		for i := range d.lanes {
			if l := &d.lanes[i]; d.class != classOther && l.model != quantize.ModelLargest {
				l.short = l.table.shorten()
			}
		}
		d.ready = !plain.On && !d.plan.Extrapolates() && len(d.lanes) <= 64 && !d.hasTail()
		d.goWide()
	})
}

// Code appends the encoded row to w: the bits of WriteSymbols(Append(now)). The row must differ from v.Base. It is the
// plain path that Batch equals.
func (d *Delta) Code(w *BitBuffer, now []uint32, v *quantize.Baselines) {
	q := &w.turn
	if q.lane, q.own, q.miss = -1, nil, v.Miss; d.own {
		q.own = d.extrapolated(v)
	}
	for i := range d.groups {
		g := &d.groups[i]
		changed, moved := g.differing(now, v)
		if g.table != nil {
			w.Symbol(g.table, WhichContext(g.count, moved, v.Before != nil, v.Age, v.Span), int(changed))
		}
		for ; changed != 0; changed &= changed - 1 {
			s := d.codeLane(g.first+bits.TrailingZeros(changed), now, v, q)
			if s.Table != nil {
				w.Symbol(s.Table, s.Context, s.Symbol)
			}
			w.put(s.Raw, s.RawBits)
		}
	}
	if v.Miss = q.miss; d.own {
		d.release(q.own)
	}
	if d.fixed < len(d.lanes) {
		d.codeTail(w, now, v)
	}
}

// DeltaSymbol is one symbol of an encoded row: a trainer counts it, WriteSymbols writes it.
type DeltaSymbol struct {
	Table   *Table // nil: only the raw bits
	Context int    // context in the table
	Symbol  int    // the symbol
	Raw     uint64 // bits after the symbol, uncompressed
	RawBits uint   // number of bits in Raw
}

// Append encodes a row and appends its symbols to dst. The row must differ from v.Base.
func (d *Delta) Append(dst []DeltaSymbol, now []uint32, v *quantize.Baselines) []DeltaSymbol {
	q := rotation{lane: -1, own: d.extrapolated(v), miss: v.Miss}
	defer d.release(q.own)
	for i := range d.groups {
		g := &d.groups[i]
		changed, moved := g.differing(now, v)
		if g.table != nil {
			dst = append(dst, DeltaSymbol{Table: g.table, Context: WhichContext(g.count, moved, v.Before != nil, v.Age, v.Span), Symbol: int(changed)})
		}
		for i := range g.count {
			if changed>>i&1 == 0 {
				continue
			}
			if s := d.codeLane(g.first+i, now, v, &q); s != (DeltaSymbol{}) {
				dst = append(dst, s)
			}
		}
	}
	v.Miss = q.miss
	return d.appendTail(dst, now, v)
}

// differing returns bitmasks over the lanes of the group: changed since T, and moved between T' and T.
func (g *deltaGroup) differing(now []uint32, v *quantize.Baselines) (changed, moved uint) {
	base := v.Base[g.first:][:g.count]
	for i, lane := range now[g.first:][:g.count] {
		changed |= uint(-uint64(lane^base[i])>>63) << i // 1 if they differ, without a branch
	}
	if v.Before != nil {
		for i, lane := range v.Before[g.first:][:g.count] {
			moved |= uint(-uint64(lane^base[i])>>63) << i
		}
	}
	return changed, moved
}

// codeLane encodes a changed lane. A lane with two values has the zero symbol, which takes no bits.
func (d *Delta) codeLane(i int, now []uint32, v *quantize.Baselines, q *rotation) DeltaSymbol {
	l := &d.lanes[i]
	switch l.model {
	case quantize.ModelImplied:
		return DeltaSymbol{}
	case quantize.ModelRaw:
		return DeltaSymbol{Raw: uint64(now[i]), RawBits: uint(l.bits)}
	case quantize.ModelLargest:
		q.aim(i, d.top(i+1), v, l.still)
		return DeltaSymbol{Table: l.table, Context: q.largest(), Symbol: int(now[i] & 3)}
	}
	extrapolated, movement := d.expect(i, now, v, q)
	distance := int64(now[i]) - extrapolated
	switch l.model {
	case quantize.ModelFloat, quantize.ModelSpin:
		distance = floatDistance(now[i], extrapolated)
	case quantize.ModelTurn, quantize.ModelSame:
		distance = wrapped(distance, l.bits)
	}
	if movement < 0 {
		distance = -distance
	}
	s := DeltaSymbol{Table: l.table, Context: l.context(movement, v, q.miss)}
	s.Symbol, s.Raw, s.RawBits = Token(distance)
	q.miss = missOf(distance)
	return s
}

// expect returns the extrapolation of a lane and its movement since T. The lanes before i are known.
func (d *Delta) expect(i int, lanes []uint32, v *quantize.Baselines, q *rotation) (extrapolated, movement int64) {
	l := &d.lanes[i]
	if l.model != quantize.ModelPart {
		return d.extrapolation(i, v, q.own)
	}
	first := int(l.first)
	q.aim(first, d.top(i), v, l.still)
	return q.part(int(lanes[first]&3), i-first)
}

// top returns the largest value of a lane.
func (d *Delta) top(i int) int64 { return 1<<d.lanes[i].bits - 1 }

// floatDistance returns the distance of a float from its extrapolation, in float32 steps. The negative zero has no
// place in the order; its distance is larger than that of any other float.
func floatDistance(now uint32, extrapolated int64) int64 {
	if now == negativeZero {
		return negativeZeroDistance
	}
	return orderedFloat(now) - extrapolated
}

const (
	negativeZero         = 1 << 31
	negativeZeroDistance = 1<<33 - 1
)

// WriteSymbols writes the symbols of Append.
func WriteSymbols(w *wire.BitWriter, list []DeltaSymbol) {
	for i := range list {
		s := &list[i]
		v, n := s.Raw, s.RawBits
		if s.Table != nil {
			e := s.Table.code(s.Context).enc[s.Symbol]
			length := uint(e >> 16)
			v, n = v<<length|uint64(e&0xFFFF), n+length
		}
		w.Write(v, n)
	}
}

// Read decodes a row that Append encoded against the same versions. It returns false, with a failed reader and
// undefined lanes, in three cases: the bits end; Quantise cannot produce this row; Append would have encoded the row
// differently.
func (d *Delta) Read(r *wire.BitReader, lanes []uint32, v *quantize.Baselines) bool {
	copy(lanes, v.Base)
	any, q := false, rotation{lane: -1, m: d.m, length: int64(d.length), own: d.extrapolated(v), miss: v.Miss}
	defer d.release(q.own)
	for i := range d.groups {
		g := &d.groups[i]
		changed := uint(1)
		if g.table != nil {
			moved := uint(0)
			for i := range g.count {
				if v.Before != nil {
					moved |= uint(bitOf(v.Base[g.first+i] != v.Before[g.first+i])) << i
				}
			}
			changed = uint(g.table.Read(r, WhichContext(g.count, moved, v.Before != nil, v.Age, v.Span)))
		}
		any = any || changed != 0
		for i := range g.count {
			if changed>>i&1 != 0 && !d.readLane(r, g.first+i, lanes, v, &q) {
				r.Fail()
				return false
			}
		}
	}
	if d.hasTail() && !r.Failed() && d.plan.ReadTail(r, v.Base, lanes) {
		any = true
	}
	if !any || r.Failed() || !d.plan.LegalRow(lanes) {
		r.Fail()
		return false
	}
	v.Miss = q.miss
	return true
}

// readLane decodes a changed lane.
func (d *Delta) readLane(r *wire.BitReader, i int, lanes []uint32, v *quantize.Baselines, q *rotation) bool {
	l := &d.lanes[i]
	switch {
	case l.model == quantize.ModelImplied:
		lanes[i] = v.Base[i] ^ 1
		return true
	case l.model == quantize.ModelRaw:
		lanes[i] = uint32(r.Read(uint(l.bits)))
		return !r.Failed() && lanes[i] != v.Base[i]
	case l.model == quantize.ModelLargest:
		q.aim(i, d.top(i+1), v, l.still)
		lanes[i] = uint32(l.table.Read(r, q.largest()))
		return !r.Failed() && lanes[i] != v.Base[i]
	}
	extrapolated, movement := d.expect(i, lanes, v, q)
	distance := l.table.ReadToken(r, l.context(movement, v, q.miss))
	q.miss = missOf(distance)
	if movement < 0 {
		distance = -distance
	}
	if r.Failed() {
		return false
	}
	if isFloat(l.model) {
		var ok bool
		lanes[i], ok = floatAt(extrapolated, distance)
		return ok && lanes[i] != v.Base[i]
	}
	now := extrapolated + distance
	if l.model == quantize.ModelTurn || l.model == quantize.ModelSame {
		if distance != wrapped(distance, l.bits) {
			return false
		}
		now &= 1<<l.bits - 1
	}
	lanes[i] = uint32(now)
	return now >= 0 && now < 1<<l.bits && lanes[i] != v.Base[i]
}

// floatAt returns the float at this distance from an extrapolation: the inverse of floatDistance.
func floatAt(extrapolated, distance int64) (lane uint32, ok bool) {
	if distance == negativeZeroDistance {
		return negativeZero, true
	}
	return floatLane(extrapolated + distance)
}

// Code returns the code of the symbol and its length, without the raw bits.
func (s *DeltaSymbol) Code() (code uint64, n uint) {
	if s.Table == nil {
		return 0, 0
	}
	e := s.Table.code(s.Context).enc[s.Symbol]
	return uint64(e & 0xFFFF), uint(e >> 16)
}

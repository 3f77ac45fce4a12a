package delta

import (
	"math/bits"
	"sync/atomic"

	"github.com/arche-netcode/netcode/internal/kernel"
	"github.com/arche-netcode/netcode/internal/plain"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/wire"
)

// Prepare makes Code quick. Any number of goroutines may call it, before any of them codes.
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
		if d.wide && d.class != classOther {
			d.tables = d.findTables()
		}
		d.goWide()
	})
}

// Compare returns in which lanes a row differs from v.Base, and v.Base from v.Before: bit i for lane i, the last bit for all
// from there on.
func (d *Delta) Compare(now []uint32, v *quantize.Baselines) (changed, moved uint64) {
	changed = differingLanes(now[:len(d.lanes)], v.Base)
	if v.Before != nil {
		moved = differingLanes(v.Base[:len(d.lanes)], v.Before)
	}
	return changed, moved
}

// differingLanes is a bit for each lane in which two rows differ. Most have three lanes or four.
func differingLanes(a, b []uint32) (mask uint64) {
	switch b = b[:len(a)]; len(a) {
	case 3:
		a, b := (*[3]uint32)(a), (*[3]uint32)(b)
		return uint64(bitOf(a[0] != b[0]) | bitOf(a[1] != b[1])<<1 | bitOf(a[2] != b[2])<<2)
	case 4:
		a, b := (*[4]uint32)(a), (*[4]uint32)(b)
		return uint64(bitOf(a[0] != b[0]) | bitOf(a[1] != b[1])<<1 | bitOf(a[2] != b[2])<<2 | bitOf(a[3] != b[3])<<3)
	}
	for i := range a {
		mask |= uint64(bitOf(a[i] != b[i])) << min(uint(i), 63)
	}
	return mask
}

// Code appends to w what WriteSymbols writes of what Append gives: the same bits, without the list between. What Compare
// has returned says what differs, and something does. It is what a server does most; tests hold it against the list.
func (d *Delta) Code(w *BitBuffer, now []uint32, v *quantize.Baselines, changed, moved uint64) {
	if !d.ready {
		d.codeList(w, now, v)
		return
	}
	class, known, before := AgeClass(v.Age), v.Before != nil, v.Before
	age, miss := class*contextsPerAge, v.Miss
	if known {
		age += misses
	} else {
		before = v.Base // nothing moved: extrapolations stay where they were
	}
	if d.class != classOther && d.codeRow(w, now, before, v, changed, moved) {
		return
	}
	w.turn.lane = -1
	acc, n := w.acc, w.n // here and not in w, to stay in registers
	for i := range d.groups {
		g := &d.groups[i]
		if g.table != nil {
			width := uint(g.count) & 7
			of := uint(1) << width
			if known {
				of = uint(moved) & (1<<width - 1)
			}
			w.acc, w.n = acc, n
			w.symbol(g.table, g.flat, class*(1<<width+1)+int(of), int(changed&(1<<width-1)), 1<<width)
			acc, n = w.acc, w.n
		}
		of := uint(changed) & (1<<groupLanes - 1)
		for changed, moved = changed>>groupLanes, moved>>groupLanes; of != 0; of &= of - 1 {
			i := g.first + bits.TrailingZeros(of)
			l := &d.lanes[i]
			var code uint64
			var size uint
			if l.model <= quantize.ModelRaw || l.model == quantize.ModelLargest {
				code, size = d.whole(w, i, now[i], v)
			} else {
				distance, movement := int64(0), int64(0)
				if l.model == quantize.ModelLinear && straight(v) {
					base := int64(v.Base[i])
					movement = base - int64(before[i])
					distance = int64(now[i]) - min(max(base+movement, 0), 1<<(l.bits&63)-1)
				} else {
					distance, movement = d.away(w, i, now, before, v)
				}
				code, size, miss = l.token(distance, movement, age, miss)
			}
			acc |= code << (n & 63)
			if n += size; n >= 64 {
				w.acc, w.n = acc, n
				w.spill(code, size)
				acc, n = w.acc, w.n
			}
		}
	}
	w.acc, w.n, v.Miss = acc, n, miss
}

// whole is a lane that is not a distance from anything.
func (d *Delta) whole(w *BitBuffer, i int, now uint32, v *quantize.Baselines) (code uint64, size uint) {
	switch l := &d.lanes[i]; l.model {
	case quantize.ModelRaw:
		return uint64(now), uint(l.bits)
	case quantize.ModelLargest:
		w.turn.aim(i, d.top(i+1), v, l.still)
		e := flatCode(l.table, l.flat, w.turn.largest(), int(now&3), 4)
		return uint64(e & 0xFFFF), uint(e >> 16)
	}
	return 0, 0
}

// away returns the distance of a lane from its extrapolation, and the movement that leads there. Before is the row as of T', or of T if T' is not used.
func (d *Delta) away(w *BitBuffer, i int, now, before []uint32, v *quantize.Baselines) (distance, movement int64) {
	l := &d.lanes[i]
	base, extrapolated := v.Base[i], int64(0)
	span := v.Span
	if v.Before == nil {
		span = 1 // where it has no meaning
	}
	switch l.model {
	case quantize.ModelLinear:
		movement = divide((int64(base)-int64(before[i]))*v.Age, span)
		return int64(now[i]) - min(max(int64(base)+movement, 0), 1<<l.bits-1), movement
	case quantize.ModelTurn:
		movement = divide(wrapped(int64(base)-int64(before[i]), l.bits)*v.Age, span)
		return wrapped(int64(now[i])-int64(base)-movement, l.bits), movement
	case quantize.ModelFloat:
		was := before[i]
		if l.still {
			was = base
		}
		extrapolated, movement = floatExtrapolation(base, was, v.Age, span)
		return floatDistance(now[i], extrapolated), movement
	case quantize.ModelPart:
		first := int(l.first)
		w.turn.aim(first, d.top(i), v, l.still)
		extrapolated, movement = w.turn.part(int(now[first]&3), i-first)
		return int64(now[i]) - extrapolated, movement
	}
	return wrapped(int64(now[i])-int64(base), l.bits), 0
}

// token is the code of a distance that is folded by the sign of the movement, with its raw bits, and how far off the lane
// was. Age is the first context of the age, with or without a movement. It does what WriteToken does, the symbol by
// arithmetic: where there is no branch nobody has to foresee it.
func (l *deltaLane) token(distance, movement int64, age, miss int) (code uint64, size uint, off int) {
	side := movement >> 63
	steps := uint(bits.Len64(uint64(movement ^ side - side)))
	if l.model == quantize.ModelFloat {
		steps /= 2
	}
	distance = distance ^ side - side
	sign := distance >> 63
	magnitude := uint64(distance ^ sign - sign)
	k := bits.Len64(magnitude)
	symbol := tokenBase(k) + int(magnitude<<2>>(uint(k)&63)&1)<<1 + int(sign&1)
	e := flatCode(l.table, l.flat, age+int(min(steps, movementSteps))*misses+miss, symbol, deltaFlat)
	rawBits, length := uint(max(k-2, 0)), uint(e>>16)
	raw := magnitude & (1<<(rawBits&63) - 1)
	return raw<<(length&63) | uint64(e&0xFFFF), length + rawBits, int(bitOf(k > 1) + bitOf(k > 4))
}

// flatCode is the code of a symbol of a table that is flat, as Code.enc holds it; size is that of a context's codes.
func flatCode(t *Table, flat []atomic.Uint32, context, symbol, size int) uint32 {
	if e := flat[context*size+symbol].Load(); e != 0 {
		return e
	}
	return t.unfold(context, symbol)
}

// symbol appends a symbol of a table that is flat.
func (w *BitBuffer) symbol(t *Table, flat []atomic.Uint32, context, symbol, size int) {
	e := flatCode(t, flat, context, symbol, size)
	w.put(uint64(e&0xFFFF), uint(e>>16))
}

// codeList is Code by way of lists of symbols, for what is rare: a component with an extrapolation of its own, one of very
// many lanes, and one with texts or lists.
func (d *Delta) codeList(w *BitBuffer, now []uint32, v *quantize.Baselines) {
	var list [1]DeltaSymbol
	q := rotation{lane: -1, own: d.extrapolated(v), miss: v.Miss}
	defer d.release(q.own)
	for i := range d.groups {
		g := &d.groups[i]
		changed, moved := g.differing(now, v)
		if g.table != nil {
			w.Symbol(g.table, WhichContext(g.count, moved, v.Before != nil, v.Age), int(changed))
		}
		for ; changed != 0; changed &= changed - 1 {
			for _, s := range d.appendLane(list[:0], g.first+bits.TrailingZeros(changed), now, v, &q) {
				code, n := s.Code()
				w.put(code, n)
				w.put(s.Raw, s.RawBits)
			}
		}
	}
	d.codeTail(w, now, v)
	v.Miss = q.miss
}

// DeltaSymbol is one symbol of a row that was coded but not written: where a trainer counts and a writer writes.
type DeltaSymbol struct {
	Table   *Table // nil: only the raw bits
	Context int    // of the table, that the symbol is coded in
	Symbol  int    // that is coded
	Raw     uint64 // bits behind the symbol, as they are
	RawBits uint   // how many these are
}

// Append codes a row and appends its symbols. The row must differ from v.Base.
func (d *Delta) Append(dst []DeltaSymbol, now []uint32, v *quantize.Baselines) []DeltaSymbol {
	q := rotation{lane: -1, own: d.extrapolated(v), miss: v.Miss}
	defer d.release(q.own)
	for _, g := range d.groups {
		changed, moved := g.differing(now, v)
		if g.table != nil {
			dst = append(dst, DeltaSymbol{Table: g.table, Context: WhichContext(g.count, moved, v.Before != nil, v.Age), Symbol: int(changed)})
		}
		for i := range g.count {
			if changed>>i&1 != 0 {
				dst = d.appendLane(dst, g.first+i, now, v, &q)
			}
		}
	}
	v.Miss = q.miss
	return d.appendTail(dst, now, v)
}

// differing returns which lanes of the group are others than at T, and which were others at T than at T′: bit i for the i-th.
func (g *deltaGroup) differing(now []uint32, v *quantize.Baselines) (changed, moved uint) {
	for i := range g.count {
		lane := g.first + i
		changed |= uint(bitOf(now[lane] != v.Base[lane])) << i
		if v.Before != nil {
			moved |= uint(bitOf(v.Base[lane] != v.Before[lane])) << i
		}
	}
	return changed, moved
}

// appendLane codes a lane that changed.
func (d *Delta) appendLane(dst []DeltaSymbol, i int, now []uint32, v *quantize.Baselines, q *rotation) []DeltaSymbol {
	l := &d.lanes[i]
	switch {
	case l.model == quantize.ModelImplied:
		return dst
	case l.model == quantize.ModelRaw:
		return append(dst, DeltaSymbol{Raw: uint64(now[i]), RawBits: uint(l.bits)})
	case l.model == quantize.ModelLargest:
		q.aim(i, d.top(i+1), v, l.still)
		return append(dst, DeltaSymbol{Table: l.table, Context: q.largest(), Symbol: int(now[i] & 3)})
	}
	extrapolated, movement := d.expect(i, now, v, q)
	distance := int64(now[i]) - extrapolated
	switch {
	case l.model == quantize.ModelFloat:
		distance = floatDistance(now[i], extrapolated)
	case l.model == quantize.ModelTurn || l.model == quantize.ModelSame:
		distance = wrapped(distance, l.bits)
	}
	if movement < 0 {
		distance = -distance
	}
	symbol, raw, n := Token(distance)
	context := l.context(movement, v, q.miss)
	q.miss = missOf(distance)
	return append(dst, DeltaSymbol{Table: l.table, Context: context, Symbol: symbol, Raw: raw, RawBits: n})
}

// expect returns the extrapolation of a lane, the lanes before it being known, and the movement that leads there from T.
func (d *Delta) expect(i int, lanes []uint32, v *quantize.Baselines, q *rotation) (extrapolated, movement int64) {
	l := &d.lanes[i]
	if l.model != quantize.ModelPart {
		return d.extrapolation(i, v, q.own)
	}
	first := int(l.first)
	q.aim(first, d.top(i), v, l.still)
	return q.part(int(lanes[first]&3), i-first)
}

// top is the largest number of a lane's bits.
func (d *Delta) top(i int) int64 { return 1<<d.lanes[i].bits - 1 }

// floatDistance returns the distance of a float from its extrapolation, in steps. The negative zero, which has no place among the
// steps, is as far away as no other float can be.
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

// WriteSymbols writes what Append gave.
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

// Read reads a row that Append coded against the same versions. It returns false, with lanes worth nothing and the reader
// failed, when the bits end, the row is not one that Quantise could have made, or Append would have coded it otherwise.
func (d *Delta) Read(r *wire.BitReader, lanes []uint32, v *quantize.Baselines) bool {
	if d.floats {
		return d.readFloats(r, lanes, v)
	}
	copy(lanes, v.Base)
	any, q := false, rotation{lane: -1, own: d.extrapolated(v), miss: v.Miss}
	defer d.release(q.own)
	for _, g := range d.groups {
		changed := uint(1)
		if g.table != nil {
			moved := uint(0)
			for i := range g.count {
				if v.Before != nil {
					moved |= uint(bitOf(v.Base[g.first+i] != v.Before[g.first+i])) << i
				}
			}
			changed = uint(g.table.Read(r, WhichContext(g.count, moved, v.Before != nil, v.Age)))
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

// readLane reads a lane that changed.
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
	if l.model == quantize.ModelFloat {
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

// floatAt is the float so many steps from an extrapolation: the inverse of floatDistance.
func floatAt(extrapolated, distance int64) (lane uint32, ok bool) {
	if distance == negativeZeroDistance {
		return negativeZero, true
	}
	return floatLane(extrapolated + distance)
}

// Code returns the bits of the symbol itself, without the raw ones that follow, and how many they are.
func (s *DeltaSymbol) Code() (code uint64, n uint) {
	if s.Table == nil {
		return 0, 0
	}
	e := s.Table.code(s.Context).enc[s.Symbol]
	return uint64(e & 0xFFFF), uint(e >> 16)
}

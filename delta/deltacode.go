package delta

import (
	"math/bits"
	"sync/atomic"

	"github.com/arche-netcode/netcode/internal/kernel"
	"github.com/arche-netcode/netcode/quantize"
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
			if l := &d.lanes[i]; d.row != rowOther && l.model != quantize.ModelLargest {
				l.short = l.table.shorten()
			}
		}
		d.ready = !d.plan.Extrapolates() && len(d.lanes) <= 64
		if d.wide && d.row != rowOther {
			d.tables = d.findTables()
		}
		d.goWide()
	})
}

// Compare returns in which lanes a row differs from v.Base, and v.Base from v.Before: bit i for lane i, the last bit for all
// from there on.
func (d *Delta) Compare(now []uint32, v *quantize.Versions) (changed, moved uint64) {
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
func (d *Delta) Code(w *Words, now []uint32, v *quantize.Versions, changed, moved uint64) {
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
	if d.row != rowOther && d.codeRow(w, now, before, v, changed, moved) {
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
func (d *Delta) whole(w *Words, i int, now uint32, v *quantize.Versions) (code uint64, size uint) {
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

// away is how far a lane is from what is expected of it, and the movement that leads there. Before is the row as of T', or
// of T where that is not leaned on.
func (d *Delta) away(w *Words, i int, now, before []uint32, v *quantize.Versions) (distance, movement int64) {
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
func (w *Words) symbol(t *Table, flat []atomic.Uint32, context, symbol, size int) {
	e := flatCode(t, flat, context, symbol, size)
	w.put(uint64(e&0xFFFF), uint(e>>16))
}

// codeList is Code by way of lists of symbols, for what is rare: a component with an extrapolation of its own, and one of very
// many lanes.
func (d *Delta) codeList(w *Words, now []uint32, v *quantize.Versions) {
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
	v.Miss = q.miss
}

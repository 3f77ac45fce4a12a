package delta

import (
	"math"
	"math/bits"

	"github.com/arche-netcode/netcode/internal/plain"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/wire"
)

// Most rows that move are of two kinds: some lanes that go on in a straight line, and one rotation. For each there is a
// way of its own to the same bits, which does not ask of each lane what it is, keeps what it takes in registers and has
// few branches: first how far off all lanes are, then their tokens.

// rowClass is the class of a row: which encoder it has.
type rowClass uint8

const (
	classOther rowClass = iota
	classLines          // two to four lanes, all ModelLinear
	classTurn           // a rotation that goes on
)

// rowClass returns the class of the rows.
func (d *Delta) rowClass() rowClass {
	if plain.On || len(d.groups) != 1 || len(d.lanes) < 2 {
		return classOther
	}
	lines, turn := true, len(d.lanes) == groupLanes
	for i := range d.lanes {
		l := &d.lanes[i]
		lines = lines && l.model == quantize.ModelLinear
		turn = turn && !l.still && (i > 0 && l.model == quantize.ModelPart || i == 0 && l.model == quantize.ModelLargest)
	}
	switch {
	case lines:
		return classLines
	case turn:
		return classTurn
	}
	return classOther
}

// offsets are the distances of the lanes of a row from their extrapolations, and the movements that lead there.
type offsets struct{ distance, movement [groupLanes]int64 }

// lines is those of rowLines.
func (d *Delta) lines(o *offsets, now, base, before []uint32, age, span int64) {
	lanes := d.lanes
	now, base, before = now[:len(lanes)], base[:len(lanes)], before[:len(lanes)]
	for i := range lanes {
		at := int64(base[i])
		movement := at - int64(before[i])
		if age|span != 1 {
			movement = divide(movement*age, span)
		}
		o.movement[i&3] = movement
		o.distance[i&3] = int64(now[i]) - min(max(at+movement, 0), 1<<(lanes[i].bits&63)-1)
	}
}

// turn is those of rowTurn, of the lanes that changed. It returns false where the three rows do not leave out the same
// component, or their rotations are turned over on the way: see rotation, which does the same for all.
func (d *Delta) turn(o *offsets, now, base, before []uint32, age, span int64, changed uint) bool {
	r0, r1, r2 := (*[4]uint32)(now), (*[4]uint32)(base), (*[4]uint32)(before)
	if ((r0[0]^r1[0])|(r1[0]^r2[0]))&3 != 0 {
		return false
	}
	m := d.m
	x, y, z := 2*int64(r1[1])-m, 2*int64(r1[2])-m, 2*int64(r1[3])-m
	a, b, c := 2*int64(r2[1])-m, 2*int64(r2[2])-m, 2*int64(r2[3])-m
	w := int64(math.Sqrt(float64(max(2*m*m-x*x-y*y-z*z, 0)))) // as components does
	e := int64(math.Sqrt(float64(max(2*m*m-a*a-b*b-c*c, 0))))
	dot := x*a + y*b + z*c + w*e
	a, b, c, e = x-a, y-b, z-c, w-e
	if age|span != 1 {
		a, b, c, e = d.far(a, age, span), d.far(b, age, span), d.far(c, age, span), d.far(e, age, span)
	}
	moved := a | b | c | e
	a, b, c, e = x+a, y+b, z+c, w+e
	if dot < 0 || e < 0 {
		return false
	}
	length := d.length
	if moved != 0 {
		if length = root(uint64(a*a+b*b+c*c+e*e) << 16); length == 0 {
			return false
		}
	}
	to := [groupLanes]int64{1: a, 2: b, 3: c}
	for ; changed != 0; changed &= changed - 1 {
		i := bits.TrailingZeros(changed) & 3
		sign := to[i] >> 63
		n := int64((uint64((to[i]^sign-sign))*d.length + length/2) / length)
		extrapolated := min(max((n^sign-sign+m+1)>>1, 0), m)
		o.movement[i], o.distance[i] = extrapolated-int64(r1[i]), int64(r0[i])-extrapolated
	}
	return true
}

// far returns the movement of a component of a rotation, for other ages and spans than 1.
func (d *Delta) far(step, age, span int64) int64 {
	return min(max(divide(step*age, span), -4*d.m), 4*d.m)
}

// tokenBase is the first symbol of a magnitude of k bits: k, or 4k-5 where that is more. It is arithmetic, since max comes
// to a branch here, which nobody could foresee.
func tokenBase(k int) int {
	more := 3*k - 5
	return k + more&^(more>>31)
}

// tokens writes the tokens of the lanes that changed. It is deltaLane.token for all of them.
func (d *Delta) tokens(w *BitBuffer, o *offsets, changed uint, age, miss int) int {
	acc, n := w.acc, w.n
	for ; changed != 0; changed &= changed - 1 {
		i := bits.TrailingZeros(changed) & 3
		l := &d.lanes[i]
		side := o.movement[i] >> 63
		steps := min(bits.Len64(uint64(o.movement[i]^side-side)), movementSteps)
		distance := o.distance[i] ^ side - side
		sign := distance >> 63
		magnitude := uint64(distance ^ sign - sign)
		k := bits.Len64(magnitude)
		symbol := tokenBase(k) + int(magnitude<<2>>(uint(k)&63)&1)<<1 + int(sign&1)
		context := age + steps*misses + miss
		e := l.flat[context*deltaFlat+symbol].Load()
		if e == 0 {
			e = l.table.unfold(context, symbol)
		}
		raw, length := uint(max(k-2, 0)), uint(e>>16)
		code := magnitude&(1<<(raw&63)-1)<<(length&63) | uint64(e&0xFFFF)
		miss = int(bitOf(k > 1) + bitOf(k > 4))
		acc |= code << (n & 63)
		if n += length + raw; n >= 64 {
			w.acc, w.n = acc, n
			w.spill(code, length+raw)
			acc, n = w.acc, w.n
		}
	}
	w.acc, w.n = acc, n
	return miss
}

// codeRow is Code for the rows that have a way of their own. It returns false, and has done nothing, where this one has not.
// Before is the row as of T', or of T if T' is not used.
func (d *Delta) codeRow(w *BitBuffer, now, before []uint32, v *quantize.Baselines, changed, moved uint64) bool {
	var o offsets
	span, known := v.Span, v.Before != nil
	if !known {
		span = 1 // where it has no meaning
	}
	switch {
	case d.class == classLines:
		d.lines(&o, now, v.Base, before, v.Age, span)
	case changed&1 != 0 || !d.turn(&o, now, v.Base, before, v.Age, span, uint(changed)):
		return false
	}
	g, class := &d.groups[0], AgeClass(v.Age)
	of, age := 1<<(uint(g.count)&7), class*contextsPerAge
	context := class*(of+1) + of
	if known {
		context, age = class*(of+1)+int(moved), age+misses
	}
	w.symbol(g.table, g.flat, context, int(changed), of)
	v.Miss = d.tokens(w, &o, uint(changed), age, v.Miss)
	return true
}

// Games that send their floats exactly send little else, so rows of nothing but floats have a reader of their own. It
// reads what Read would, lane by lane.

// readFloats is Read of a row whose lanes are all floats.
func (d *Delta) readFloats(r *wire.BitReader, lanes []uint32, v *quantize.Baselines) bool {
	base, before := v.Base, v.Before
	lanes, base = lanes[:len(d.lanes)], base[:len(d.lanes)]
	if before != nil {
		before = before[:len(d.lanes)]
	}
	age := AgeClass(v.Age)
	any, miss, legal := uint(0), v.Miss, true
	for first := 0; first < len(lanes); first += groupLanes {
		g := &d.groups[first/groupLanes]
		changed := uint(1)
		if g.table != nil {
			known := uint(1) << g.count // that nobody knows
			if before != nil {
				known = 0
				for i := range g.count {
					known |= uint(bitOf(base[first+i] != before[first+i])) << i
				}
			}
			changed = uint(g.table.Read(r, age*(1<<g.count+1)+int(known)))
		}
		any |= changed
		for i := first; i < first+g.count; i, changed = i+1, changed>>1 {
			lanes[i] = base[i]
			if changed&1 == 0 {
				continue
			}
			extrapolated, movement, context := orderedFloat(base[i]), int64(0), age*contextsPerAge+miss
			if before != nil {
				extrapolated, movement = floatExtrapolation(base[i], before[i], v.Age, v.Span)
				context += (1 + min(bits.Len64(uint64(abs(movement)))/2, movementSteps)) * misses
			}
			distance := d.lanes[i].table.ReadToken(r, context)
			miss = missOf(distance)
			if movement < 0 {
				distance = -distance
			}
			var ok bool
			lanes[i], ok = floatAt(extrapolated, distance)
			legal = legal && ok && finiteLane(lanes[i]) && lanes[i] != base[i]
		}
	}
	if any == 0 || r.Failed() || !legal {
		r.Fail()
		return false
	}
	v.Miss = miss
	return true
}

// onlyFloats reports whether all lanes are floats that go on in a straight line.
func (d *Delta) onlyFloats() bool {
	if plain.On {
		return false
	}
	for i := range d.lanes {
		if d.lanes[i].model != quantize.ModelFloat || d.lanes[i].still {
			return false
		}
	}
	return len(d.lanes) > 0 && !d.plan.Extrapolates()
}

package wire

import (
	"math/bits"
	"sync/atomic"
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
		d.ready = d.plan.predict == nil && len(d.lanes) <= 64
	})
}

// Compare returns in which lanes a row differs from v.Base, and v.Base from v.Before: bit i for lane i, the last bit for all
// from there on.
func (d *Delta) Compare(now []uint32, v *Versions) (changed, moved uint64) {
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
		return uint64(bit(a[0] != b[0]) | bit(a[1] != b[1])<<1 | bit(a[2] != b[2])<<2)
	case 4:
		a, b := (*[4]uint32)(a), (*[4]uint32)(b)
		return uint64(bit(a[0] != b[0]) | bit(a[1] != b[1])<<1 | bit(a[2] != b[2])<<2 | bit(a[3] != b[3])<<3)
	}
	for i := range a {
		mask |= uint64(bit(a[i] != b[i])) << min(uint(i), 63)
	}
	return mask
}

// Code appends to w what WriteSymbols writes of what Append gives: the same bits, without the list between. What Compare
// has returned says what differs, and something does. It is what a server does most; tests hold it against the list.
func (d *Delta) Code(w *Words, now []uint32, v *Versions, changed, moved uint64) {
	if !d.ready {
		d.codeList(w, now, v)
		return
	}
	which := AgeClass(v.Age)
	c := coding{words: w, context: which * contextsPerAge, miss: v.Miss, before: v.Before}
	w.turn.lane = -1
	known := v.Before != nil
	if known {
		c.context += misses
	} else {
		c.before = v.Base // nothing moved: predictions stay where they were
	}
	for i := range d.groups {
		g := &d.groups[i]
		if g.table != nil {
			width := uint(g.count) & 7
			before := uint(1) << width
			if known {
				before = uint(moved) & (1<<width - 1)
			}
			c.words.symbol(g.table, g.flat, which*(1<<width+1)+int(before), int(changed&(1<<width-1)), 1<<width)
		}
		of := uint(changed) & (1<<groupLanes - 1)
		for changed, moved = changed>>groupLanes, moved>>groupLanes; of != 0; of &= of - 1 {
			c.lane(d, g.first+bits.TrailingZeros(of), now, v)
		}
	}
	v.Miss = c.miss
}

// codeList is Code by way of lists of symbols, for what is rare: a component with a prediction of its own, and one of very
// many lanes.
func (d *Delta) codeList(w *Words, now []uint32, v *Versions) {
	var list [1]DeltaSymbol
	q := rotation{lane: -1, own: d.predicted(v), miss: v.Miss}
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

// coding is a row while its lanes are appended.
type coding struct {
	words   *Words
	context int      // the first one for the age, with or without a movement
	miss    int      // how far off the lane before was
	before  []uint32 // as of T', or of T where that is not leaned on
}

// lane appends a lane that changed.
func (c *coding) lane(d *Delta, i int, now []uint32, v *Versions) {
	l := &d.lanes[i]
	var distance, movement int64
	switch l.model {
	case modelLinear:
		base := int64(v.Base[i])
		movement = base - int64(c.before[i])
		if !v.straight() {
			movement = divide(movement*v.Age, v.Span)
		}
		distance = int64(now[i]) - min(max(base+movement, 0), 1<<l.bits-1)
	case modelTurn:
		movement = divide(wrapped(int64(v.Base[i])-int64(c.before[i]), l.bits)*v.Age, v.Span)
		distance = wrapped(int64(now[i])-int64(v.Base[i])-movement, l.bits)
	case modelSame:
		distance = wrapped(int64(now[i])-int64(v.Base[i]), l.bits)
	case modelFloat:
		before := c.before[i]
		if l.still {
			before = v.Base[i]
		}
		var predicted int64
		predicted, movement = floatPrediction(v.Base[i], before, v.Age, v.Span)
		distance = floatDistance(now[i], predicted)
	case modelPart:
		first := int(l.first)
		c.words.turn.aim(first, d.top(i), v, l.still)
		var predicted int64
		predicted, movement = c.words.turn.part(int(now[first]&3), i-first)
		distance = int64(now[i]) - predicted
	case modelLargest:
		c.words.turn.aim(i, d.top(i+1), v, l.still)
		c.words.symbol(l.table, l.flat, c.words.turn.largest(), int(now[i]&3), 4)
		return
	case modelRaw:
		c.words.put(uint64(now[i]), uint(l.bits))
		return
	case modelImplied:
		return
	}
	sign := movement >> 63
	c.token(l, distance^sign-sign, uint64(movement^sign-sign))
}

// token appends a distance, folded by the sign of the movement, whose magnitude is given. It is WriteToken without a
// branch that nobody could foresee: a token's symbol by arithmetic.
func (c *coding) token(l *deltaLane, distance int64, movement uint64) {
	steps := uint(bits.Len64(movement))
	if l.model == modelFloat {
		steps /= 2
	}
	sign := distance >> 63
	magnitude := uint64(distance ^ sign - sign)
	k := bits.Len64(magnitude)
	symbol := max(4*k-5, k) + int(magnitude<<2>>(uint(k)&63)&1)<<1 + int(sign&1)
	rawBits := uint(max(k-2, 0))
	context := c.context + int(min(steps, movementSteps))*misses + c.miss
	c.miss = int(bit(k > 1) + bit(k > 4))
	e := l.flat[context*deltaSymbols+symbol].Load()
	if e == 0 {
		e = l.table.unfold(context, symbol)
	}
	length := uint(e >> 16)
	raw := magnitude & (1<<(rawBits&63) - 1)
	c.words.put(raw<<(length&63)|uint64(e&0xFFFF), length+rawBits)
}

// symbol appends a symbol of a table that is flat and has so many.
func (w *Words) symbol(t *Table, flat []atomic.Uint32, context, symbol, symbols int) {
	e := flat[context*symbols+symbol].Load()
	if e == 0 {
		e = t.unfold(context, symbol)
	}
	w.put(uint64(e&0xFFFF), uint(e>>16))
}

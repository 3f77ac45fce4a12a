package wire

import (
	"math"
	"math/bits"
	"slices"
)

// MaxExpected is how many rows are extrapolated together.
const MaxExpected = 16

// Expected is the extrapolation of one component of up to MaxExpected entities, which are coded against versions of the same two
// ticks. Who reads many rows makes it for all of them before the first bit is read: a step that waits for its operands then
// overlaps with those of the other rows. Only what is extrapolated is in it; [RowReader.Row] reads what differs.
type Expected struct {
	lane    [groupLanes][MaxExpected]uint32 // by lane and row: what it is expected to be
	context [groupLanes][MaxExpected]uint16 // twice the first context of its token, one more where it moves down
	which   [MaxExpected]uint16             // by row: the context of the symbol that says which lanes changed
	moved   [MaxExpected]uint8              // by row: the lanes that differ between T' and T
	odd     [MaxExpected]bool               // by row: Delta.Read alone knows what is expected
}

// Moved is 1 where the k-th row differs between T' and T.
func (e *Expected) Moved(k int) uint { return uint(bit(e.moved[k&(MaxExpected-1)] != 0)) }

// canExpect reports whether rows of the plan are extrapolated together, and prepares for that. Any number of goroutines may call it.
func (d *Delta) canExpect() bool {
	d.onceRead.Do(func() {
		d.expects = d.row != rowOther && d.plan.extrapolate == nil && !d.plan.debug
		for i := range d.lanes {
			l, of := &d.lanes[i], &d.plan.lanes[i]
			if l.most = uint64(d.top(i)); of.check == checkMax {
				l.most = of.max
			}
			d.expects = d.expects && (of.check == checkNone || of.check == checkMax || of.check == checkQuat && d.row == rowTurn)
		}
		if !d.expects {
			return
		}
		d.groups[0].read = d.groups[0].table.SymbolReader()
		for i := range d.lanes {
			if l := &d.lanes[i]; l.model != modelLargest {
				l.read = l.table.tokenReader()
			}
		}
	})
	return d.expects
}

// Expect extrapolates rows: the k-th begins at place baseAt[k] of base as of T, age ticks ago, and at beforeAt[k] of before as of T', span ticks
// before T.
func (d *Delta) Expect(e *Expected, base, before []uint32, baseAt, beforeAt []int32, age, span int64) {
	switch {
	case !d.canExpect():
		d.expectNothing(e, base, before, baseAt, beforeAt)
		return
	case d.row == rowTurn:
		d.expectTurns(e, base, before, baseAt, beforeAt, age, span)
	default:
		d.expectLines(e, base, before, baseAt, beforeAt, age, span)
	}
	symbols, class := d.groups[0].read, AgeClass(age)*(1<<d.groups[0].count+1)
	for k := range baseAt {
		context := class + int(e.moved[k])
		symbols.want(context)
		e.which[k] = uint16(context)
	}
}

// expectLines is Expect for lanes that go on in a straight line.
func (d *Delta) expectLines(e *Expected, base, before []uint32, baseAt, beforeAt []int32, age, span int64) {
	beforeAt = beforeAt[:len(baseAt)]
	first, straight := AgeClass(age)*contextsPerAge+misses, age|span == 1
	clear(e.moved[:])
	for i := range d.lanes {
		lane, context, top, tokens := &e.lane[i&3], &e.context[i&3], d.top(i), d.lanes[i].read
		for k, at := range baseAt {
			from := int64(base[int(at)+i])
			movement := from - int64(before[int(beforeAt[k])+i])
			e.moved[k&(MaxExpected-1)] |= uint8(bit(movement != 0) << i)
			if !straight {
				movement = divide(movement*age, span)
			}
			lane[k&(MaxExpected-1)] = uint32(min(max(from+movement, 0), top))
			context[k&(MaxExpected-1)] = tokens.context(first, movement)
		}
	}
	clear(e.odd[:])
}

// context is what Expected has of a token whose lane is expected to move so far, first being the context without a movement.
func (t *SymbolReader) context(first int, movement int64) uint16 {
	side := movement >> 63
	at := first + min(bits.Len64(uint64(movement^side-side)), movementSteps)*misses
	t.want(at)
	return uint16(at<<1) | uint16(side&1)
}

// expectTurns is Expect for rotations. It does what rotation does where all three rows leave out the same component and none is turned over.
func (d *Delta) expectTurns(e *Expected, base, before []uint32, baseAt, beforeAt []int32, age, span int64) {
	beforeAt = beforeAt[:len(baseAt)]
	first, m, tokens := AgeClass(age)*contextsPerAge+misses, d.m, d.lanes[1].read
	for k, at := range baseAt {
		k &= MaxExpected - 1
		r1, r2 := (*[4]uint32)(base[at:]), (*[4]uint32)(before[beforeAt[k]:])
		e.moved[k] = uint8(bit(r1[0] != r2[0]) | bit(r1[1] != r2[1])<<1 | bit(r1[2] != r2[2])<<2 | bit(r1[3] != r2[3])<<3)
		x, y, z := 2*int64(r1[1])-m, 2*int64(r1[2])-m, 2*int64(r1[3])-m
		a, b, c := 2*int64(r2[1])-m, 2*int64(r2[2])-m, 2*int64(r2[3])-m
		w := int64(math.Sqrt(float64(max(2*m*m-x*x-y*y-z*z, 0)))) // as components does
		v := int64(math.Sqrt(float64(max(2*m*m-a*a-b*b-c*c, 0))))
		dot := x*a + y*b + z*c + w*v
		a, b, c, v = x-a, y-b, z-c, w-v
		if age|span != 1 {
			a, b, c, v = d.far(a, age, span), d.far(b, age, span), d.far(c, age, span), d.far(v, age, span)
		}
		moved := a | b | c | v
		a, b, c, v = x+a, y+b, z+c, w+v
		length := d.length
		if moved != 0 {
			length = root(uint64(a*a+b*b+c*c+v*v) << 16)
		}
		if e.odd[k] = dot < 0 || v < 0 || length == 0 || r1[0] != r2[0]; e.odd[k] {
			continue
		}
		for i, to := range [...]int64{a, b, c} {
			sign := to >> 63
			n := int64((uint64(to^sign-sign)*d.length + length/2) / length)
			expected := min(max((n^sign-sign+m+1)>>1, 0), m)
			e.lane[i+1][k] = uint32(expected)
			e.context[i+1][k] = tokens.context(first, expected-int64(r1[i+1]))
		}
	}
}

// expectNothing leaves all to Delta.Read but whether rows moved.
func (d *Delta) expectNothing(e *Expected, base, before []uint32, baseAt, beforeAt []int32) {
	n := len(d.lanes)
	for k, at := range baseAt {
		e.moved[k] = uint8(bit(!slices.Equal(base[at:][:n], before[beforeAt[k]:][:n])))
		e.odd[k] = true
	}
}

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

// Expect extrapolates n rows, each stride lanes behind the one before: those of base are as of T, age ticks ago, those of before as of T', span ticks before T.
// Before is nil where T' is not leaned on.
func (d *Delta) Expect(e *Expected, n, stride int, base, before []uint32, age, span int64) {
	known := uint(0)
	if before == nil {
		before, span, known = base, 1, 1<<groupLanes // nothing moved: what is expected is what was
	}
	class := AgeClass(age)
	first := class * contextsPerAge
	if known == 0 {
		first += misses
	}
	switch {
	case !d.canExpect():
		d.expectNothing(e, n, stride, base, before)
		return
	case d.row == rowTurn:
		d.lanes[1].read.Want(age)
		d.expectTurns(e, n, stride, base, before, first, age, span)
	default:
		d.lanes[0].read.Want(age)
		d.expectLines(e, n, stride, base, before, first, age, span)
	}
	g := &d.groups[0]
	g.read.Want(age)
	unknown := known >> groupLanes << g.count
	for k := range n {
		e.which[k&(MaxExpected-1)] = uint16(class*(1<<g.count+1) + int(uint(e.moved[k&(MaxExpected-1)])|unknown))
	}
}

// expectLines is Expect for lanes that go on in a straight line.
func (d *Delta) expectLines(e *Expected, n, stride int, base, before []uint32, first int, age, span int64) {
	straight := age|span == 1
	clear(e.moved[:])
	clear(e.odd[:])
	for i := range d.lanes {
		lane, context, top := &e.lane[i&3], &e.context[i&3], d.top(i)
		for k, at := 0, i; k < n; k, at = k+1, at+stride {
			from := int64(base[at])
			movement := from - int64(before[at])
			e.moved[k&(MaxExpected-1)] |= uint8(bit(movement != 0) << i)
			if !straight {
				movement = divide(movement*age, span)
			}
			lane[k&(MaxExpected-1)] = uint32(min(max(from+movement, 0), top))
			context[k&(MaxExpected-1)] = tokenContext(first, movement)
		}
	}
}

// tokenContext is what Expected has of a token whose lane is expected to move so far, first being the context without a movement.
func tokenContext(first int, movement int64) uint16 {
	side := movement >> 63
	return uint16((first+min(bits.Len64(uint64(movement^side-side)), movementSteps)*misses)<<1) | uint16(side&1)
}

// expectTurns is Expect for rotations. It does what rotation does where all three rows leave out the same component and none is turned over; the others are
// extrapolated by that.
func (d *Delta) expectTurns(e *Expected, n, stride int, base, before []uint32, first int, age, span int64) {
	m := d.m
	for k, at := 0, 0; k < n; k, at = k+1, at+stride {
		k := k & (MaxExpected - 1)
		r1, r2 := (*[4]uint32)(base[at:]), (*[4]uint32)(before[at:])
		e.moved[k] = uint8(bit(r1[0] != r2[0]) | bit(r1[1] != r2[1])<<1 | bit(r1[2] != r2[2])<<2 | bit(r1[3] != r2[3])<<3)
		e.odd[k] = false
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
		if dot < 0 || v < 0 || length == 0 || r1[0] != r2[0] {
			d.expectOddTurn(e, k, r1, r2, first, age, span)
			continue
		}
		for i, to := range [...]int64{a, b, c} {
			sign := to >> 63
			n := int64((uint64(to^sign-sign)*d.length + length/2) / length)
			expected := min(max((n^sign-sign+m+1)>>1, 0), m)
			e.lane[i+1][k] = uint32(expected)
			e.context[i+1][k] = tokenContext(first, expected-int64(r1[i+1]))
		}
	}
}

// expectOddTurn is expectTurns for one row, whatever its rotations.
func (d *Delta) expectOddTurn(e *Expected, k int, base, before *[4]uint32, first int, age, span int64) {
	q := rotation{lane: -1}
	q.aim(0, d.m, &Versions{Base: base[:], Before: before[:], Age: age, Span: span}, false)
	for lane := 1; lane < groupLanes; lane++ {
		expected, movement := q.part(int(base[0]&3), lane)
		e.lane[lane][k], e.context[lane][k] = uint32(expected), tokenContext(first, movement)
	}
}

// expectNothing leaves all to Delta.Read but whether rows moved.
func (d *Delta) expectNothing(e *Expected, n, stride int, base, before []uint32) {
	for k, at := 0, 0; k < n; k, at = k+1, at+stride {
		e.moved[k] = uint8(bit(!slices.Equal(base[at:][:len(d.lanes)], before[at:][:len(d.lanes)])))
		e.odd[k] = true
	}
}

package delta

import (
	"math/bits"

	"github.com/arche-netcode/netcode/internal/plain"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/wire"
)

// Most rows that move are of two kinds: some lanes that go on in a straight line, and one rotation. Batch and RowReader have a way of
// its own for each, to the same bits, which does not ask of each lane what it is.

// rowClass is the class of a row: which way of a Batch it has.
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

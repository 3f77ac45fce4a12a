package delta

import (
	"math/bits"

	"github.com/arche-netcode/netcode/internal/plain"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/wire"
)

// Most moving rows have one of two classes: lanes that are extrapolated linearly, or one rotation. Batch and RowReader
// have faster code for each, with the same bits, that does not branch on the kind of each lane.

// rowClass selects the encoder of a Batch.
type rowClass uint8

const (
	classOther rowClass = iota
	classLines          // two to four lanes, all ModelLinear
	classTurn           // an extrapolated rotation
)

// rowClass returns the class of the rows of d.
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

// far returns the extrapolated movement of a rotation's component for an age or a span other than 1.
func (d *Delta) far(step, age, span int64) int64 {
	return min(max(divide(step*age, span), -4*d.m), 4*d.m)
}

// tokenBase returns the first symbol of a magnitude of k bits: max(k, 4k-5), without a branch.
func tokenBase(k int) int {
	more := 3*k - 5
	return k + more&^(more>>31)
}

// Games that send floats exactly rarely send other fields, so rows of only floats have their own reader. It decodes the
// same rows as Read.

// readFloats is Read for rows whose lanes are all floats.
func (d *Delta) readFloats(r *wire.BitReader, lanes []uint32, v *quantize.Baselines) bool {
	base, before := v.Base, v.Before
	lanes, base = lanes[:len(d.lanes)], base[:len(d.lanes)]
	if before != nil {
		before = before[:len(d.lanes)]
	}
	age := AgeClass(before != nil, v.Age, v.Span)
	any, miss, legal, s := uint(0), v.Miss, true, spin{of: -1}
	for first := 0; first < len(lanes); first += groupLanes {
		g := &d.groups[first/groupLanes]
		changed := uint(1)
		if g.table != nil {
			known := uint(1) << g.count // context for unknown
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
				extrapolated, movement = s.extrapolate(&d.lanes[i], i, v)
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

// onlyFloats reports whether all lanes are linearly extrapolated floats.
func (d *Delta) onlyFloats() bool {
	if plain.On {
		return false
	}
	for i := range d.lanes {
		if !isFloat(d.lanes[i].model) || d.lanes[i].still {
			return false
		}
	}
	return len(d.lanes) > 0 && !d.plan.Extrapolates()
}

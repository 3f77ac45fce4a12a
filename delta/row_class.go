package delta

import (
	"github.com/arche-netcode/netcode/internal/plain"
	"github.com/arche-netcode/netcode/quantize"
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

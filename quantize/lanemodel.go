package quantize

// LaneModel is how a lane is extrapolated from earlier versions of its row.
type LaneModel uint8

// The models of a lane. T is the tick of the baseline, T' that of the baseline before it.
const (
	ModelImplied LaneModel = iota // one bit: it changed, so it is the other
	ModelRaw                      // nothing is known
	ModelSame                     // what it was at T
	ModelLinear                   // where it goes in a straight line from T' through T
	ModelTurn                     // the same, around a circle of 2^bits
	ModelFloat                    // the same, the lane being the bits of a float32
	ModelLargest                  // which component of a rotation is left out
	ModelPart                     // one of the others
)

// Lane describes a lane of a row to a coder.
type Lane struct {
	Bits  uint8     // how many the lane has
	Model LaneModel // how it is extrapolated
	Still bool      // its movement is not continued: it is expected to stay
	Free  bool      // every number up to Largest is legal, whatever the other lanes are
	Field uint16    // its field's place in Fields
	First int16     // of a rotation: its first lane
	// Largest is the largest legal number, as far as it does not depend on other lanes.
	Largest uint64
}

// Lane describes lane i.
func (p *Plan) Lane(i int) Lane {
	of := &p.lanes[i]
	o := &p.ops[of.op]
	l := Lane{Bits: of.bits, Model: ModelSame, Field: of.op, Largest: 1<<of.bits - 1}
	l.Free = of.check == checkNone || of.check == checkMax
	if of.check == checkMax {
		l.Largest = of.max
	}
	switch {
	case l.Bits == 1:
		l.Model = ModelImplied
	case o.kind >= opHandle, o.kind == opFloat64 && i == o.lane:
		l.Model = ModelRaw
	case o.kind == opFloat32:
		l.Model = ModelFloat
	case o.kind == opFixed32, o.kind == opFixed64, o.kind == opAxis32, o.kind == opAxis64:
		l.Model = ModelLinear
	case o.kind == opAngle32, o.kind == opAngle64:
		l.Model = ModelTurn
	case o.kind == opQuat && i == o.lane:
		l.Model, l.First = ModelLargest, int16(o.lane)
	case o.kind == opQuat:
		l.Model, l.First = ModelPart, int16(o.lane)
	}
	if l.Bits == 32 && len(numberLanes(o.count)) == 2 && i == o.lane {
		l.Model = ModelRaw // the low half of 64 bits
	}
	switch {
	case l.Model <= ModelRaw:
	case o.extrapolate == extrapolateNone:
		l.Model = ModelRaw
	case o.extrapolate == extrapolateLinear:
		l.Model = ModelLinear
	case o.extrapolate == extrapolatePrevious && (l.Model == ModelLinear || l.Model == ModelTurn):
		l.Model, l.Still = ModelSame, true
	case o.extrapolate == extrapolatePrevious:
		l.Still = true
	}
	return l
}

package quantize

import (
	"errors"
	"fmt"

	"github.com/arche-netcode/netcode/wire"
)

// extrapolateKind tells how a field is extrapolated: as suits its kind, unless its tag names another way.
type extrapolateKind uint8

const (
	extrapolateUsual    extrapolateKind = iota
	extrapolateNone                     // nothing is known: it is sent whole
	extrapolatePrevious                 // what it was at T
	extrapolateLinear                   // where it goes in a straight line
)

// extrapolateWords are the words of the tag, and behind a tilde of the canonical text.
func extrapolateWords() [4]string { return [4]string{"", "none", "previous", "linear"} }

// parseExtrapolate reads the word behind extrapolate=.
func parseExtrapolate(word string) (extrapolateKind, error) {
	for k, known := range extrapolateWords() {
		if k > 0 && known == word {
			return extrapolateKind(k), nil
		}
	}
	return 0, fmt.Errorf("extrapolate=%s: it is none, previous or linear", word)
}

// usual returns how fields of a kind are extrapolated without a tag.
func (o *op) usual() extrapolateKind {
	switch o.kind {
	case opFloat32, opFixed32, opFixed64, opAxis32, opAxis64, opAngle32, opAngle64, opQuat:
		return extrapolateLinear
	}
	return extrapolatePrevious
}

// expectBy makes a field be extrapolated as its tag tells.
func (o *op) expectBy(k extrapolateKind, lanes int) error {
	switch {
	case k == extrapolateUsual || k == o.usual():
		return nil
	case o.kind == opBool || o.kind >= opHandle:
		return errors.New("a boolean or an entity is not extrapolated")
	case k == extrapolateLinear && (o.kind == opHalf32 || o.kind == opHalf64):
		return errors.New("a half does not go on in a straight line")
	case k == extrapolateLinear && lanes > 1:
		return errors.New("a number of more than 32 bits does not go on in a straight line")
	}
	o.extrapolate = k
	o.text += "~" + extrapolateWords()[k]
	return nil
}

// Extrapolation is a component's own idea of what its row will be: it fills extrapolated, one number a lane, from what both
// ends hold. It must come to the same on every machine: whole numbers, or floats in operations that are rounded one by
// one; and it must not keep the slices. A result beyond a lane's bits counts as the largest that fits. Before
// may be nil.
type Extrapolation func(extrapolated []uint32, v *Baselines)

// ExtrapolateBy gives the plan an extrapolation function of its own, for all its lanes but booleans and those tagged otherwise.
// The name stands for it in Describe: both ends must give the same function under the same name. Call it before the plan
// is used. It panics on a name that is not 1 to 64 letters, digits, dots, dashes and underscores.
func (p *Plan) ExtrapolateBy(name string, f Extrapolation) {
	if !wire.IsName(name) {
		panic(fmt.Sprintf("wire: %q is no name for an extrapolation", name))
	}
	p.extrapolator, p.extrapolate = name, f
}

// Extrapolate calls the plan's own extrapolation function; it has one.
func (p *Plan) Extrapolate(extrapolated []uint32, v *Baselines) { p.extrapolate(extrapolated, v) }

// ExtrapolatedBy returns the name of the plan's own extrapolation function, empty where there is none.
func (p *Plan) ExtrapolatedBy() string { return p.extrapolator }

// Extrapolates reports whether the plan has an extrapolation function, and not its name alone.
func (p *Plan) Extrapolates() bool { return p.extrapolate != nil }

// LaneModel tells how a lane is extrapolated from earlier versions of its row.
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
	case o.tail != nil:
		l.Model, l.Free = ModelRaw, false
		return l
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

// Baselines are the versions that a row is encoded against.
type Baselines struct {
	Base   []uint32 // as of T
	Before []uint32 // as of T', nil if that is not used
	Age    int64    // ticks from T to the row's own tick, from 1
	Span   int64    // ticks from T' to T, from 1; of no meaning without Before
	Miss   int      // how far off the last lane was of the same entity's row before, 0 to 2; coding a row sets it for the next
}

package quantize

import (
	"errors"
	"fmt"
	"strings"

	"github.com/arche-netcode/netcode/wire"
)

// extrapolateKind selects how a field is extrapolated; the zero value is the default of its kind.
type extrapolateKind uint8

const (
	extrapolateUsual    extrapolateKind = iota
	extrapolateNone                     // not at all: the field is sent whole
	extrapolatePrevious                 // unchanged since T
	extrapolateLinear                   // linearly
)

// extrapolateWords returns the words of the tag, also used after a tilde in the canonical text.
func extrapolateWords() [4]string { return [4]string{"", "none", "previous", "linear"} }

// parseExtrapolate parses the word after extrapolate=.
func parseExtrapolate(word string) (extrapolateKind, error) {
	for k, known := range extrapolateWords() {
		if k > 0 && known == word {
			return extrapolateKind(k), nil
		}
	}
	return 0, fmt.Errorf("extrapolate=%s: it is none, previous or linear", word)
}

// usual returns the default extrapolation of the field's kind.
func (o *op) usual() extrapolateKind {
	switch o.kind {
	case opFloat32, opFixed32, opFixed64, opAxis32, opAxis64, opAngle32, opAngle64, opQuat:
		return extrapolateLinear
	}
	return extrapolatePrevious
}

// expectBy sets the extrapolation of a field from its tag.
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

// Extrapolation is a component's own extrapolation function. It fills extrapolated, one number per lane, from the
// baselines. The result must be the same on every machine: use integers, or floats with each operation rounded
// separately. It must not keep the slices. Values above a lane's maximum are clamped. Before may be nil.
type Extrapolation func(extrapolated []uint32, v *Baselines)

// ExtrapolateBy sets the plan's own extrapolation function, for all lanes except booleans and fields with another tag.
// Describe includes the name: both ends must use the same function under the same name. Call it before the plan is
// used. It panics unless the name is 1 to 64 letters, digits, dots, dashes and underscores.
func (p *Plan) ExtrapolateBy(name string, f Extrapolation) {
	if !wire.IsName(name) {
		panic(fmt.Sprintf("wire: %q is no name for an extrapolation", name))
	}
	p.extrapolator, p.extrapolate = name, f
}

// Extrapolate calls the plan's own extrapolation function, which must exist.
func (p *Plan) Extrapolate(extrapolated []uint32, v *Baselines) { p.extrapolate(extrapolated, v) }

// ExtrapolatedBy returns the name of the plan's own extrapolation function, "" if it has none.
func (p *Plan) ExtrapolatedBy() string { return p.extrapolator }

// Extrapolates reports whether the plan has the extrapolation function itself, not only its name.
func (p *Plan) Extrapolates() bool { return p.extrapolate != nil }

// LaneModel selects how a lane is extrapolated from earlier versions of its row.
type LaneModel uint8

// Models of a lane. T is the tick of the baseline, T' that of the previous baseline.
const (
	ModelImplied LaneModel = iota // one bit: if it changed, it has the other value
	ModelRaw                      // not extrapolated
	ModelSame                     // unchanged since T
	ModelLinear                   // linear, from T' through T
	ModelTurn                     // linear, on a circle of 2^bits
	ModelFloat                    // linear; the lane is the bits of a float32
	ModelLargest                  // index of a rotation's left-out component
	ModelPart                     // one of a rotation's other components
	ModelSpin                     // one of the four float32 of a rotation, which goes on turning
)

// Lane describes a lane of a row to an encoder.
type Lane struct {
	Bits  uint8     // number of bits
	Model LaneModel // how it is extrapolated
	Still bool      // extrapolated as unchanged, even if it moved before
	Free  bool      // every number up to Largest is legal, whatever the other lanes are
	Field uint16    // index in Fields
	First int16     // of a rotation, quantised or of floats: its first lane
	// Largest is the largest legal number, regardless of the other lanes.
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
		if first := p.rotationAt(int(of.op)); first >= 0 {
			l.Model, l.First = ModelSpin, int16(p.ops[first].lane)
		}
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
		l.Model = ModelRaw // the low half of a 64-bit number
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

// rotationAt returns the first of the four float32 fields that are a rotation with field op, by their paths: the elements of an array of four, or
// X, Y, Z and W of one struct. It returns -1 if there are none.
func (p *Plan) rotationAt(op int) int {
	for _, names := range [2][4]string{{"[0]", "[1]", "[2]", "[3]"}, {"X", "Y", "Z", "W"}} {
		for place, name := range names {
			in, ok := strings.CutSuffix(p.ops[op].path, name)
			if first := op - place; ok && p.areFloats(first, in, names[:]) && !p.areFloats(first+4, in, []string{"[4]"}) {
				return first
			}
		}
	}
	return -1
}

// areFloats reports whether fields from first on are float32 without options, with these names in a struct or an array.
func (p *Plan) areFloats(first int, in string, names []string) bool {
	if first < 0 || first+len(names) > len(p.ops) || in != "" && names[0] == "X" && !strings.HasSuffix(in, ".") {
		return false
	}
	for i, name := range names {
		if o := &p.ops[first+i]; o.kind != opFloat32 || o.extrapolate != 0 || o.path != in+name {
			return false
		}
	}
	return true
}

// Baselines are the versions that a row is encoded against.
type Baselines struct {
	Base   []uint32 // as of T
	Before []uint32 // as of T', nil if not used
	Age    int64    // ticks from T to the row's own tick, at least 1
	Span   int64    // ticks from T' to T, at least 1; unused without Before
	Miss   int      // class of the distance of the previous lane from its extrapolation, 0 to 2; encoding updates it
}

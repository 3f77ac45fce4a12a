package quantize

import (
	"errors"
	"fmt"
	"github.com/arche-netcode/netcode/wire"
)

// extrapolateKind is how a field is extrapolated, as its tag chooses: as suits its kind, unless the tag names another.
type extrapolateKind uint8

const (
	extrapolateUsual    extrapolateKind = iota
	extrapolateNone                     // nothing is known: it travels whole
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

// expectBy makes a field be extrapolated as its tag says.
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
// one; and it must not keep the slices. What is more than a lane's bits hold counts as the largest that they do. Before
// may be nil.
type Extrapolation func(extrapolated []uint32, v *Versions)

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
func (p *Plan) Extrapolate(extrapolated []uint32, v *Versions) { p.extrapolate(extrapolated, v) }

// ExtrapolatedBy returns the name of the plan's own extrapolation function, empty where there is none.
func (p *Plan) ExtrapolatedBy() string { return p.extrapolator }

// Extrapolates reports whether the plan has an extrapolation function, and not its name alone.
func (p *Plan) Extrapolates() bool { return p.extrapolate != nil }

package wire

import (
	"errors"
	"fmt"
	"sync"
)

// predictKind is what a field is expected to be, as its tag chooses: what suits its kind, unless it says.
type predictKind uint8

const (
	predictUsual    predictKind = iota
	predictNone                 // nothing is known: it travels whole
	predictPrevious             // what it was at T
	predictLinear               // where it goes in a straight line
)

// predictWords are the words of the tag, and behind a tilde of the canonical text.
func predictWords() [4]string { return [4]string{"", "none", "previous", "linear"} }

// parsePredict reads the word behind predict=.
func parsePredict(word string) (predictKind, error) {
	for k, known := range predictWords() {
		if k > 0 && known == word {
			return predictKind(k), nil
		}
	}
	return 0, fmt.Errorf("predict=%s: it is none, previous or linear", word)
}

// usual is what fields of a kind are expected to be without a tag.
func (o *op) usual() predictKind {
	switch o.kind {
	case opFloat32, opFixed32, opFixed64, opAxis32, opAxis64, opAngle32, opAngle64, opQuat:
		return predictLinear
	}
	return predictPrevious
}

// expectBy makes a field be predicted as its tag says.
func (o *op) expectBy(k predictKind, lanes int) error {
	switch {
	case k == predictUsual || k == o.usual():
		return nil
	case o.kind == opBool || o.kind >= opHandle:
		return errors.New("a boolean or an entity is not predicted")
	case k == predictLinear && (o.kind == opHalf32 || o.kind == opHalf64):
		return errors.New("a half does not go on in a straight line")
	case k == predictLinear && lanes > 1:
		return errors.New("a number of more than 32 bits does not go on in a straight line")
	}
	o.predict = k
	o.text += "~" + predictWords()[k]
	return nil
}

// Prediction is a component's own idea of what its row will be: it fills predicted, one number a lane, from what both
// ends hold. It must come to the same on every machine: whole numbers, or floats in operations that are rounded one by
// one; and it must not keep the slices. What is more than a lane's bits hold counts as the largest that they do. Before
// may be nil.
type Prediction func(predicted []uint32, v *Versions)

// PredictBy gives the plan a prediction function of its own, for all its lanes but booleans and those tagged otherwise.
// The name stands for it in Describe: both ends must give the same function under the same name. Call it before the plan
// is used. It panics on a name that is not 1 to 64 letters, digits, dots, dashes and underscores.
func (p *Plan) PredictBy(name string, f Prediction) {
	if err := checkTableName(name); err != nil {
		panic(fmt.Sprintf("wire: %q is no name for a prediction", name))
	}
	p.predictor, p.predict = name, f
}

// PredictedBy returns the name of the plan's own prediction function, empty where there is none.
func (p *Plan) PredictedBy() string { return p.predictor }

// Predicts reports whether the plan has a prediction function, and not its name alone.
func (p *Plan) Predicts() bool { return p.predict != nil }

// ErrPrediction says that a plan that was parsed is predicted by a function that this program does not have.
var ErrPrediction = errors.New("wire: the component's prediction function is not here")

// own is the row that the plan's function predicts. The rows are the Delta's, to be used again: give them back.
type own struct {
	lanes []uint32
	v     Versions
}

// owns keeps rows for predictions. Any number of goroutines may ask.
type owns struct{ pool sync.Pool }

// predicted asks the plan's function, nil where it has none.
func (d *Delta) predicted(v *Versions) *own {
	if d.plan.predict == nil {
		return nil
	}
	o, _ := d.owns.pool.Get().(*own)
	if o == nil {
		o = &own{lanes: make([]uint32, len(d.lanes))}
	}
	copy(o.lanes, v.Base)
	o.v = *v
	d.plan.predict(o.lanes, &o.v)
	for i := range o.lanes {
		o.lanes[i] = min(o.lanes[i], uint32(d.top(i)))
	}
	return o
}

// release gives the row back.
func (d *Delta) release(o *own) {
	if o != nil {
		o.v = Versions{}
		d.owns.pool.Put(o)
	}
}

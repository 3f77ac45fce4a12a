package registry

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/snapshot/format"
)

// Band is a distance band of a component. The fields are those of netcode.Band.
type Band struct {
	Beyond float32 // The distance at which the band begins.
	Scale  int     // The number of steps of the component in one step of the band.
	Every  int     // Ticks between two sends.
}

// MaxEvery is the largest value of Band.Every, the option Every and components.Rate.
const MaxEvery = 1<<16 - 1

// bandName returns the wire name of a band.
func bandName(name string, i int) string { return fmt.Sprintf("%s~%d", name, i+1) }

// checkBand panics on a band that must not follow the band before. every is the rate of the component.
func checkBand(t reflect.Type, every int, before, b Band) {
	fail := func(format string, args ...any) {
		panic(fmt.Sprintf("netcode: Replicate[%s]: Bands: a band with Beyond %v: %s", t, b.Beyond, fmt.Sprintf(format, args...)))
	}
	switch {
	case !(b.Beyond > before.Beyond) || b.Beyond-b.Beyond != 0:
		fail("it must be finite and above %v: list the bands by distance", before.Beyond)
	case b.Every < 0 || b.Every > MaxEvery:
		fail("Every is 0 to %d ticks, not %d", MaxEvery, b.Every)
	case b.Scale < 0:
		fail("Scale is a power of two, not %d", b.Scale)
	case before.Beyond > 0 && b.Scale == before.Scale && max(b.Every, 1) == max(before.Every, 1):
		fail("it has the Scale and Every of the band before: leave it out")
	case max(b.Every, 1) < max(before.Every, 1):
		fail("Every %d is faster than the %d of a nearer band", b.Every, before.Every)
	case b.Scale < before.Scale:
		fail("Scale %d is finer than the %d of a nearer band", b.Scale, before.Scale)
	case b.Scale == 1 && b.Every <= max(every, 1):
		fail("neither Scale nor Every changes anything: set one of them")
	}
}

// addBands registers the bands of a component, each as a component of the same type.
func (r *Registry) addBands(t reflect.Type, base *quantize.Plan, o *Options) {
	if o.Extrapolate != nil {
		panic(fmt.Sprintf("netcode: Replicate[%s]: Bands does not go with ExtrapolatedBy: the function computes in the steps of the component", t))
	}
	if len(r.components)+len(o.Bands) > snapshot.MaxRows {
		panic(fmt.Sprintf("netcode: Replicate[%s]: Bands: each band is a component of the protocol, which holds at most %d%s", t, snapshot.MaxRows, snapshot.MoreRows))
	}
	before := Band{Scale: 1}
	of := bandedPlan{base: base}
	for i, b := range o.Bands {
		if b.Scale == 0 {
			b.Scale = 1
		}
		checkBand(t, o.Rows.Every, before, b)
		name := bandName(o.Name, i)
		for _, other := range r.components {
			if other.Name() == name {
				panic(fmt.Sprintf("netcode: Replicate[%s]: Bands: the wire name %q is taken by %s: use the option Named", t, name, other.Type()))
			}
		}
		plan, err := quantize.CompileCoarse(t, name, b.Scale)
		if err != nil {
			panic(fmt.Sprintf("netcode: Replicate[%s]: Bands with Scale %d: %v", t, b.Scale, err))
		}
		r.components = append(r.components, plan)
		r.rows[plan] = snapshot.RowOptions{Every: b.Every, Importance: o.Rows.Importance}
		of.bands, of.beyond = append(of.bands, plan), append(of.beyond, b.Beyond)
		before = b
	}
	r.banded = append(r.banded, of)
}

// bandedPlan has the plans of a component and its bands.
type bandedPlan struct {
	base   *quantize.Plan
	bands  []*quantize.Plan
	beyond []float32
}

// setBands tells the schema which rows are bands, and which are forms of older builds. It is called once the rows are
// known.
func (r *Registry) setBands() {
	for _, of := range r.banded {
		r.Schema.SetBands(r.family(of))
	}
	for _, of := range r.forms {
		r.Schema.SetOlder(r.family(of))
	}
}

// family returns the row of a component and the rows of its bands or forms.
func (r *Registry) family(of bandedPlan) (row int, bands []format.Band) {
	for i, plan := range of.bands {
		bands = append(bands, format.Band{Row: slices.Index(r.components, plan), Beyond: of.beyond[i]})
	}
	return slices.Index(r.components, of.base), bands
}

// describeBands adds the name of the component to the entry of each of its bands.
func (r *Registry) describeBands() {
	for _, of := range r.banded {
		for _, plan := range of.bands {
			r.described.components[slices.Index(r.components, plan)] += " of " + of.base.Name()
		}
	}
}

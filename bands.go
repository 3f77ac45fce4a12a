package netcode

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/snapshot/format"
)

// Band is a distance band of a component: how a client that is far from an entity gets it.
type Band struct {
	// Beyond is the distance from the client's viewpoint at which the band begins, in the game's unit of length: finite, above 0, and
	// above that of the band before.
	Beyond float32
	// Scale is the number of the component's steps that make one step of the band: a power of two, at least that of the band before. 0
	// is 1. An angle and a quaternion lose a bit for each doubling.
	Scale int
	// Every makes the component travel at most once in so many ticks in this band, as the option Every does. 0 and 1 are each tick.
	Every int
}

// Bands makes clients get a component in coarser steps, or less often, of entities that are far from their viewpoints. An interest.Bands
// of the server measures the distances: without one every client gets the component as it is, and OnError is told. Each client has exactly the value that the
// band sends. When it comes nearer, the finer value replaces it in one tick. The client that owns an entity gets its components as they are.
//
// A band takes a place among the components of the protocol, and memory of one more component at the server; clients in the same band share its
// encoded deltas. Bands panics without a band, and Replicate, naming the type, where the bands are not in order, a
// band is neither coarser nor slower than the component, no field has steps, or the component names entities, has texts or lists, or
// extrapolates by a function of its own.
func Bands(bands ...Band) Option {
	if len(bands) == 0 {
		panic("netcode: Bands: give it a Band for each distance at which precision or rate changes")
	}
	return func(r *registration) { r.bands = bands }
}

// bandName returns the wire name of a band.
func bandName(name string, i int) string { return fmt.Sprintf("%s~%d", name, i+1) }

// checkBand panics for a band that does not follow the one before. every is the rate of the component.
func checkBand(t reflect.Type, every int, before, b Band) {
	fail := func(format string, args ...any) {
		panic(fmt.Sprintf("netcode: Replicate[%s]: Bands: a band with Beyond %v: %s", t, b.Beyond, fmt.Sprintf(format, args...)))
	}
	switch {
	case !(b.Beyond > before.Beyond) || b.Beyond-b.Beyond != 0:
		fail("it must be finite and above %v: list the bands by distance", before.Beyond)
	case b.Every < 0 || b.Every > maxEvery:
		fail("Every is 0 to %d ticks, not %d", maxEvery, b.Every)
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
func (p *Protocol) addBands(t reflect.Type, base *quantize.Plan, r *registration) {
	if r.extrapolate != nil {
		panic(fmt.Sprintf("netcode: Replicate[%s]: Bands does not go with ExtrapolatedBy: the function computes in the steps of the component", t))
	}
	if len(p.components)+len(r.bands) > snapshot.MaxRows {
		panic(fmt.Sprintf("netcode: Replicate[%s]: Bands: each band is a component of the protocol, which holds at most %d%s", t, snapshot.MaxRows, snapshot.MoreRows))
	}
	before := Band{Scale: 1}
	of := bandedPlan{base: base}
	for i, b := range r.bands {
		if b.Scale == 0 {
			b.Scale = 1
		}
		checkBand(t, r.rows.Every, before, b)
		name := bandName(r.name, i)
		for _, other := range p.components {
			if other.Name() == name {
				panic(fmt.Sprintf("netcode: Replicate[%s]: Bands: the wire name %q is taken by %s: use the option Named", t, name, other.Type()))
			}
		}
		plan, err := quantize.CompileCoarse(t, name, b.Scale)
		if err != nil {
			panic(fmt.Sprintf("netcode: Replicate[%s]: Bands with Scale %d: %v", t, b.Scale, err))
		}
		p.components = append(p.components, plan)
		p.rows[plan] = snapshot.RowOptions{Every: b.Every, Importance: r.rows.Importance}
		of.bands, of.beyond = append(of.bands, plan), append(of.beyond, b.Beyond)
		before = b
	}
	p.banded = append(p.banded, of)
}

// bandedPlan is the plans of a component and its bands.
type bandedPlan struct {
	base   *quantize.Plan
	bands  []*quantize.Plan
	beyond []float32
}

// setBands tells the schema which rows are bands, and which are forms of older builds. The rows are known.
func (p *Protocol) setBands() {
	for _, of := range p.banded {
		p.schema.SetBands(p.family(of))
	}
	for _, of := range p.forms {
		p.schema.SetOlder(p.family(of))
	}
}

// family returns the row of a component and those that stand for it.
func (p *Protocol) family(of bandedPlan) (row int, bands []format.Band) {
	for i, plan := range of.bands {
		bands = append(bands, format.Band{Row: slices.Index(p.components, plan), Beyond: of.beyond[i]})
	}
	return slices.Index(p.components, of.base), bands
}

// describeBands adds to the entry of each band which component it is of.
func (p *Protocol) describeBands() {
	for _, of := range p.banded {
		for _, plan := range of.bands {
			p.described.components[slices.Index(p.components, plan)] += " of " + of.base.Name()
		}
	}
}

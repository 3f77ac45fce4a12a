package format

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/arche-netcode/netcode/delta"
	"github.com/arche-netcode/netcode/quantize"
)

// Schema is the list of replicated components that both ends agreed on by the protocol hash. The row number of a component is its
// place in that list. The fields are read-only once the game runs.
type Schema struct {
	Widths  []int32         // by row: number of lanes
	Compare []quantize.Rows // by row: compares rows with so many lanes
	Refs    Mask            // rows that name entities
	Tailed  Mask            // rows with strings or lists
	Tags    Mask            // rows without lanes
	Whole   Mask            // rows that are sent whole when they change, never as deltas
	Weighed bool            // some row has an importance of its own
	Coarse  Mask            // rows that stand for other rows: bands and those of Older
	Older   Mask            // rows that stand for a component in older builds
	Owned   Mask            // rows that an entity shows to its owner alone, unless it has one of Shared
	Shared  Mask            // see Owned

	Codes Codes // prefix codes

	plans   []*quantize.Plan
	options []RowOptions
	exact   Mask // rows that have exact floats only

	families []Banded
	banded   int // the first banded of families have distance bands
}

// NormalWeight is the weight of priority 1, and of relevance 1.
const NormalWeight = 256

// largeRow is the least bits of exact floats of a large record: six floats.
const largeRow = 192

// RowOptions are the options of a component: how often it is captured, and the weight of its changes. A component that is not captured
// has not changed. So Every and Once are the only way to send a component less often than the rest of its entity (rule 1).
type RowOptions struct {
	Every int  // ticks between captures; 0 and 1: each tick
	Once  bool // captured only when it is added

	Marked bool // captured when game code marks it, instead of by comparing

	// Importance is the weight of an entity while this component of it has changed, in units of 1/[NormalWeight]; 0 means
	// NormalWeight. The highest one of the changed components counts.
	Importance uint16
}

// NewSchema returns the schema of component plans in the protocol's canonical order, with the shipped tables. It panics, at start-up,
// if there are more than [MaxRows].
func NewSchema(plans []*quantize.Plan) *Schema {
	s, err := NewSchemaWith(plans, delta.Shipped())
	if err != nil {
		panic(err)
	}
	return s
}

// NewSchemaWith does what NewSchema does, with other tables. The error names a table that is missing or of another size.
func NewSchemaWith(plans []*quantize.Plan, source delta.TableSource) (*Schema, error) {
	if len(plans) > MaxRows {
		panic(fmt.Sprintf("format: %d replicated components, at most %d are possible%s", len(plans), MaxRows, MoreRows))
	}
	s := &Schema{plans: plans}
	for _, p := range plans {
		s.Widths = append(s.Widths, int32(p.Lanes()))
		s.Compare = append(s.Compare, quantize.NewRows(4*p.Lanes()))
	}
	s.options = make([]RowOptions, len(plans))
	for row, p := range plans {
		switch {
		case p.Lanes() == 0:
			s.Tags = s.Tags.With(row)
		case len(p.Refs()) > 0:
			s.Refs = s.Refs.With(row)
		}
		if p.Fixed() < p.Lanes() {
			s.Tailed = s.Tailed.With(row)
		}
		if p.Floats() {
			s.exact = s.exact.With(row)
		}
		if !p.Packed() {
			s.Whole = s.Whole.With(row)
		}
	}
	s.Whole = s.Whole.Union(s.Refs).Minus(s.Tags)
	return s, s.SetTables(source)
}

// SetOptions sets the options of a row. It is for start-up.
func (s *Schema) SetOptions(row int, o RowOptions) {
	s.options[row] = o
	s.Weighed = s.Weighed || o.Weight() != NormalWeight
}

// Weight returns the importance, [NormalWeight] if the options have none.
func (o *RowOptions) Weight() int64 {
	if o.Importance == 0 {
		return NormalWeight
	}
	return int64(o.Importance)
}

// Options returns the options of a row.
func (s *Schema) Options(row int) RowOptions { return s.options[row] }

// Rows returns the number of replicated components.
func (s *Schema) Rows() int { return len(s.plans) }

// Plan returns the compiled component type of a row, 0 <= row < Rows().
func (s *Schema) Plan(row int) *quantize.Plan { return s.plans[row] }

// RowOf returns the row of a component type, -1 if the schema has none.
func (s *Schema) RowOf(t reflect.Type) int {
	return slices.IndexFunc(s.plans, func(p *quantize.Plan) bool { return p.Type() == t })
}

// MaskWords returns the number of words of a Mask that may have rows, at least 1.
func (s *Schema) MaskWords() int { return max(1, (s.Rows()+63)/64) }

// Lanes returns the number of lanes of an entity with the rows of m.
func (s *Schema) Lanes(m Mask) int {
	n := 0
	for ; !m.IsZero(); m = m.Rest() {
		n += s.plans[m.Lowest()].Lanes()
	}
	return n
}

// Large reports whether records with the rows of m are large: their exact floats have largeRow bits or more.
func (s *Schema) Large(m Mask) bool {
	n := 0
	for m = m.Intersect(s.exact); !m.IsZero(); m = m.Rest() {
		n += s.plans[m.Lowest()].Bits()
	}
	return n >= largeRow
}

// OnlyFloats reports whether the rows of mask have nothing but exact float32 fields, and at least one field.
func (s *Schema) OnlyFloats(mask Mask) bool {
	for m := mask; !m.IsZero(); m = m.Rest() {
		if !s.plans[m.Lowest()].Floats() {
			return false
		}
	}
	return !mask.Within(s.Tags)
}

// InBatches reports whether entities with these rows are decoded and applied in batches: no row has entity fields or is sent whole,
// and some row has lanes.
func (s *Schema) InBatches(mask Mask) bool {
	return !mask.Overlaps(s.Refs.Union(s.Whole)) && !mask.Within(s.Tags)
}

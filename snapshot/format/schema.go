package format

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/arche-netcode/netcode/delta"
	"github.com/arche-netcode/netcode/quantize"
)

// Schema is the list of replicated components that both ends agreed on by the protocol hash. The row number of a component is its
// place in that list. Its fields are read-only once the game runs.
type Schema struct {
	Words   []int           // by row: 64-bit words of an absolute row
	Widths  []int32         // by row: lanes
	Compare []quantize.Rows // by row: rows of as many lanes
	Refs    Mask            // rows that name entities
	Tailed  Mask            // rows with texts or lists
	Tags    Mask            // rows without lanes
	Whole   Mask            // rows that are sent whole whenever they changed
	Weighed bool            // some rows have an importance of their own
	Coarse  Mask            // rows that stand for other rows: bands, and those of Older
	Older   Mask            // rows that are other rows as an older build has them

	Codes  Codes              // prefix codes
	Floats quantize.FloatRows // copies rows of exact floats

	plans   []*quantize.Plan
	options []RowOptions
	exact   Mask // rows of nothing but exact floats

	families []Banded
	banded   int // of families, those with distance bands, which come first
}

// NormalWeight is the weight of priority 1, and of relevance 1.
const NormalWeight = 256

// largeRow is the least number of bits of exact floats of a large record: six floats.
const largeRow = 192

// RowOptions say how seldom a component is captured, and how much its changes
// count. What is not captured has not changed, so Every and Once are the only way to
// send something more rarely than the rest of its entity (rule 1).
type RowOptions struct {
	Every int  // at most every so many ticks; 0 and 1: each tick
	Once  bool // only when it is added

	Marked bool // only when game code says that it was written, instead of by comparing

	// Importance is the weight of an entity while this component of it has changed, in units of 1/[NormalWeight]; 0 is NormalWeight.
	// Of several the highest counts.
	Importance uint16
}

// NewSchema takes the component plans in the protocol's canonical order. It
// panics, at start-up, when there are more than [MaxRows] of them.
func NewSchema(plans []*quantize.Plan) *Schema {
	s, err := NewSchemaWith(plans, delta.Shipped())
	if err != nil {
		panic(err)
	}
	return s
}

// NewSchemaWith is NewSchema with other tables than those that ship. The error
// names the one that is missing or of another size.
func NewSchemaWith(plans []*quantize.Plan, source delta.TableSource) (*Schema, error) {
	if len(plans) > MaxRows {
		panic(fmt.Sprintf("format: %d replicated components, at most %d are possible%s", len(plans), MaxRows, MoreRows))
	}
	s := &Schema{plans: plans, Floats: quantize.NewFloatRows()}
	for _, p := range plans {
		s.Words = append(s.Words, (p.Bits()+63)/64)
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

// Rows is the number of replicated components.
func (s *Schema) Rows() int { return len(s.plans) }

// Plan is the compiled component type of a row, 0 <= row < Rows().
func (s *Schema) Plan(row int) *quantize.Plan { return s.plans[row] }

// RowOf is the row of a component type, -1 when the schema has none.
func (s *Schema) RowOf(t reflect.Type) int {
	return slices.IndexFunc(s.plans, func(p *quantize.Plan) bool { return p.Type() == t })
}

// MaskWords is the number of words of a Mask that may have rows; it is at least 1.
func (s *Schema) MaskWords() int { return max(1, (s.Rows()+63)/64) }

// Lanes is the number of lanes of an entity that has the rows of m.
func (s *Schema) Lanes(m Mask) int {
	n := 0
	for ; !m.IsZero(); m = m.Rest() {
		n += s.plans[m.Lowest()].Lanes()
	}
	return n
}

// Large reports whether records of the rows of m are large: with exact floats of largeRow bits and more.
func (s *Schema) Large(m Mask) bool {
	n := 0
	for m = m.Intersect(s.exact); !m.IsZero(); m = m.Rest() {
		n += s.plans[m.Lowest()].Bits()
	}
	return n >= largeRow
}

// OnlyFloats reports whether rows of all these are nothing but float32 fields that
// travel exactly, and whether there are any.
func (s *Schema) OnlyFloats(mask Mask) bool {
	for m := mask; !m.IsZero(); m = m.Rest() {
		if !s.plans[m.Lowest()].Floats() {
			return false
		}
	}
	return !mask.Within(s.Tags)
}

// InBatches reports whether entities with these rows are decoded and applied together: no row has entities or is sent whole.
func (s *Schema) InBatches(mask Mask) bool {
	return !mask.Overlaps(s.Refs.Union(s.Whole)) && !mask.Within(s.Tags)
}

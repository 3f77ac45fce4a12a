package snapshot

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/arche-netcode/netcode/delta"
	"github.com/arche-netcode/netcode/quantize"
)

// Schema is the list of replicated components that both ends agreed on by the
// protocol hash. A component's row number is its place in that list.
type Schema struct {
	plans   []*quantize.Plan
	words   []int           // per row: 64-bit words of an absolute row
	widths  []int32         // per row: lanes
	compare []quantize.Rows // per row: rows of as many lanes
	options []RowOptions
	refs    Mask // rows that name entities
	tags    Mask // rows without lanes
	whole   Mask // rows that travel whole whenever they changed
	exact   Mask // rows of nothing but exact floats
	codes   codes
	floats  quantize.FloatRows
	weighed bool // Some rows have an importance of their own.
}

// RowOptions say how seldom a component is captured, and how much its changes
// count. What is not captured has not changed, so Every and Once are the only way to
// send something more rarely than the rest of its entity (rule 1).
type RowOptions struct {
	Every int  // at most every so many ticks; 0 and 1: each tick
	Once  bool // only when it is added

	Marked bool // only when game code says that it was written, instead of by comparing

	// Importance is how much an entity counts of which this component has changed,
	// NormalWeight being 1; 0 counts as that too. Of several the highest counts.
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
		panic(fmt.Sprintf("snapshot: %d replicated components, at most %d are possible", len(plans), MaxRows))
	}
	s := &Schema{plans: plans, floats: quantize.NewFloatRows()}
	for _, p := range plans {
		s.words = append(s.words, (p.Bits()+63)/64)
		s.widths = append(s.widths, int32(p.Lanes()))
		s.compare = append(s.compare, quantize.NewRows(4*p.Lanes()))
	}
	s.options = make([]RowOptions, len(plans))
	for row, p := range plans {
		switch {
		case p.Lanes() == 0:
			s.tags = s.tags.With(row)
		case len(p.Refs()) > 0:
			s.refs = s.refs.With(row)
		}
		if p.Floats() {
			s.exact = s.exact.With(row)
		}
		if !p.Packed() {
			s.whole = s.whole.With(row)
		}
	}
	s.whole = (s.whole | s.refs) &^ s.tags
	return s, s.SetTables(source)
}

// SetOptions sets the options of a row. It is for start-up.
func (s *Schema) SetOptions(row int, o RowOptions) {
	s.options[row] = o
	s.weighed = s.weighed || o.importance() != NormalWeight
}

// importance is that of the options, NormalWeight where they have none.
func (o *RowOptions) importance() int64 {
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

// lanes is the number of lanes of an entity that has the rows of m.
func (s *Schema) lanes(m Mask) int {
	n := 0
	for ; m != 0; m &= m - 1 {
		n += s.plans[m.next()].Lanes()
	}
	return n
}

// large reports whether records of the rows of m are large: with exact floats of largeRow bits and more.
func (s *Schema) large(m Mask) bool {
	n := 0
	for m &= s.exact; m != 0; m &= m - 1 {
		n += s.plans[m.next()].Bits()
	}
	return n >= largeRow
}

// onlyFloats reports whether rows of all these are nothing but float32 fields that
// travel exactly, and whether there are any.
func (s *Schema) onlyFloats(mask Mask) bool {
	for m := mask; m != 0; m &= m - 1 {
		if !s.plans[m.next()].Floats() {
			return false
		}
	}
	return mask&^s.tags != 0
}

// inBatches reports whether entities with these rows are decoded and applied together: no row has entities or is sent whole.
func (s *Schema) inBatches(mask Mask) bool { return mask&(s.refs|s.whole) == 0 && mask&^s.tags != 0 }

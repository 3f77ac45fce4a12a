package snapshot

import (
	"fmt"

	"github.com/arche-netcode/netcode/wire"
)

// Schema is the list of replicated components that both ends agreed on by the
// protocol hash. A component's row number is its place in that list.
type Schema struct {
	plans []*wire.Plan
	words []int // per row: 64-bit words of an absolute row
}

// NewSchema takes the component plans in the protocol's canonical order. It
// panics, at start-up, when there are more than [MaxRows] of them.
func NewSchema(plans []*wire.Plan) *Schema {
	if len(plans) > MaxRows {
		panic(fmt.Sprintf("snapshot: %d replicated components, at most %d are possible", len(plans), MaxRows))
	}
	s := &Schema{plans: plans}
	for _, p := range plans {
		s.words = append(s.words, (p.Bits()+63)/64)
	}
	return s
}

// Rows is the number of replicated components.
func (s *Schema) Rows() int { return len(s.plans) }

// Plan is the compiled component type of a row, 0 <= row < Rows().
func (s *Schema) Plan(row int) *wire.Plan { return s.plans[row] }

// lanes is the number of lanes of an entity that has the rows of m.
func (s *Schema) lanes(m Mask) int {
	n := 0
	for ; m != 0; m &= m - 1 {
		n += s.plans[m.next()].Lanes()
	}
	return n
}

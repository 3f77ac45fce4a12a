package format

import (
	"fmt"
	"slices"
)

// Banded is a component with distance bands. Each band is a row of its own, with the component's type and coarser steps. An entity with
// the component has all of them at the server, and a client gets one: that of the component itself near by, and a band beyond its distance.
type Banded struct {
	Row    int    // of the component itself
	Family Mask   // Row and the rows of the bands
	Bands  []Band // by ascending distance
}

// Band is one band of a component.
type Band struct {
	Row    int     // of the schema
	Beyond float32 // distance from a client's viewpoint, in the game's unit of length
}

// SetBands gives a row bands. It is for start-up, and panics for rows of different types and for a row that is a band already.
func (s *Schema) SetBands(row int, bands []Band) {
	s.families = slices.Insert(s.families, s.banded, s.family(row, bands))
	s.banded++
}

// SetOlder tells that rows are a component as older builds have it: as bands that only ends with them in Config.Older see. It is for
// start-up, and panics as SetBands.
func (s *Schema) SetOlder(row int, forms []Band) {
	b := s.family(row, forms)
	s.families, s.Older = append(s.families, b), s.Older.Union(b.Family.Without(row))
}

// Lacks returns the rows that the other end does not have: Unknown, and what is of other older builds than its own.
func (c *Config) Lacks(s *Schema) Mask { return s.Older.Minus(c.Older).Union(c.Unknown) }

// family joins a row and those that stand for it.
func (s *Schema) family(row int, bands []Band) Banded {
	b := Banded{Row: row, Family: Bit(row), Bands: bands}
	for _, band := range bands {
		if s.plans[band.Row].Type() != s.plans[row].Type() || s.Coarse.Union(b.Family).Has(band.Row) {
			panic(fmt.Sprintf("format: row %d is no band of row %d", band.Row, row))
		}
		s.Coarse, b.Family = s.Coarse.With(band.Row), b.Family.With(band.Row)
	}
	return b
}

// Banded lists the components with bands. The slice is the Schema's own.
func (s *Schema) Banded() []Banded { return s.families[:s.banded] }

// Families lists the components for which other rows may stand: those of Banded, and those of SetOlder. The slice is the Schema's own.
func (s *Schema) Families() []Banded { return s.families }

// Fold returns rows with the component itself in place of its bands, as game code knows them.
func (s *Schema) Fold(m Mask) Mask {
	if !m.Overlaps(s.Coarse) {
		return m
	}
	for i := range s.families {
		if b := &s.families[i]; m.Overlaps(b.Family) {
			m = m.Minus(b.Family).Union(Bit(b.Row))
		}
	}
	return m
}

// Band returns the row that stands for a component in m: its own, that of a band, or -1 if m has none of them.
func (s *Schema) Band(m Mask, row int) int {
	if m.Has(row) {
		return row
	}
	if !m.Overlaps(s.Coarse) {
		return -1
	}
	for i := range s.families {
		if b := &s.families[i]; b.Row == row && m.Overlaps(b.Family) {
			return m.Intersect(b.Family).Lowest()
		}
	}
	return -1
}

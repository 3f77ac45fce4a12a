package format

import (
	"fmt"
	"slices"
)

// Banded is a component with distance bands. Each band is a row of its own, of the component's type and with coarser steps. At the
// server an entity with the component has all of these rows. A client gets one: the component's own row near by, and that of a band
// beyond its distance.
type Banded struct {
	Row    int    // row of the component itself
	Family Mask   // Row and the rows of the bands
	Bands  []Band // in ascending order of distance
}

// Band is one band of a component.
type Band struct {
	Row    int     // of the schema
	Beyond float32 // distance from a client's viewpoint, in the game's unit of length
}

// SetBands gives a component bands. Call it at start-up. It panics if a row has another type or is a band already.
func (s *Schema) SetBands(row int, bands []Band) {
	s.families = slices.Insert(s.families, s.banded, s.family(row, bands))
	s.banded++
}

// SetOlder sets the rows that stand for a component in older builds. Only ends with them in Config.Older get them. Call it at
// start-up. It panics as SetBands does.
func (s *Schema) SetOlder(row int, forms []Band) {
	b := s.family(row, forms)
	s.families, s.Older = append(s.families, b), s.Older.Union(b.Family.Without(row))
}

// Lacks returns the rows that the other end does not have: Unknown, and rows of Schema.Older that are not in Older.
func (c *Config) Lacks(s *Schema) Mask { return s.Older.Minus(c.Older).Union(c.Unknown) }

// family joins a row and the rows that stand for it.
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

// Families lists the components that other rows may stand for: those of Banded, then those of SetOlder. The slice is the Schema's own.
func (s *Schema) Families() []Banded { return s.families }

// Fold returns m with components in place of the rows that stand for them, as game code knows them.
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

// Unfold returns m with all rows that stand for its components. It is the inverse of Fold.
func (s *Schema) Unfold(m Mask) Mask {
	for i := range s.families {
		if b := &s.families[i]; m.Has(b.Row) {
			m = m.Union(b.Family)
		} else {
			m = m.Minus(b.Family)
		}
	}
	return m
}

// Band returns the row in m that is a component or stands for it, -1 if there is none.
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

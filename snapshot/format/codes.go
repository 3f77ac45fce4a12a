package format

import (
	"fmt"
	"math/bits"

	"github.com/arche-netcode/netcode/delta"
	"github.com/arche-netcode/netcode/wire"
)

// Codes are the prefix codes of a schema, for records and for lists.
type Codes struct {
	Deltas  []*delta.Delta           // by row; nil for tags
	Which   [SymbolRows]*delta.Table // by number of rows minus 1: which of the rows differ from T
	Nibble  *delta.Table             // which of the next four entities of a page have a record
	PageEnd int                      // bits of the longest code of NibbleEnd
	Gap     *delta.Table             // distance to the next unlisted entity
	Source  delta.TableSource        // all of these tables came from here
}

// SymbolRows is the number of rows whose changes one symbol encodes.
const SymbolRows = 4

// The alphabet of Codes.Gap: 0 is the end; other symbols are 1 + 2 × class of the gap, plus 1 for an explicit record. The class is the
// number of bits of the gap. A gap of class k >= 2 has k - 1 raw bits: those below its leading 1.
const (
	GapEnd   = 0
	gapCount = 1 + 2*33 // classes 0 to 32
)

// SetTables builds the codes of the schema from tables. Call it at start-up; both ends must use the same tables. The error names a
// table that is missing or of another size.
func (s *Schema) SetTables(source delta.TableSource) error {
	c := Codes{Deltas: make([]*delta.Delta, len(s.plans)), Source: source}
	var err error
	for row, p := range s.plans {
		if s.Tags.Union(s.Whole).Has(row) {
			continue
		}
		if c.Deltas[row], err = delta.NewDelta(p, source); err != nil {
			return fmt.Errorf("format: component %s: %w", p.Name(), err)
		}
	}
	for n := 1; n <= SymbolRows; n++ {
		name := fmt.Sprintf("rows.%d", n)
		if c.Which[n-1], err = source.Table(name, name, 1<<n, delta.WhichContexts(n)); err != nil {
			return fmt.Errorf("format: %w", err)
		}
	}
	if c.Nibble, err = source.Table("list.four", "list.four", nibbleCount, nibbleContexts); err != nil {
		return fmt.Errorf("format: %w", err)
	}
	for context := range nibbleContexts {
		_, n := c.Nibble.Bits(context, NibbleEnd)
		c.PageEnd = max(c.PageEnd, int(n))
	}
	if c.Gap, err = source.Table("list.gap", "list.gap", gapCount, 2); err != nil {
		return fmt.Errorf("format: %w", err)
	}
	s.Codes = c
	return nil
}

// GapSymbol returns the symbol of a gap, and its raw bits. odd tells that the record is explicit.
func GapSymbol(gap uint32, odd bool) (symbol int, raw uint64, rawBits uint) {
	class := bits.Len32(gap)
	symbol = 1 + 2*class
	if odd {
		symbol++
	}
	if class >= 2 {
		rawBits = uint(class - 1)
		raw = uint64(gap) & (1<<rawBits - 1)
	}
	return symbol, raw, rawBits
}

// ReadGap reads what GapSymbol returned. end is true for the symbol GapEnd.
func ReadGap(t *delta.Table, context int, b *wire.BitReader) (gap uint32, odd, end bool) {
	symbol := t.Read(b, context)
	if symbol == GapEnd {
		return 0, false, true
	}
	class := uint(symbol-1) / 2
	odd = (symbol-1)%2 != 0
	switch {
	case class < 2:
		gap = uint32(class)
	default:
		gap = uint32(1<<(class-1) | b.Read(class-1))
	}
	return gap, odd, false
}

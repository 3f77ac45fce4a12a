package snapshot

import (
	"fmt"
	"math/bits"

	"github.com/arche-netcode/netcode/delta"
	"github.com/arche-netcode/netcode/wire"
)

// codes are the prefix codes of a schema: what is likely in a record, and in
// the list of records of a packet.
type codes struct {
	deltas []*delta.Delta          // by row; nil for tags
	which  [whichRows]*delta.Table // by number of rows less one: which of them differ from T
	four   *delta.Table            // which of the next four entities of a page there are records of
	end    int                     // bits of the longest symbol that ends a page
	gap    *delta.Table            // how far it is to the next entity that is in no list
}

// whichRows is how many rows have their changes told by one symbol.
const whichRows = 4

// The alphabet of codes.gap: 0 is the end, else 1 + 2 × class of the gap + 1
// for a record that is not the usual one. A gap of class k >= 2 has k - 1 raw
// bits below its leading one.
const (
	gapEnd   = 0
	gapCount = 1 + 2*33 // classes 0 to 32
)

// SetTables makes the schema code with these tables. It is for start-up: both
// ends must use the same. The error names the table that is missing or of
// another size.
func (s *Schema) SetTables(source delta.TableSource) error {
	c := codes{deltas: make([]*delta.Delta, len(s.plans))}
	var err error
	for row, p := range s.plans {
		if (s.tags | s.whole).Has(row) {
			continue
		}
		if c.deltas[row], err = delta.NewDelta(p, source); err != nil {
			return fmt.Errorf("snapshot: component %s: %w", p.Name(), err)
		}
	}
	for n := 1; n <= whichRows; n++ {
		name := fmt.Sprintf("rows.%d", n)
		if c.which[n-1], err = source.Table(name, name, 1<<n, delta.WhichContexts(n)); err != nil {
			return fmt.Errorf("snapshot: %w", err)
		}
	}
	if c.four, err = source.Table("list.four", "list.four", fourCount, fourContexts); err != nil {
		return fmt.Errorf("snapshot: %w", err)
	}
	for context := range fourContexts {
		_, n := c.four.Bits(context, fourNone)
		c.end = max(c.end, int(n))
	}
	if c.gap, err = source.Table("list.gap", "list.gap", gapCount, 2); err != nil {
		return fmt.Errorf("snapshot: %w", err)
	}
	s.codes = c
	return nil
}

// gapSymbol is the symbol of a gap, with its raw bits.
func gapSymbol(gap uint32, odd bool) (symbol int, raw uint64, rawBits uint) {
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

// readGap reads what gapSymbol says. end is true where there is no more.
func readGap(t *delta.Table, context int, b *wire.BitReader) (gap uint32, odd, end bool) {
	symbol := t.Read(b, context)
	if symbol == gapEnd {
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

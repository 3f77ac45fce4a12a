package replica

import (
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/snapshot/format"
)

// bandReader converts rows of distance bands to rows of their components. All users of the Replica read components.
// Versions are stored as they were sent, since later records are coded against them.
type bandReader struct{ rows []bandRow }

// bandRow converts the rows of one band.
type bandRow struct {
	convert quantize.Conversion
	width   int
	results []uint32 // a ring of the last converted rows
	next    int
}

// keptResults is the number of converted rows of one band that stay valid. Users read two versions of a component, for
// itself and for each component that uses its values.
const keptResults = 8

func newBandReader(schema *format.Schema) *bandReader {
	b := &bandReader{rows: make([]bandRow, schema.Rows())}
	for _, c := range schema.Families() {
		for _, band := range c.Bands {
			width := schema.Plan(c.Row).Lanes()
			b.rows[band.Row] = bandRow{
				convert: quantize.NewConversion(schema.Plan(band.Row), schema.Plan(c.Row)), width: width, results: make([]uint32, keptResults*width),
			}
		}
	}
	return b
}

// fine returns a row of a band as a row of its component.
func (b *bandReader) fine(band int, lanes []uint32) []uint32 {
	r := &b.rows[band]
	r.next = (r.next + 1) % keptResults
	to := r.results[r.next*r.width:][:r.width:r.width]
	r.convert.Row(lanes, to)
	return to
}

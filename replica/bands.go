package replica

import (
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/snapshot/format"
)

// bandReader turns rows of distance bands into rows of their components, which is what everybody behind the Replica reads. Versions are kept as
// they were sent, since later records are coded against these.
type bandReader struct{ rows []bandRow }

// bandRow is the reader of one band.
type bandRow struct {
	convert quantize.Conversion
	width   int
	results []uint32 // the newest rows that were asked for
	next    int
}

// keptResults is the number of rows of one band that stay valid: two versions of a component, for itself and for all that moves by it.
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

// fine returns the row of the component that a band's row stands for.
func (b *bandReader) fine(band int, lanes []uint32) []uint32 {
	r := &b.rows[band]
	r.next = (r.next + 1) % keptResults
	to := r.results[r.next*r.width:][:r.width:r.width]
	r.convert.Row(lanes, to)
	return to
}

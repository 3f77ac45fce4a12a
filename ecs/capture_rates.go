package netecs

import (
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// captureRates decides when a written component is captured, from the entity's components.Rate and the schema's options
// for the component. A component that waits stays different from the shadow, so the next scan finds it again. An entity
// that moved has no shadow to compare with: its rows that are not due are deferred. Control components never wait.
type captureRates struct {
	before   tick.Tick     // tick of the capture before
	slow     snapshot.Mask // rows with options
	deferred []deferredRow
	waits    []snapshot.Mask                    // by network index: rows in deferred
	prompt   func(wire.NetworkID) snapshot.Mask // nil: none; see Capture.Prompt
}

// deferredRow is a row to capture when it is next due, whether or not it was written.
type deferredRow struct {
	id  wire.NetworkID
	row int
}

func newCaptureRates(schema *snapshot.Schema) (p captureRates) {
	for row := range schema.Rows() {
		if o := schema.Options(row); o.Once || o.Every > 1 {
			p.slow = p.slow.With(row)
		}
	}
	return p
}

// forgetRates resets the state of all entities. The memory stays.
func (p *captureRates) forgetRates() {
	p.deferred = p.deferred[:0]
	clear(p.waits)
}

// forget resets the state of an index for a new entity.
func (p *captureRates) forget(index uint32) {
	if int(index) < len(p.waits) {
		p.waits[index] = snapshot.Mask{}
	}
}

// deferRow adds a row to the deferred ones.
func (p *captureRates) deferRow(id wire.NetworkID, row int) {
	p.waits = grown(p.waits, int(id.Index))
	if !p.waits[id.Index].Has(row) {
		p.waits[id.Index] = p.waits[id.Index].With(row)
		p.deferred = append(p.deferred, deferredRow{id, row})
	}
}

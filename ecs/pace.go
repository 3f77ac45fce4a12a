package netecs

import (
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
)

// pace says when a component that was written is captured: components.Rate
// for entities, the schema's options for components. What has to wait stays
// different from the shadow, so nothing is lost that is still there in time.
type pace struct {
	now, before tick.Tick // of this capture and the one before
	rows        []snapshot.RowOptions
	slow        snapshot.Mask // rows with options
	every       []uint16      // by network index; 0: each tick
}

func newPace(schema *snapshot.Schema) pace {
	var p pace
	for row := range schema.Rows() {
		o := schema.Options(row)
		p.rows = append(p.rows, o)
		if o.Once || o.Every > 1 {
			p.slow = p.slow.With(row)
		}
	}
	return p
}

// set is an entity's components.Rate.
func (p *pace) set(index uint32, every uint16) {
	if every == 0 && int(index) >= len(p.every) {
		return
	}
	p.every = extended(p.every, int(index))
	p.every[index] = every
}

// due reports whether a row that the store has is captured now. Where captures
// leave ticks out, what was due in between is due now.
func (p *pace) due(index uint32, row int) bool {
	every := tick.Tick(1)
	if int(index) < len(p.every) {
		every = max(every, tick.Tick(p.every[index]))
	}
	if p.slow.Has(row) {
		every = max(every, tick.Tick(p.rows[row].Every))
	}
	if every == 1 {
		return true
	}
	phase := tick.Tick(index)
	return (p.now+phase)/every != (p.before+phase)/every
}

// never reports whether a row that the store has is never captured again.
func (p *pace) never(row int) bool { return p.slow.Has(row) && p.rows[row].Once }

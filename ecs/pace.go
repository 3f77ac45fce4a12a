package netecs

import (
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// pace says when a component that was written is captured: components.Rate
// for entities, the schema's options for components. What has to wait stays
// different from the shadow, so nothing is lost that is still there in time. Of
// an entity that has moved there is no shadow to tell, so all its rows that are
// not due are late, and are captured when they are. Control components never
// wait, as they are obeyed at once.
type pace struct {
	store       *snapshot.Store
	now, before tick.Tick // of this capture and the one before
	rows        []snapshot.RowOptions
	slow        snapshot.Mask // rows with options
	every       []uint16      // by network index; 0: each tick
	late        []lateRow
	waits       []snapshot.Mask // by network index: rows in late
}

// lateRow is a row to capture at its next turn, whether or not it was written.
type lateRow struct {
	id  wire.NetworkID
	row int
}

func newPace(store *snapshot.Store, schema *snapshot.Schema) pace {
	p := pace{store: store}
	for row := range schema.Rows() {
		o := schema.Options(row)
		p.rows = append(p.rows, o)
		if o.Once || o.Every > 1 {
			p.slow = p.slow.With(row)
		}
	}
	return p
}

// begin forgets what was known of the entity that had an index before.
func (p *pace) begin(index uint32) {
	p.set(index, 0)
	if int(index) < len(p.waits) {
		p.waits[index] = 0
	}
}

// forget forgets all entities, keeping the memory.
func (p *pace) forget() {
	p.late = p.late[:0]
	clear(p.waits)
	clear(p.every)
}

// set is an entity's components.Rate.
func (p *pace) set(index uint32, every uint16) {
	if every == 0 && int(index) >= len(p.every) {
		return
	}
	p.every = extended(p.every, int(index))
	p.every[index] = every
}

// due reports whether a component that the store has is captured now. Where
// captures leave ticks out, what was due in between is due now.
func (p *pace) due(id wire.NetworkID, col *column) bool {
	every := tick.Tick(1)
	if int(id.Index) < len(p.every) {
		every = max(every, tick.Tick(p.every[id.Index]))
	}
	if p.slow.Has(col.row) {
		every = max(every, tick.Tick(p.rows[col.row].Every))
	}
	if every == 1 || col.control != noControl {
		return true
	}
	return p.store.Turn(id, every, p.before, p.now)
}

// never reports whether a component that the store has is never captured again.
func (p *pace) never(col *column) bool {
	return p.slow.Has(col.row) && p.rows[col.row].Once && col.control == noControl
}

// putOff makes a row late.
func (p *pace) putOff(id wire.NetworkID, row int) {
	p.waits = extended(p.waits, int(id.Index))
	if !p.waits[id.Index].Has(row) {
		p.waits[id.Index] = p.waits[id.Index].With(row)
		p.late = append(p.late, lateRow{id, row})
	}
}

// captureLate captures the late rows that have their turn now.
func (c *Capture) captureLate() {
	p := &c.pace
	still := p.late[:0]
	for _, l := range p.late {
		at := c.watch.at(l.id)
		if at == nil {
			continue
		}
		var col *column
		if at.table != nowhere {
			col = c.watch.tables[at.table].column(l.row)
		}
		if col != nil && !p.due(l.id, col) {
			still = append(still, l)
			continue
		}
		p.waits[l.id.Index] = p.waits[l.id.Index].Without(l.row)
		if col != nil && c.watch.world.Alive(at.entity) && col.aimAt(c.watch.world, at.entity) {
			c.captureRow(l.id, col, 0)
			c.keep(at, col)
			col.release()
		}
	}
	p.late = still
}

package netecs

import (
	"reflect"
	"slices"

	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/wire"
)

// isQuick reports whether all rows of a column are captured in every tick, with no other work. It is called again for
// each batch, since a control component may set the first rate of the world during a run.
func (c *Capture) isQuick(col *column) bool {
	return col.steady && !c.store.Rated()
}

// captureRow quantises one component and stores it. A row with entity fields waits until all entities have their ids. A
// field with a fault keeps its last value.
func (c *Capture) captureRow(id wire.NetworkID, col *column, row int) {
	lanes, before := c.lanes[:len(c.blank[col.row])], c.store.Row(id, col.row)
	if before == nil {
		before = c.blank[col.row]
	}
	copy(lanes, before) // a field with a fault keeps its value
	if fault := col.plan.Quantise(col.at(row), lanes); fault.Reason != wire.NoFault {
		c.noteFault(id, col, row, fault)
	}
	if table := c.refs.byRow[col.row]; table >= 0 {
		c.refs.wait(id, table, lanes, col.target)
		return
	}
	c.store.Set(id, col.row, lanes)
}

// noteFault reports the first fault of each kind for each component of an entity.
func (c *Capture) noteFault(id wire.NetworkID, col *column, row int, fault quantize.Fault) {
	known := &c.reported[id.Index]
	kind, told := kindOf(fault.Reason), &known.outOfRange
	switch kind {
	case NotFinite:
		told = &known.notFinite
	case NoRotation:
		told = &known.noRotation
	}
	if told.Has(col.row) {
		return
	}
	*told = told.With(col.row)
	c.tracker.note(Problem{
		Kind: kind, Entity: id, Local: c.tracker.entry(id).entity,
		Component: col.plan.Name(), Field: fault.Field(), Detail: col.plan.Outside(reflect.NewAt(col.plan.Type(), col.at(row)).Elem(), fault),
	})
}

// mark notes that a row of an entity was written. It ignores entities without an id.
func (c *Capture) mark(e Entity, row int) {
	if id, ok := c.tracker.idOf(e); ok {
		c.marks.add(id.Index, row)
	}
}

// captureMarked captures the marked rows, in ascending order of their indexes.
func (c *Capture) captureMarked() {
	slices.Sort(c.marks.list)
	for _, index := range c.marks.list {
		rows := c.marks.byIndex[index]
		c.marks.byIndex[index] = snapshot.Mask{}
		if at := &c.tracker.byIndex[index]; at.generation != 0 {
			c.captureMarkedRows(wire.NetworkID{Index: index, Generation: at.generation}, rows)
		}
	}
	c.marks.list = c.marks.list[:0]
}

// captureMarkedRows captures marked rows of an entity.
func (c *Capture) captureMarkedRows(id wire.NetworkID, rows snapshot.Mask) {
	at := c.tracker.entry(id)
	if at.table == nowhere || !c.tracker.world.Alive(at.entity) && !c.tracker.rebind(at, id) {
		return
	}
	for at = c.tracker.entry(id); !rows.IsZero(); rows = rows.Rest() {
		col := c.tracker.tables[at.table].column(rows.Lowest())
		if col == nil || !col.bindTo(c.tracker.world, at.entity) {
			continue
		}
		if !c.captureDue(id, col, 0) {
			c.rates.deferRow(id, col.row)
		}
		col.unbind()
	}
}

// batchRows is the number of rows of a column that are captured together. It is large enough that cache misses overlap,
// and small enough that each step finds its data in the cache.
const batchRows = 128

// rowBatch captures several rows of a column together: the fast path of captureRow. It finds the entities of the rows
// for the first column. The next columns use them again if the same rows differ.
type rowBatch struct {
	capture *Capture
	table   *table           // the table of asked; nil: asked is not valid
	asked   []int32          // the rows that findOwners looked up
	rows    []int32          // of asked: rows with an entity of this capture
	ids     []wire.NetworkID // ids of rows
	have    snapshot.Mask    // schema rows that the store has for all ids
	lanes   []uint32         // quantised rows, one after the other
	bad     []int32          // positions in rows with a fault
}

// findOwners finds the entities in rows of a table. It sets rows, ids and have.
func (g *rowBatch) findOwners(t *table, rows []int32) {
	if g.table == t && slices.Equal(g.asked, rows) {
		return
	}
	g.table, g.asked = t, append(g.asked[:0], rows...)
	g.rows, g.ids = g.capture.tracker.owners(t, rows, g.rows[:0], g.ids[:0])
	g.have = g.capture.store.Common(g.ids)
}

// rowsDiffer captures rows of one column in batches, step by step: the fast path of differs. It implements
// trackerEvents.
func (c *Capture) rowsDiffer(t *table, col *column, rows []int32) bool {
	if c.noBatches || !c.isQuick(col) {
		return false
	}
	g := &c.batch
	g.findOwners(t, rows)
	for from := 0; from < len(g.ids); from += batchRows {
		to := min(from+batchRows, len(g.ids))
		g.captureBatch(col, g.rows[from:to], g.ids[from:to])
	}
	col.keepRows(rows)
	return true
}

// captureBatch does the same as captureRow, for several rows of one column.
func (g *rowBatch) captureBatch(col *column, rows []int32, ids []wire.NetworkID) {
	if !g.have.Has(col.row) {
		for k, id := range ids {
			g.capture.differs(id, col, int(rows[k]), int(rows[k]))
		}
		return
	}
	n := len(g.capture.blank[col.row])
	g.lanes = slices.Grow(g.lanes[:0], n*len(ids))[:n*len(ids)] // quantising writes all lanes of each row without a fault
	g.bad = col.quantiseRows(rows, g.lanes, g.bad[:0])
	if len(g.bad) > 0 {
		g.noteFaults(col, rows, ids)
	}
	g.capture.store.ReplaceRows(ids, col.row, g.lanes)
}

// noteFaults reports the rows of a batch with faults, and quantises them again over their last values.
func (g *rowBatch) noteFaults(col *column, rows []int32, ids []wire.NetworkID) {
	n := len(g.capture.blank[col.row])
	slices.Sort(g.bad)
	for _, k := range slices.Compact(g.bad) {
		lanes := g.lanes[int(k)*n : (int(k)+1)*n]
		copy(lanes, g.capture.store.Row(ids[k], col.row)) // a field with a fault keeps its value
		g.capture.noteFault(ids[k], col, int(rows[k]), col.plan.Quantise(col.at(int(rows[k])), lanes))
	}
}

// captureDue captures a component that is already in the store, if it is due. It returns false if the component waits.
func (c *Capture) captureDue(id wire.NetworkID, col *column, row int) bool {
	slow := c.rates.slow.Has(col.row)
	if col.control == snapshot.NoControl && (slow || c.store.Rated()) {
		if slow && c.tracker.schema.Options(col.row).Once {
			return true
		}
		if !c.store.Due(id, col.row, c.rates.before) && (c.rates.prompt == nil || !c.rates.prompt(id).Has(col.row)) {
			return false
		}
	}
	c.captureRow(id, col, row)
	return true
}

// captureDeferred captures the deferred rows that are due now.
func (c *Capture) captureDeferred() {
	still := c.rates.deferred[:0]
	for _, d := range c.rates.deferred {
		at := c.tracker.entry(d.id)
		if at == nil {
			continue
		}
		if at.table != nowhere && c.tracker.world.Alive(at.entity) {
			if col := c.tracker.tables[at.table].column(d.row); col != nil && col.bindTo(c.tracker.world, at.entity) {
				done := c.captureDue(d.id, col, 0)
				col.unbind()
				if !done {
					still = append(still, d)
					continue
				}
			}
		}
		c.rates.waits[d.id.Index] = c.rates.waits[d.id.Index].Without(d.row)
	}
	c.rates.deferred = still
}

// control passes the value of a control component to the store.
func (c *Capture) control(id wire.NetworkID, col *column, row int) {
	c.controlled = grown(c.controlled, int(id.Index))
	c.controlled[id.Index] |= 1 << col.control
	control := snapshot.Control{Kind: col.control}
	switch col.control {
	case snapshot.OwnerControl:
		control.Value = uint32(controlOf[components.Owner](col, row).Client)
	case snapshot.GroupControl:
		control.Value = controlOf[components.Group](col, row).ID
	case snapshot.RateControl:
		control.Value = uint32(controlOf[components.Rate](col, row).Every)
	case snapshot.PriorityControl:
		weight, reason := snapshot.WeightOf(controlOf[components.Priority](col, row).Weight)
		if reason != wire.NoFault {
			c.noteWeight(id, reason)
		}
		if reason == wire.NotFinite {
			return
		}
		control.Value = uint32(weight)
	}
	c.store.SetControl(id, control)
}

// uncontrol resets the controls that an entity no longer has. now has bit k set for each control of kind k that it has.
func (c *Capture) uncontrol(id wire.NetworkID, now uint8) {
	if uint(id.Index) >= uint(len(c.controlled)) || c.controlled[id.Index]&^now == 0 {
		return
	}
	gone := c.controlled[id.Index] &^ now
	c.controlled[id.Index] &= now
	for k := snapshot.OwnerControl; k < snapshot.ControlKinds; k++ {
		if gone>>k&1 != 0 {
			c.store.SetControl(id, snapshot.Control{Kind: k}.Default())
		}
	}
}

// noteWeight reports an invalid priority once for each entity.
func (c *Capture) noteWeight(id wire.NetworkID, reason wire.FaultReason) {
	if c.reported[id.Index].weight {
		return
	}
	c.reported[id.Index].weight = true
	detail := ""
	if reason == wire.OutOfRange {
		detail = "a priority is 0 to 255"
	}
	c.tracker.note(Problem{
		Kind: kindOf(reason), Entity: id, Local: c.tracker.entry(id).entity,
		Component: reflect.TypeFor[components.Priority]().Name(), Field: "Weight", Detail: detail,
	})
}

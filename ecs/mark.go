package netecs

import (
	"fmt"
	"reflect"

	"github.com/mlange-42/arche/ecs"
	"github.com/mlange-42/arche/generic"

	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/wire"
)

// marks are what game code said that it wrote, since the capture before. Each row of each entity is in them once, however
// often it was said, so they never hold more than there are entities.
type marks struct {
	rows    snapshot.Mask   // that are captured by marks alone
	only    bool            // so is everything; see Capture.ByMarks
	checked bool            // see Capture.CheckMarks
	world   bool            // MarkWorld was called
	byIndex []snapshot.Mask // by network index: which rows
	set     []uint64        // bits: the indexes that have any
	words   []uint32        // of set, those that are not zero
	tables  []*table        // of which rows are gathered
	strays  []stray         // what is not captured with its table
}

func newMarks(schema *snapshot.Schema, controls *controls, ids []ecs.ID) marks {
	m := marks{world: true}
	for row := range schema.Rows() {
		// Control components are obeyed at once, whatever the options say.
		if schema.Options(row).Marked && controls.kind(ids[row]) == noControl {
			m.rows = m.rows.With(row)
		}
	}
	return m
}

// forget drops all marks. The world is to be looked at.
func (m *marks) forget() {
	for _, w := range m.words {
		m.set[w] = 0
	}
	clear(m.byIndex)
	m.words, m.world = m.words[:0], true
}

// has reports whether a row was marked.
func (m *marks) has(id wire.NetworkID, row int) bool {
	return int(id.Index) < len(m.byIndex) && m.byIndex[id.Index].Has(row)
}

// Mark says that game code wrote component T of an entity, which the next Run captures as it is then. It is needed for
// components with [snapshot.RowOptions].Marked and, after [Capture.ByMarks], for all; for others it changes nothing. An
// entity that no Run has seen needs none: it is captured whole. Mark may be called while the world is locked. For
// a T that is not of the schema it does nothing. To mark many entities, a [Marker] is quicker.
func Mark[T any](c *Capture, e ecs.Entity) {
	if row := c.watch.schema.RowOf(reflect.TypeFor[T]()); row >= 0 {
		c.mark(e, snapshot.Mask(0).With(row))
	}
}

// Marker marks components that are written together, see [Mark].
type Marker struct{ rows snapshot.Mask }

// NewMarker returns one for components of a schema. It panics for one that is not of it.
func NewMarker(schema *snapshot.Schema, components ...generic.Comp) (m Marker) {
	for _, t := range components {
		row := schema.RowOf(t)
		if row < 0 {
			panic(fmt.Sprintf("netecs: a Marker of %v, which is not replicated: register it with netcode.Replicate", t))
		}
		m.rows = m.rows.With(row)
	}
	return m
}

// Mark is [Mark] for the Marker's components, of a capture with its schema. What of them the entity does not have is ignored.
func (m Marker) Mark(c *Capture, e ecs.Entity) { c.mark(e, m.rows) }

// mark notes that rows of an entity were written.
func (c *Capture) mark(e ecs.Entity, rows snapshot.Mask) {
	id, ok := c.watch.holder(e)
	if !ok {
		return
	}
	m, w := &c.marks, id.Index/64
	if int(id.Index) >= len(m.byIndex) {
		m.byIndex = extended(m.byIndex, int(id.Index))
		m.set = extended(m.set, int(w))
	}
	if m.set[w] == 0 {
		m.words = append(m.words, w)
	}
	m.set[w] |= 1 << (id.Index % 64)
	m.byIndex[id.Index] |= rows
}

// ByMarks makes Run capture what was marked and look at nothing else, so that it costs what was written and not what there
// is. Game code then says [Mark] for every write, of control components too where they are of the schema, and
// [Capture.MarkWorld] when entities came, went, gained or lost components, or other control components were written.
func (c *Capture) ByMarks(on bool) { c.marks.only = on }

// MarkWorld has the next Run look at the whole world after [Capture.ByMarks]. What was written without a mark goes along.
func (c *Capture) MarkWorld() { c.marks.world = true }

// CheckMarks makes every Run look at the whole world and report, as UnmarkedWrite, what was written without a mark, once for
// each component of each entity. It still does not travel, until MarkWorld or a mark takes it along. It is for tests: it costs
// what marks save. It must be called before the first Run.
func (c *Capture) CheckMarks() { c.marks.checked, c.watch.unscanned = true, 0 }

// markDecides reports whether a scan leaves a component that differs to its mark, and reports one that has none. Without the
// check nobody would have looked: MarkWorld still finds it.
func (c *Capture) markDecides(id wire.NetworkID, col *column) bool {
	m := &c.marks
	if !m.checked || col.row < 0 || !(m.only && !m.world) && !m.rows.Has(col.row) {
		return false
	}
	if !m.has(id, col.row) && !c.known[id.Index].unmarked.Has(col.row) {
		c.known[id.Index].unmarked = c.known[id.Index].unmarked.With(col.row)
		c.watch.note(Problem{
			Kind: UnmarkedWrite, Entity: id, Local: c.watch.at(id).entity, Component: col.plan.Name(),
		})
	}
	return true
}

// unannounced tells of an entity that came, went or has other components, which MarkWorld did not say.
func (c *Capture) unannounced(id wire.NetworkID, e ecs.Entity, now snapshot.Mask) {
	if c.marks.only && c.marks.checked && !c.marks.world && now != c.store.Mask(id) {
		c.watch.note(Problem{Kind: UnmarkedWrite, Entity: id, Local: e})
	}
}

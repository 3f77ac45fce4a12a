package netecs

import (
	"reflect"

	"github.com/arche-netcode/netcode/internal/world"
	"github.com/arche-netcode/netcode/snapshot"
)

// marks stores the rows that game code marked since the last capture.
type marks struct {
	rows    snapshot.Mask   // rows that are captured only if marked
	byIndex []snapshot.Mask // by network index: the marked rows
	list    []uint32        // indexes with marked rows
}

func newMarks(schema *snapshot.Schema, controls *controls, ids []world.ID) (m marks) {
	for row := range schema.Rows() {
		// Control components take effect at once, whatever the options.
		if schema.Options(row).Marked && controls.kind(ids[row]) == snapshot.NoControl {
			m.rows = m.rows.With(row)
		}
	}
	return m
}

// forgetMarks drops all marks.
func (m *marks) forgetMarks() {
	clear(m.byIndex)
	m.list = m.list[:0]
}

// add marks a row of an index, if it is captured only if marked.
func (m *marks) add(index uint32, row int) {
	if !m.rows.Has(row) {
		return
	}
	m.byIndex = grown(m.byIndex, int(index))
	if m.byIndex[index].IsZero() {
		m.list = append(m.list, index)
	}
	m.byIndex[index] = m.byIndex[index].With(row)
}

// Mark notes that game code wrote component T of an entity. The next Run captures the value that the component then
// has. Components with [snapshot.RowOptions].Marked need marks. For other components a mark changes nothing. An entity
// that no Run has seen needs no mark: Run captures it whole.
//
// Mark may be called while the world is locked. It ignores a T that is not in the schema.
func Mark[T any](c *Capture, e Entity) {
	if row := c.tracker.schema.RowOf(reflect.TypeFor[T]()); row >= 0 {
		c.mark(e, row)
	}
}

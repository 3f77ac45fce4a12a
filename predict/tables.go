package predict

import (
	netecs "github.com/arche-netcode/netcode/ecs"
	"github.com/arche-netcode/netcode/internal/world"
)

// table is a run of entities with the same components, side by side in columns.
type table struct {
	archetype world.Mask
	rows      int
	has       uint64        // Bit k: the table has column k.
	columns   []*byte       // By column: the component of the first row. Valid until the structure of the world changes.
	first     world.Pointer // Keys of the first row and the last.
	last      world.Pointer
}

// tables finds the columns of all entities of a filter. While no entity is added, removed or moved, a look reads two
// entities of each table.
type tables struct {
	filter world.Filter
	ids    []world.ID // The component of each column, at most 63. Every entity has the first, which is not empty.
	sizes  []int
	list   []table
}

// newTables registers the filter with the world's cache, so that a look costs nothing for archetypes that do not match.
func newTables(w *netecs.World, all world.Mask) tables {
	return tables{filter: world.Register(w, all.Without())}
}

// column adds a column of a component and its size in bytes.
func (t *tables) column(id world.ID, size int) {
	t.ids, t.sizes = append(t.ids, id), append(t.sizes, size)
}

// refresh updates the list of tables. It reports whether tables or their row counts changed.
func (t *tables) refresh(w *netecs.World) (changed bool) {
	if t.unchanged(w) {
		return false
	}
	t.count(w)
	return true
}

// bind stores the column addresses of a table. The query is at the first row of the table.
func (t *tables) bind(to *table, q *world.Query) {
	to.has = 0
	for k, id := range t.ids {
		if q.Has(id) {
			to.has |= 1 << k
			to.columns[k] = byteAt(q.Get(id))
		}
	}
}

// unchanged reports whether the rows of all tables are those of the last look, by the first and the last of each.
func (t *tables) unchanged(w *netecs.World) bool {
	q, n := world.Open(w, &t.filter), 0
	for more := q.Next(); more; n++ {
		if n == len(t.list) || world.RowKey(&q, t.ids[0]) != t.list[n].first {
			q.Close()
			return false
		}
		one := &t.list[n]
		if one.rows > 1 && !q.Step(one.rows-1) {
			return false // Step closed the query.
		}
		if world.RowKey(&q, t.ids[0]) != one.last {
			q.Close()
			return false
		}
		more = q.Next() // A further row of the same table fails the comparison above.
	}
	return n == len(t.list)
}

// count rebuilds the list. Archetypes that differ only in a relation target are separate tables, unless they are
// adjacent.
func (t *tables) count(w *netecs.World) {
	n := 0
	var one *table
	for q := world.Open(w, &t.filter); q.Next(); {
		if one != nil && q.Mask() == one.archetype && t.follows(one, &q) {
			one.rows++
			one.last = world.RowKey(&q, t.ids[0])
			continue
		}
		if n++; n > cap(t.list) {
			t.list = append(t.list[:n-1], table{columns: make([]*byte, len(t.ids))})
		}
		t.list = t.list[:n]
		if one = &t.list[n-1]; one.columns == nil {
			one.columns = make([]*byte, len(t.ids))
		}
		one.archetype, one.rows, one.first = q.Mask(), 1, world.RowKey(&q, t.ids[0])
		one.last = one.first
		t.bind(one, &q)
	}
	t.list = t.list[:n]
}

// follows reports whether the row of a query is the next row of a table in every column.
func (t *tables) follows(one *table, q *world.Query) bool {
	for k, id := range t.ids {
		if one.has>>k&1 != 0 && t.sizes[k] > 0 && !liesAt(q.Get(id), one.columns[k], one.rows*t.sizes[k]) {
			return false
		}
	}
	return true
}

// bytes returns the memory of count rows of column k, from a row on.
func (t *tables) bytes(one *table, k, from, count int) []byte {
	size := t.sizes[k]
	return bytesAt(one.columns[k], (from+count)*size)[from*size:]
}

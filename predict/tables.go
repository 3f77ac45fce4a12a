package predict

import "github.com/mlange-42/arche/ecs"

// table is entities of a world that have the same components. They lie in columns, one behind the other.
type table struct {
	archetype ecs.Mask
	rows      int
	has       uint64  // Bit k: it has column k.
	columns   []*byte // Of tables.ids: the component of the first row. Good until the structure of the world changes.
}

// tables finds the columns of all entities of a filter. As long as nothing comes, goes or moves, it looks at two entities of each
// table, however many there are.
type tables struct {
	filter ecs.CachedFilter
	ids    []ecs.ID // Of the columns, 63 at most. Each entity has the first, which is not empty.
	sizes  []int
	list   []table
}

// newTables registers the filter with the world, so that finding tables costs nothing for each archetype that there is.
func newTables(w *ecs.World, filter ecs.Filter) tables {
	return tables{filter: w.Cache().Register(filter)}
}

// column adds a column.
func (t *tables) column(id ecs.ID, size int) {
	t.ids, t.sizes = append(t.ids, id), append(t.sizes, size)
}

// look finds the columns as they are now. It tells whether the tables, or their numbers of rows, are others than before.
func (t *tables) look(w *ecs.World) (changed bool) {
	if t.asBefore(w) {
		return false
	}
	t.count(w)
	return true
}

// bind points a table at the columns of a query's present row, the first of the table.
func (t *tables) bind(to *table, q *ecs.Query) {
	to.has = 0
	for k, id := range t.ids {
		if q.Has(id) {
			to.has |= 1 << k
			to.columns[k] = byteAt(q.Get(id))
		}
	}
}

// asBefore binds the tables if they have as many rows as before.
func (t *tables) asBefore(w *ecs.World) bool {
	q, n := w.Query(&t.filter), 0
	for more := q.Next(); more; n++ {
		if n == len(t.list) || q.Mask() != t.list[n].archetype {
			q.Close()
			return false
		}
		one := &t.list[n]
		t.bind(one, &q)
		if one.rows > 1 && !q.Step(one.rows-1) {
			return false // That closed the query.
		}
		if !liesAt(q.Get(t.ids[0]), one.columns[0], (one.rows-1)*t.sizes[0]) {
			q.Close()
			return false
		}
		more = q.Next() // More rows of this table are not the next one's.
	}
	return n == len(t.list)
}

// count makes the list anew. Archetypes that differ in the target of a relation are tables of their own, unless they lie side by side.
func (t *tables) count(w *ecs.World) {
	n := 0
	var one *table
	for q := w.Query(&t.filter); q.Next(); {
		if one != nil && q.Mask() == one.archetype && t.follows(one, &q) {
			one.rows++
			continue
		}
		if n++; n > cap(t.list) {
			t.list = append(t.list[:n-1], table{columns: make([]*byte, len(t.ids))})
		}
		t.list = t.list[:n]
		if one = &t.list[n-1]; one.columns == nil {
			one.columns = make([]*byte, len(t.ids))
		}
		one.archetype, one.rows = q.Mask(), 1
		t.bind(one, &q)
	}
	t.list = t.list[:n]
}

// follows tells if the row of a query lies behind a table, in every column.
func (t *tables) follows(one *table, q *ecs.Query) bool {
	for k, id := range t.ids {
		if one.has>>k&1 != 0 && t.sizes[k] > 0 && !liesAt(q.Get(id), one.columns[k], one.rows*t.sizes[k]) {
			return false
		}
	}
	return true
}

// bytes is the components of some rows of a column.
func (t *tables) bytes(one *table, k, from, count int) []byte {
	size := t.sizes[k]
	return bytesAt(one.columns[k], (from+count)*size)[from*size:]
}

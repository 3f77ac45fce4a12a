package snapshot

import "github.com/arche-netcode/netcode/snapshot/format"

// pageRows is the number of rows that are allocated at a time. So memory depends on the indexes in use, not on the highest one.
const (
	pageRows  = 1 << pageShift
	pageShift = 8
)

// columns stores the newest row of every entity: for each component an array in pages, by index.
type columns struct {
	schema *Schema
	masks  []Mask
	pages  [][][]uint32 // by row and page: pageRows rows; nil if none was set
}

func newColumns(schema *Schema, capacity int) columns {
	return columns{
		schema: schema,
		masks:  make([]Mask, 0, capacity),
		pages:  make([][][]uint32, schema.Rows()),
	}
}

// grow makes room for index.
func (c *columns) grow(index uint32) {
	for int(index) >= len(c.masks) {
		c.masks = append(c.masks, Mask{})
	}
}

// row returns the place of a row, whether the entity has it or not. It allocates the page at first use.
func (c *columns) row(index uint32, row int) []uint32 {
	n, page := int(c.schema.Widths[row]), int(index/pageRows)
	if pages := c.pages[row]; page < len(pages) {
		if at := int(index%pageRows) * n; at+n <= len(pages[page]) {
			return pages[page][at : at+n : at+n]
		}
	}
	return c.newRow(row, page, int(index%pageRows)*n, n)
}

// page returns the rows of the entities of a page, if any of them has the row.
func (c *columns) page(page uint32, row int) []uint32 {
	first := page * format.PageEntities
	return c.pages[row][first/pageRows][int(first%pageRows)*int(c.schema.Widths[row]):]
}

// newRow allocates the page of a row, unless it exists, and returns the place of the row.
func (c *columns) newRow(row, page, at, n int) []uint32 {
	if page >= len(c.pages[row]) {
		c.pages[row] = grown(c.pages[row], page+1, cap(c.masks)/pageRows+1)
	}
	if c.pages[row][page] == nil {
		c.pages[row][page] = make([]uint32, pageRows*n)
	}
	return c.pages[row][page][at : at+n : at+n]
}

// get returns the lanes of a row, nil if the entity lacks it.
func (c *columns) get(index uint32, row int) []uint32 {
	if int(index) >= len(c.masks) || !c.masks[index].Has(row) {
		return nil
	}
	return c.row(index, row)
}

// grown returns s with at least need elements. If it allocates, it makes room for want elements.
func grown[T any](s []T, need, want int) []T {
	if need <= len(s) {
		return s
	}
	if need <= cap(s) {
		return s[:need]
	}
	if want < need {
		want = need + need/2
	}
	next := make([]T, need, want)
	copy(next, s)
	return next
}

package snapshot

// columns holds the newest row of every entity, one slice per component,
// indexed by network index. A component that nobody has yet takes no memory.
type columns struct {
	schema *Schema
	masks  []Mask
	lanes  [][]uint32
}

func newColumns(schema *Schema, capacity int) columns {
	return columns{
		schema: schema,
		masks:  make([]Mask, 0, capacity),
		lanes:  make([][]uint32, schema.Rows()),
	}
}

// size is the number of indexes there is room for.
func (c *columns) size() int { return len(c.masks) }

// grow makes room for index.
func (c *columns) grow(index uint32) {
	for int(index) >= len(c.masks) {
		c.masks = append(c.masks, 0)
	}
}

// row is the place of a row, whether the entity has it or not. The component's
// column is made, or grown, at its first use.
func (c *columns) row(index uint32, row int) []uint32 {
	n := c.schema.plans[row].Lanes()
	c.lanes[row] = grown(c.lanes[row], (int(index)+1)*n, cap(c.masks)*n)
	return c.lanes[row][int(index)*n : (int(index)+1)*n : (int(index)+1)*n]
}

// get is a row that the entity has, or nil.
func (c *columns) get(index uint32, row int) []uint32 {
	if int(index) >= len(c.masks) || !c.masks[index].Has(row) {
		return nil
	}
	n := c.schema.plans[row].Lanes()
	if n == 0 {
		return []uint32{} // a tag is present though it has nothing to say
	}
	return c.lanes[row][int(index)*n : (int(index)+1)*n : (int(index)+1)*n]
}

// grown returns s with at least need elements, taking room for want at once.
func grown[T any](s []T, need, want int) []T {
	if need <= len(s) {
		return s
	}
	if need <= cap(s) {
		return s[:need]
	}
	next := make([]T, need, max(need+need/2, want))
	copy(next, s)
	return next
}

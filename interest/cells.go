package interest

// cells finds entities by where they are: a hash table of cells, with the entities of a bucket in a list. What happens
// to an entity marks its bucket with the number of the change.
type cells struct {
	places  []place // by index
	placed  Set     // indexes that are somewhere
	count   int
	heads   []int32 // by bucket: the first entity, plus one
	changed []uint64
	change  uint64 // number of the changes that are being made
	emptied uint64 // the newest change that left nobody
	low     cell   // no entity is in a cell below or above these
	high    cell
}

// place is the position of an entity.
type place struct {
	at         point
	cell       cell
	next, prev int32 // indexes plus one, within the bucket
}

const fewestBuckets = 64

func (c *cells) bucket(of cell) uint64 { return of.spread() & uint64(len(c.heads)-1) }

// put says where an entity is; it may have been elsewhere.
func (c *cells) put(index uint32, at point) {
	for int(index) >= len(c.places) {
		c.places = append(c.places, place{})
	}
	in := cellOf(at)
	if c.placed.Has(index) {
		p := &c.places[index]
		if p.at == at {
			return
		}
		if p.cell == in {
			p.at = at
			c.mark(in)
			return
		}
		c.take(index)
	}
	if c.count == len(c.heads) {
		c.rehash()
	}
	c.placed.add(index)
	c.count++
	c.places[index] = place{at: at, cell: in}
	c.link(index)
	c.mark(in)
	c.widen(in)
}

// take removes an entity, which is somewhere.
func (c *cells) take(index uint32) {
	p := &c.places[index]
	if p.next != 0 {
		c.places[p.next-1].prev = p.prev
	}
	if p.prev != 0 {
		c.places[p.prev-1].next = p.next
	} else {
		c.heads[c.bucket(p.cell)] = p.next
	}
	c.placed.remove(index)
	if c.count--; c.count == 0 {
		c.emptied = c.change
	}
	c.mark(p.cell)
}

func (c *cells) link(index uint32) {
	p := &c.places[index]
	head := &c.heads[c.bucket(p.cell)]
	p.prev, p.next = 0, *head
	if *head != 0 {
		c.places[*head-1].prev = int32(index) + 1
	}
	*head = int32(index) + 1
}

func (c *cells) mark(in cell) { c.changed[c.bucket(in)] = c.change }

// widen takes a cell into the bounds of all that were ever used. An empty one there costs a look, no more.
func (c *cells) widen(in cell) {
	if c.count == 1 {
		c.low, c.high = in, in // it is alone now
		return
	}
	c.low = cell{min(c.low.x, in.x), min(c.low.y, in.y), min(c.low.z, in.z)}
	c.high = cell{max(c.high.x, in.x), max(c.high.y, in.y), max(c.high.z, in.z)}
}

// rehash makes room for twice as many.
func (c *cells) rehash() {
	size := max(fewestBuckets, 2*len(c.heads))
	c.heads, c.changed = make([]int32, size), make([]uint64, size)
	for i := range c.changed {
		c.changed[i] = c.change
	}
	for index := range c.placed.All {
		c.link(index)
	}
}

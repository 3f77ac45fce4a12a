package kernel

// Column has one row of each entity of a batch: now, at T and at T', with masks of the lanes that differ. Without T'
// its rows are those at T. Lanes beyond those of the row are undefined.
type Column struct {
	Now, Base, Before Rows              // now, at T and at T'
	Differ            [MaxStreams]uint8 // by stream: bit i: lane i differs between now and T; bit i+4: between T and T'
	Any               uint8             // lanes in which any row differs from T
	Lanes             int               // number of lanes of a row
	Wide              bool              // the assembly is available

	// For float rows, by stream and lane: the token as made by FloatTokens, and the raw bits after its code.
	Token, Raw [MaxStreams * Lanes]uint32

	places [MaxStreams]places
}

// places is the first lanes of the three versions of a row.
type places struct{ now, base, before *uint32 }

// Begin empties the column for rows with this number of lanes.
func (c *Column) Begin(lanes int, wide bool) { c.Lanes, c.Wide, c.Any = lanes, wide, 0 }

// Put sets the row of the k-th entity.
func (c *Column) Put(k int, now, base, before []uint32) {
	n, differ := min(c.Lanes, Lanes), uint32(0)
	now, base, before = now[:n], base[:n], before[:n]
	for i, v := range base {
		at := k*Lanes + i
		c.Now[at], c.Base[at], c.Before[at] = now[i], v, before[i]
		differ |= bit(now[i] != v)<<i | bit(before[i] != v)<<(i+Lanes)
	}
	c.Differ[k] = uint8(differ)
	c.Any |= c.Changed(k)
}

// bit returns 1 for true.
func bit(b bool) (v uint32) {
	if b {
		v = 1
	}
	return v
}

// Changed returns the mask of the lanes in which the k-th row differs between now and T.
func (c *Column) Changed(k int) uint8 { return c.Differ[k] & (1<<Lanes - 1) }

// Moved returns the mask of the lanes in which the k-th row differs between T and T'.
func (c *Column) Moved(k int) uint8 { return c.Differ[k] >> Lanes }

// Point tells where the row of the k-th entity is in memory: now, at T, and at T'. Pass base for before if T' is not used.
func (c *Column) Point(k int, now, base, before []uint32) {
	last := c.Lanes - 1
	_, _, _ = now[last], base[last], before[last]
	c.places[k] = places{&now[0], &base[0], &before[0]}
}

// Touch prefetches the rows that Load will read. Several calls before the first Load let the cache misses overlap.
func (c *Column) Touch(n int) {
	if c.Wide {
		touch(c, len(c.places[:n]))
	}
}

// Load sets the first n rows from where Point told, and finds the lanes that differ.
func (c *Column) Load(n int) {
	if c.Wide {
		load(c, len(c.places[:n]))
		return
	}
	for k := range c.places[:n] {
		at := &c.places[k]
		c.Put(k, lanesAt(at.now, c.Lanes), lanesAt(at.base, c.Lanes), lanesAt(at.before, c.Lanes))
	}
}

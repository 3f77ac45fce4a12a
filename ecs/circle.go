package netecs

// circle knows which network indexes lie on a circle of relations: those from
// which following targets leads back. Each index has at most one target, as
// Arche allows one relation for each entity.
type circle struct {
	target []uint32 // by index: 1 + the index it leads to, 0: nowhere
	round  []bool   // by index: it lies on a circle
	seen   []uint64 // by index: the last walk that came along
	walk   uint64
	turned []turn   // since settle
	other  []uint32 // indexes that settle found to lie on a circle, or no longer
}

// turn is an index that leads to another one than before.
type turn struct{ index, target uint32 }

// turn notes that index leads to target, or nowhere. It counts from the next settle on.
func (c *circle) turn(index, target uint32, any bool) {
	t := turn{index: index}
	if any {
		t.target = 1 + target
	}
	c.turned = append(c.turned, t)
}

// on reports whether an index lies on a circle.
func (c *circle) on(index uint32) bool { return int(index) < len(c.round) && c.round[index] }

// settle finds the circles anew and returns the indexes for which the answer
// may be another than before. Each index that a turned one leads to is looked
// at once. The slice is good until the next call.
func (c *circle) settle() []uint32 {
	c.other = c.other[:0]
	for _, t := range c.turned {
		c.grow(t)
		for i := t.index; c.round[i]; i = c.target[i] - 1 {
			c.round[i] = false
			c.other = append(c.other, i)
		}
	}
	for _, t := range c.turned {
		c.target[t.index] = t.target
	}
	done := c.walk
	for _, t := range c.turned {
		c.follow(t.index, done)
	}
	c.turned = c.turned[:0]
	return c.other
}

// follow walks from an index until its end, or to where this or an earlier walk
// after done has been, and marks the circle if it is its own way that it meets.
func (c *circle) follow(i uint32, done uint64) {
	c.walk++
	for c.seen[i] <= done {
		c.seen[i] = c.walk
		if c.target[i] == 0 {
			return
		}
		i = c.target[i] - 1
	}
	if c.seen[i] != c.walk {
		return
	}
	for ; !c.round[i]; i = c.target[i] - 1 {
		c.round[i] = true
		c.other = append(c.other, i)
	}
}

// grow makes room for both ends of a turn.
func (c *circle) grow(t turn) {
	last := int(max(t.index+1, t.target)) - 1
	c.target = extended(c.target, last)
	c.round = extended(c.round, last)
	c.seen = extended(c.seen, last)
}

// clear forgets everything, keeping the memory.
func (c *circle) clear() {
	clear(c.target)
	clear(c.round)
	c.turned = c.turned[:0]
}

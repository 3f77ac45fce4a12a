package main

import "slices"

// census remembers how many entities there were at each of the newest ticks.
type census struct {
	counts []int
	next   int // place of the oldest, once all are taken
}

// newCensus has room for so many ticks.
func newCensus(ticks int) census { return census{counts: make([]int, 0, ticks)} }

// add takes the count of one tick, in place of the oldest.
func (c *census) add(count int) {
	if len(c.counts) < cap(c.counts) {
		c.counts = append(c.counts, count)
		return
	}
	c.counts[c.next] = count
	c.next = (c.next + 1) % len(c.counts)
}

// fewest is the smallest count held, 0 without any.
func (c *census) fewest() int {
	if len(c.counts) == 0 {
		return 0
	}
	return slices.Min(c.counts)
}

package main

import "math"

// quantised is a body in the bits of the comparisons, computed here and not by netcode, to count what changed.
type quantised struct {
	position    [3]int32
	largest     int
	orientation [3]int32
	interacting bool
}

// changeCounter counts bodies whose quantised values differ from the frame before; the first frame counts none.
type changeCounter struct {
	last  []quantised
	total int
}

func (c *changeCounter) count(bodies []body) {
	if len(c.last) == 0 {
		c.last = make([]quantised, len(bodies))
		for i, b := range bodies {
			c.last[i] = quantise(b)
		}
		return
	}
	for i, b := range bodies {
		if q := quantise(b); q != c.last[i] {
			c.last[i] = q
			c.total++
		}
	}
}

func quantise(b body) (q quantised) {
	clamp := func(v float32, low, high float64) int32 {
		return int32(math.Max(low, math.Min(math.Round(float64(v)*512), high)))
	}
	q.position = [3]int32{clamp(b.position[0], -1<<17, 1<<17-1), clamp(b.position[1], -1<<17, 1<<17-1), clamp(b.position[2], 0, 1<<14-1)}
	q.interacting = b.interacting
	for i, v := range b.orientation {
		if math.Abs(float64(v)) > math.Abs(float64(b.orientation[q.largest])) {
			q.largest = i
		}
	}
	sign := math.Copysign(1, float64(b.orientation[q.largest]))
	at := 0
	for i, v := range b.orientation {
		if i != q.largest {
			q.orientation[at] = int32(math.Floor((sign*float64(v)+1/math.Sqrt2)/math.Sqrt2*511 + 0.5))
			at++
		}
	}
	return q
}

package congestion

import (
	"slices"
	"time"
)

// Group is the controllers of connections that may share a line, as those to one address. Members empty a queue together that all of them
// see, and come to equal rates. Where most queues are seen by one alone, each has a line of its own, and is left alone.
type Group struct {
	members []*Controller
	seen    int // Queues that all members saw, less those that some did not: 0 to mostSeen, above 0 while the line counts as shared.
}

// firstSeen and mostSeen are the first and the greatest Group.seen.
const firstSeen, mostSeen = 4, 8

// Join adds a controller that has sent nothing. Those that know nothing of the line yet start with equal parts of the first rate.
func (g *Group) Join(c *Controller) {
	if g.members = append(g.members, c); len(g.members) == 2 {
		g.seen = firstSeen
	}
	unknown := int64(0)
	for _, m := range g.members {
		if m.on && m.path.taken == 0 {
			unknown++
		}
	}
	for _, m := range g.members {
		if m.on && m.path.taken == 0 {
			m.setRate(min(m.rate, startRate/unknown))
		}
	}
}

// Leave removes a controller and returns the number of those that are left.
func (g *Group) Leave(c *Controller) int {
	g.members = slices.DeleteFunc(g.members, func(m *Controller) bool { return m == c })
	c.path.slack = 0
	if len(g.members) == 1 {
		g.members[0].path.slack = 0
	}
	return len(g.members)
}

// Tick ends a tick, after that of each member.
func (g *Group) Tick(now time.Duration) {
	if len(g.members) < 2 {
		return
	}
	drains, shared := false, true
	for _, c := range g.members {
		drains = drains || c.drainsSince(now)
		shared = shared && c.path.rises()
	}
	switch {
	case drains && shared:
		g.seen = min(g.seen+1, mostSeen)
	case drains:
		g.seen = max(g.seen-1, 0)
	}
	for _, c := range g.members {
		if c.path.slack = 0; g.seen > 0 && !shared { // A delay of less than a tick comes from packets to the others.
			c.path.slack = c.interval
		}
	}
	if drains && g.seen > 0 {
		g.drain(now)
	}
}

// drain makes members drain that see a queue, or do not know the delay without one, and brings their rates nearer to each other.
func (g *Group) drain(now time.Duration) {
	n, sum := int64(0), int64(0)
	for _, c := range g.members {
		if c.on && (c.phase == probing && c.path.rises() || c.phase == starting && c.path.taken > 0) {
			c.startDrain(now)
		}
		if c.drainsSince(now) {
			n, sum = n+1, sum+c.line
		}
	}
	for _, c := range g.members {
		if c.drainsSince(now) {
			c.line += min(sum/n-c.line, c.line) / nearer
			c.setDrainRate()
		}
	}
}

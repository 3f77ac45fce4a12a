package congestion

import (
	"slices"
	"time"
)

// Group coordinates the controllers of connections that may share a line, such as those to one address. Its members drain
// together if all of them see a queue, and approach equal rates. If single members see most queues, each has a line of its own
// and the group does nothing.
type Group struct {
	members []*Controller
	seen    int // Score: queues that all members saw minus queues that some did not, 0 to mostSeen. The line counts as shared above 0.
}

// firstSeen and mostSeen are the initial and the greatest value of Group.seen.
const firstSeen, mostSeen = 4, 8

// Join adds a controller that has sent nothing yet. Members without a sample start with equal parts of startRate.
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

// Leave removes a controller and returns the number of the remaining ones.
func (g *Group) Leave(c *Controller) int {
	g.members = slices.DeleteFunc(g.members, func(m *Controller) bool { return m == c })
	c.path.slack = 0
	if len(g.members) == 1 {
		g.members[0].path.slack = 0
	}
	return len(g.members)
}

// Tick ends a tick of the group. It is called after Tick of each member.
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
		if c.path.slack = 0; g.seen > 0 && !shared { // Packets to other members delay those of this one by less than a tick.
			c.path.slack = c.interval
		}
	}
	if drains && g.seen > 0 {
		g.drain(now)
	}
}

// drain starts a drain of all members that see a queue or do not know their base delay. It brings the rates of draining members
// nearer to each other.
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

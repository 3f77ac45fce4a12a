package netecs

import (
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// ring is an entity on a circle of relations.
type ring struct {
	index uint32
	up    wire.NetworkID // where its relation leads
	since tick.Tick      // what the client had heard of the server when it came to lead there
}

// ringed is one circle: which of the rings, and the newest since.
type ringed struct {
	from, to int
	since    tick.Tick
	told     bool
}

// refuse marks every entity of the circle that n lies on.
func (a *Apply) refuse(n uint32) {
	s := &a.aims
	c := ringed{from: len(s.rings)}
	for x := n; ; {
		row, _ := a.relation(a.replica.Entity(x).Mask)
		r := ring{index: x, up: a.goal(x, row), since: a.replica.Heard()}
		if int(x) < len(s.places) && s.places[x] > 0 {
			if old := s.before[s.places[x]-1]; old.up == r.up {
				r.since = old.since
			}
		}
		s.rings, c.since = append(s.rings, r), max(c.since, r.since)
		a.twins[x].circle = true
		if x, _ = a.parent(x); x == n {
			break
		}
	}
	c.to = len(s.rings)
	s.circles = append(s.circles, c)
}

// tellCircles reports the circles that there are at the server, once for each entity. What the client knows of two entities may be
// as of different ticks, so that a parent and a child that change places may seem to be a circle until the other record has
// come: a circle is one if all of it is as of one tick, or nothing of it has changed for longer than the window.
func (a *Apply) tellCircles() {
	s := &a.aims
	for n := range s.circles {
		c := &s.circles[n]
		if c.told || !a.atOnce(s.rings[c.from:c.to]) && a.replica.Heard()-c.since <= a.replica.Window() {
			continue
		}
		c.told = true
		for _, r := range s.rings[c.from:c.to] {
			now := a.replica.Entity(r.index)
			at, tw := a.watch.at(now.ID), &a.twins[r.index]
			row, ok := a.relation(now.Mask &^ tw.gone)
			if !ok || at == nil || tw.told || tw.left || !a.alive(at.entity) {
				continue
			}
			tw.told = true
			a.watch.note(Problem{Kind: RelationCycle, Entity: now.ID, Local: at.entity, Component: a.watch.schema.Plan(row).Name()})
		}
	}
}

// atOnce reports whether all that is known of a circle is as of one tick.
func (a *Apply) atOnce(rings []ring) bool {
	first := a.replica.Entity(rings[0].index).Tick
	for _, r := range rings[1:] {
		if a.replica.Entity(r.index).Tick != first {
			return false
		}
	}
	return true
}

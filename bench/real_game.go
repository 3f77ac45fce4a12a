package main

import (
	"math"
	"math/rand/v2"

	netecs "github.com/arche-netcode/netcode/ecs"
	"github.com/arche-netcode/netcode/snapshot"
)

// realGame moves bodies of a world, which is captured into a store.
type realGame struct {
	store   *snapshot.Store
	capture *netecs.Capture
	body    *bodyWorld
	movers  []int
	orbits  []orbit
	tumbles bool
	stopped bool
}

func newRealGame(s realScene, config snapshot.Config) *realGame {
	g := &realGame{
		store: snapshot.NewStore(bodyProtocol(s.exact).Schema(), config), body: newBodyWorld(s.entities, s.exact), tumbles: s.exact,
		orbits: newScene(s.entities, s.moving).orbits, movers: rand.New(rand.NewPCG(7, 1)).Perm(s.entities)[:movers(s.entities, s.moving)],
	}
	g.capture = netecs.NewCapture(&g.body.world, g.store, g.store.Schema(), 1, nil)
	return g
}

// move moves the movers by one tick, unless the game has stopped.
func (g *realGame) move() {
	if g.stopped {
		return
	}
	for k, i := range g.movers {
		next := g.orbits[k].next
		if g.tumbles {
			next = g.orbits[k].tumble
		}
		p, q, v := next()
		g.body.write(g.body.entities[i], p, q, v)
	}
}

// tumble is next for a body that also bobs and turns about an axis of all three directions: each of its ten floats changes in
// each step.
func (o *orbit) tumble() (position, rotation, velocity) {
	p, q, v := o.next()
	sin, cos := math.Sincos(o.phase)
	half := float64(q.Q[2])
	p.Z += float32(2 + sin + 0.5*math.Cos(2*o.phase))
	q.Q = [4]float32{float32(0.36 * half), float32(0.48 * half), float32(0.8 * half), q.Q[3]}
	v.Z = float32((cos - math.Sin(2*o.phase)) * o.turn * 60)
	return p, q, v
}

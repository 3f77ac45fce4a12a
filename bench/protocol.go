package main

import (
	"math/rand/v2"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	ecs "github.com/arche-netcode/netcode/internal/world"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
)

// The quantised twins of position, rotation and velocity, as a game would tag them: 57, 29 and 42 bits.
type (
	quantPosition struct {
		X, Y, Z float32 `net:"min=-512,max=512,step=0.002"`
	}
	quantRotation struct {
		Q [4]float32 `net:"quat,bits=9"`
	}
	quantVelocity struct {
		X, Y, Z float32 `net:"min=-64,max=64,step=0.01"`
	}
)

// bodyProtocol replicates position, rotation and velocity, exact or quantised.
func bodyProtocol(exact bool) *netcode.Protocol {
	p := netcode.NewProtocol()
	if exact {
		netcode.Replicate[position](p)
		netcode.Replicate[rotation](p)
		netcode.Replicate[velocity](p)
	} else {
		netcode.Replicate[quantPosition](p)
		netcode.Replicate[quantRotation](p)
		netcode.Replicate[quantVelocity](p)
	}
	return p
}

// bodyWorld is a game's world with replicated bodies, written the way a game writes.
type bodyWorld struct {
	world    *ecs.World
	entities []ecs.Entity
	write    func(e ecs.Entity, p position, r rotation, v velocity)
	read     func(e ecs.Entity) (position, rotation, velocity)
}

// newBodyWorld makes a world of replicated bodies, of the components that bodyProtocol registers.
func newBodyWorld(bodies int, exact bool) *bodyWorld {
	return newRelatedWorld(bodies, exact, archetypeRows)
}

// archetypeRows is Arche's default reservation for an archetype.
const archetypeRows = 128

// newRelatedWorld is newBodyWorld with another number of rows that Arche reserves for each archetype of a relation's target.
func newRelatedWorld(bodies int, exact bool, rows int) *bodyWorld {
	w := &bodyWorld{world: ecs.New(max(bodies, 1)+1, rows)}
	if exact {
		populate[position, rotation, velocity](w, bodies)
	} else {
		populate[quantPosition, quantRotation, quantVelocity](w, bodies)
	}
	return w
}

func populate[P position | quantPosition, R rotation | quantRotation, V velocity | quantVelocity](w *bodyWorld, bodies int) {
	builder := generic.NewMap4[components.Replicated, P, R, V](w.world)
	w.write = func(e ecs.Entity, p position, r rotation, v velocity) {
		_, toP, toR, toV := builder.Get(e)
		*toP, *toR, *toV = P(p), R(r), V(v)
	}
	w.read = func(e ecs.Entity) (position, rotation, velocity) {
		_, p, r, v := builder.Get(e)
		return position(*p), rotation(*r), velocity(*v)
	}
	if bodies == 0 {
		return
	}
	for range bodies {
		e := builder.New()
		_, p, r, _ := builder.Get(e)
		*p, *r = P(position{X: 1}), R(rotation{Q: [4]float32{0, 0, 0, 1}})
		w.entities = append(w.entities, e)
	}
}

// subjects are the bodies that move where a fraction does: those of newScene.
func (w *bodyWorld) subjects(fraction float64) (all []ecs.Entity) {
	random := rand.New(rand.NewPCG(7, 1))
	for _, i := range random.Perm(len(w.entities))[:movers(len(w.entities), fraction)] {
		all = append(all, w.entities[i])
	}
	return all
}

package main

import (
	"fmt"
	"math"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	ecs "github.com/arche-netcode/netcode/internal/world"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
)

// dress is the components that bodies wear.
type dress interface {
	replicate(p *netcode.Protocol)
	worlds(server, client *ecs.World)
	spawn(n int) []ecs.Entity
	write(e ecs.Entity, b *body)
	// compareBody checks a client's entity against the body.
	compareBody(e ecs.Entity, was *body) error
}

// The quantisation that every comparison uses: 50 bits of position in steps of 1/512 m, 29 of orientation, one flag.
type (
	tracePosition struct {
		X, Y float32 `net:"min=-256,max=255.998046875,step=0.001953125"`
		Z    float32 `net:"min=0,max=31.998046875,step=0.001953125"`
	}
	traceOrientation struct {
		Q [4]float32 `net:"quat,bits=9"`
	}
	traceInteracting struct{ On bool }
)

// worn is three components in both worlds.
type worn[A, B, C any] struct {
	server, client generic.Map4[components.Replicated, A, B, C]
}

func (d *worn[A, B, C]) replicate(p *netcode.Protocol) {
	netcode.Replicate[A](p)
	netcode.Replicate[B](p)
	netcode.Replicate[C](p)
}

func (d *worn[A, B, C]) worlds(server, client *ecs.World) {
	d.server = generic.NewMap4[components.Replicated, A, B, C](server)
	d.client = generic.NewMap4[components.Replicated, A, B, C](client)
}

func (d *worn[A, B, C]) spawn(n int) (list []ecs.Entity) {
	for range n {
		list = append(list, d.server.New())
	}
	return list
}

// quantisedDress is those three.
type quantisedDress struct {
	worn[tracePosition, traceOrientation, traceInteracting]
}

func (d *quantisedDress) write(e ecs.Entity, b *body) {
	_, p, q, on := d.server.Get(e)
	*p, *q, *on = b.quantisedParts()
}

func (b *body) quantisedParts() (tracePosition, traceOrientation, traceInteracting) {
	return tracePosition{b.position[0], b.position[1], b.position[2]}, traceOrientation{b.orientation}, traceInteracting{b.interacting}
}

func (d *quantisedDress) compareBody(e ecs.Entity, was *body) error {
	_, p, q, on := d.client.Get(e)
	return resembles(*was, *p, *q, *on)
}

// resembles reports whether decoded values are as near to the body as the quantisation allows.
func resembles(b body, p tracePosition, q traceOrientation, on traceInteracting) error {
	const halfStep = 1.0/1024 + 1e-6
	want := [3]float64{
		math.Max(-256, math.Min(float64(b.position[0]), 255.998046875)),
		math.Max(-256, math.Min(float64(b.position[1]), 255.998046875)),
		math.Max(0, math.Min(float64(b.position[2]), 31.998046875)),
	}
	for i, got := range [3]float32{p.X, p.Y, p.Z} {
		if math.Abs(float64(got)-want[i]) > halfStep {
			return fmt.Errorf("position %v is %v", b.position, p)
		}
	}
	dot, length := 0.0, 0.0
	for i := range q.Q {
		dot += float64(q.Q[i]) * float64(b.orientation[i])
		length += float64(b.orientation[i]) * float64(b.orientation[i])
	}
	// Half a step of each of three components, sqrt(2)/511/2, and what follows from them for the fourth.
	if math.Abs(dot)/math.Sqrt(length) < 1-2e-5 {
		return fmt.Errorf("orientation %v is %v", b.orientation, q.Q)
	}
	if on.On != b.interacting {
		return fmt.Errorf("interacting %v is %v", b.interacting, on.On)
	}
	return nil
}

// Components of floats that lose nothing: 40 bytes a body.
type (
	exactPosition    struct{ X, Y, Z float32 }
	exactOrientation struct{ Q [4]float32 }
	exactVelocity    struct{ X, Y, Z float32 }
)

// exactDress is those three.
type exactDress struct {
	worn[exactPosition, exactOrientation, exactVelocity]
}

func (d *exactDress) write(e ecs.Entity, b *body) {
	_, p, q, v := d.server.Get(e)
	*p = exactPosition{b.position[0], b.position[1], b.position[2]}
	*q, *v = exactOrientation{b.orientation}, exactVelocity{b.velocity[0], b.velocity[1], b.velocity[2]}
}

func (d *exactDress) compareBody(e ecs.Entity, was *body) error {
	_, p, q, v := d.client.Get(e)
	if *p != (exactPosition{was.position[0], was.position[1], was.position[2]}) || q.Q != was.orientation ||
		*v != (exactVelocity{was.velocity[0], was.velocity[1], was.velocity[2]}) {
		return fmt.Errorf("%v is %v %v %v", *was, *p, *q, *v)
	}
	return nil
}

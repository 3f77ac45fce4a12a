package main

import (
	"fmt"
	"math"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	ecs "github.com/arche-netcode/netcode/internal/world"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
)

// poseDress is position and rotation in both worlds.
type poseDress[P, Q any] struct {
	server, client generic.Map3[components.Replicated, P, Q]
	put            func(position [3]float32, orientation [4]float32) (P, Q)
	get            func(p *P, q *Q) ([3]float32, [4]float32)
	off            float64 // the tolerance of a position
}

// newPose returns a dress of a scene's own components, or of exact floats.
func newPose[P, Q any](exact bool, off float64, put func([3]float32, [4]float32) (P, Q), get func(*P, *Q) ([3]float32, [4]float32)) dress {
	if !exact {
		return &poseDress[P, Q]{put: put, get: get, off: off}
	}
	return &poseDress[exactPosition, exactOrientation]{
		put: func(p [3]float32, q [4]float32) (exactPosition, exactOrientation) {
			return exactPosition{p[0], p[1], p[2]}, exactOrientation{q}
		},
		get: func(p *exactPosition, q *exactOrientation) ([3]float32, [4]float32) {
			return [3]float32{p.X, p.Y, p.Z}, q.Q
		},
	}
}

func (d *poseDress[P, Q]) replicate(p *netcode.Protocol) {
	netcode.Replicate[P](p)
	netcode.Replicate[Q](p)
}

func (d *poseDress[P, Q]) worlds(server, client *ecs.World) {
	d.server = generic.NewMap3[components.Replicated, P, Q](server)
	d.client = generic.NewMap3[components.Replicated, P, Q](client)
}

func (d *poseDress[P, Q]) spawn(n int) (list []ecs.Entity) {
	for range n {
		list = append(list, d.server.New())
	}
	return list
}

func (d *poseDress[P, Q]) write(e ecs.Entity, b *body) {
	_, p, q := d.server.Get(e)
	*p, *q = d.put(b.position, b.orientation)
}

func (d *poseDress[P, Q]) compareBody(e ecs.Entity, was *body) error {
	_, p, q := d.client.Get(e)
	return d.compare(p, q, was)
}

// compare holds decoded values against the body.
func (d *poseDress[P, Q]) compare(p *P, q *Q, was *body) error {
	at, turned := d.get(p, q)
	dot := 0.
	for i := range turned {
		dot += float64(turned[i]) * float64(was.orientation[i])
	}
	for i := range at {
		if math.Abs(float64(at[i]-was.position[i])) > d.off {
			return fmt.Errorf("position %v is %v", was.position, at)
		}
	}
	if math.Abs(dot) < 1-4e-6 {
		return fmt.Errorf("orientation %v is %v", was.orientation, turned)
	}
	return nil
}

// transformDress is position, rotation and scale in both worlds. The velocity of a body is its scale.
type transformDress[P, Q, S any] struct {
	worn[P, Q, S]
	pose      poseDress[P, Q]
	putScale  func(scale [3]float32) S
	getScale  func(s *S) [3]float32
	scaledOff float64 // the tolerance of a scale
}

func (d *transformDress[P, Q, S]) write(e ecs.Entity, b *body) {
	_, p, q, s := d.server.Get(e)
	*p, *q = d.pose.put(b.position, b.orientation)
	*s = d.putScale(b.velocity)
}

func (d *transformDress[P, Q, S]) compareBody(e ecs.Entity, was *body) error {
	_, p, q, s := d.client.Get(e)
	for i, got := range d.getScale(s) {
		if math.Abs(float64(got-was.velocity[i])) > d.scaledOff {
			return fmt.Errorf("scale %v is %v", was.velocity, *s)
		}
	}
	return d.pose.compare(p, q, was)
}

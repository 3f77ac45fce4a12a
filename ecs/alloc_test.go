package netecs_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/internal/alloctest"
	ecs "github.com/arche-netcode/netcode/internal/world"
)

// scene is n bodies of 40 bytes each: position, rotation and velocity.
func scene(t testing.TB, n int) (*pair, []ecs.Entity) {
	p := newPair(t)
	s := p.server
	var all []ecs.Entity
	for i := range n {
		e := ecs.Spawn(s.world, nil, s.rep, s.pos, s.rot, s.vel)
		*s.position(e) = position{X: float32(i % 100)}
		get[rotation](s, e, s.rot).Q = [4]float32{0, 0, 0.6, 0.8}
		all = append(all, e)
	}
	p.follow()
	return p, all
}

// move lets every k-th body move.
func move(p *pair, all []ecs.Entity, k int) {
	for i := 0; i < len(all); i += k {
		p.server.position(all[i]).X += 0.01
		if p.server.position(all[i]).X > 200 {
			p.server.position(all[i]).X = 0
		}
		q := &get[rotation](p.server, all[i], p.server.rot).Q
		q[2], q[3] = 0.999*q[2]-0.0447*q[3], 0.999*q[3]+0.0447*q[2]
		length := float32(math.Hypot(float64(q[2]), float64(q[3])))
		q[2], q[3] = q[2]/length, q[3]/length
	}
}

func TestCaptureAllocatesNothing(t *testing.T) {
	for name, k := range map[string]int{"idle": 1000, "10 percent": 10, "100 percent": 1} {
		t.Run(name, func(t *testing.T) {
			p, all := scene(t, 1000)
			run := func() {
				if k < 1000 {
					move(p, all, k)
				}
				p.tick++
				p.capture.Run(p.tick)
			}
			for range 200 {
				run()
			}
			alloctest.Zero(t, 200, run)
			require.Equal(t, k < 1000, p.store.Changed() > 0)
		})
	}
}

// churn removes an entity, makes another, and moves a third between tables.
func churn(p *pair, all []ecs.Entity, i int) {
	w, s := p.server.world, p.server
	e := &all[i*7%len(all)]
	w.RemoveEntity(*e)
	*e = ecs.Spawn(w, nil, s.rep, s.pos, s.rot, s.vel)
	get[rotation](s, *e, s.rot).Q[3] = 1
	if f := all[i*11%len(all)]; ecs.Has(w, f, s.frozen) {
		ecs.Exchange(w, f, nil, []ecs.ID{s.frozen}, nil)
	} else {
		ecs.Exchange(w, f, []ecs.ID{s.frozen}, nil, nil)
	}
	p.tick++
}

func TestChurnAllocatesNothing(t *testing.T) {
	p, all := scene(t, 300)
	var allocs *alloctest.Counter
	for i := range 1500 {
		churn(p, all, i)
		capture := func() { p.capture.Run(p.tick) }
		p.spawned, p.departed = p.spawned[:0], p.departed[:0]
		if i < 1000 {
			capture()
			p.deliver()
			p.apply.Run()
			continue
		}
		if i == 1000 {
			allocs = alloctest.Start(t)
		}
		allocs.Count(capture)
		p.deliver()
		allocs.Count(p.apply.Run)
	}
	allocs.Zero("capture and apply")
	p.same()
}

func TestApplyAllocatesNothing(t *testing.T) {
	for name, k := range map[string]int{"idle": 1000, "10 percent": 10, "100 percent": 1} {
		t.Run(name, func(t *testing.T) {
			p, all := scene(t, 1000)
			for range 200 { // the way there may allocate, only Run is measured
				if k < 1000 {
					move(p, all, k)
				}
				p.step()
			}
			before, allocs := p.apply.Stats().Rows, alloctest.Start(t)
			for range 20 {
				if k < 1000 {
					move(p, all, k)
				}
				p.send()
				allocs.Count(p.apply.Run)
			}
			allocs.Zero()
			require.Equal(t, k < 1000, p.apply.Stats().Rows > before)
			p.same()
		})
	}
}

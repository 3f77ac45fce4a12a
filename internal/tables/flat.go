package main

import "github.com/arche-netcode/netcode/snapshot"

// Discs on a plane: they are shot, strike each other and the walls, spin, and slow down until they rest.

type disc struct {
	x, y, vx, vy float64
	angle, spin  float64 // In turns, and turns per second.
	size         float64
}

type plane struct {
	random dice
	discs  []disc
	hz     float64
}

const planeWidth = 60

func newPlane(seed uint64, n int, hz float64) *plane {
	p := &plane{random: dice(seed), hz: hz}
	for i := range n {
		p.discs = append(p.discs, disc{x: float64(i%8)*7 - 25, y: float64(i/8)*7 - 25, size: p.random.between(0.5, 2)})
	}
	return p
}

func (p *plane) step(frame int) {
	if frame%int(p.hz/4) == 0 { // Four times a second a disc is struck.
		d := &p.discs[p.random.below(len(p.discs))]
		d.vx, d.vy = p.random.between(-30, 30), p.random.between(-30, 30)
		d.spin = p.random.between(-3, 3)
	}
	for i := range p.discs {
		d := &p.discs[i]
		d.x += float64(d.vx / p.hz)
		d.y += float64(d.vy / p.hz)
		d.angle += float64(d.spin / p.hz)
		slow := 1 - 0.8/p.hz
		d.vx, d.vy, d.spin = float64(d.vx*slow), float64(d.vy*slow), float64(d.spin*slow)
		if float64(d.vx*d.vx)+float64(d.vy*d.vy) < 0.04 {
			d.vx, d.vy, d.spin = 0, 0, 0
		}
		d.x, d.vx = bounced(d.x, d.vx)
		d.y, d.vy = bounced(d.y, d.vy)
		for j := range p.discs[:i] {
			collide(d, &p.discs[j])
		}
	}
}

// bounced reflects a coordinate at the walls.
func bounced(at, speed float64) (float64, float64) {
	if at > planeWidth && speed > 0 || at < -planeWidth && speed < 0 {
		return at, -float64(speed * 0.8)
	}
	return at, speed
}

// collide lets two discs, with masses proportional to their areas, bounce off each other.
func collide(a, b *disc) {
	n := vec{a.x - b.x, a.y - b.y}
	reach := a.size + b.size
	distance := n.length()
	if distance >= reach || distance == 0 {
		return
	}
	n = n.times(1 / distance)
	closing := vec{a.vx - b.vx, a.vy - b.vy}.dot(n)
	if closing >= 0 {
		return
	}
	ma, mb := float64(a.size*a.size), float64(b.size*b.size)
	push := float64(-1.7*closing) / (1/ma + 1/mb)
	slide := vec{-n[1], n[0]}.dot(vec{a.vx - b.vx, a.vy - b.vy})
	a.vx, a.vy = a.vx+float64(n[0]*push/ma), a.vy+float64(n[1]*push/ma)
	b.vx, b.vy = b.vx-float64(n[0]*push/mb), b.vy-float64(n[1]*push/mb)
	a.spin -= float64(slide * 0.05)
	b.spin -= float64(slide * 0.05)
}

const radians = 6.283185307179586 // In a turn.

// discs has place and heading in two components.
func discs(seed uint64, n, frames int, hz, scale float64, trips []int) scene {
	p, c := newPlane(seed, n, hz), cast{}
	return scene{types: types(heading{}, pair{}), frames: frames, trips: trips, play: func(s *snapshot.Store, frame int) {
		p.step(frame)
		for i, d := range p.discs {
			id := c.id(s, i)
			put(s, id, pair{float32(d.x * scale), float32(d.y * scale)})
			put(s, id, heading{float32(d.angle * radians)})
		}
	}}
}

// discsInOne has place and heading in one component.
func discsInOne(seed uint64, n, frames int, hz, scale float64, trips []int) scene {
	p, c := newPlane(seed, n, hz), cast{}
	return scene{types: types(flatBody{}), frames: frames, trips: trips, play: func(s *snapshot.Store, frame int) {
		p.step(frame)
		for i, d := range p.discs {
			put(s, c.id(s, i), flatBody{float32(d.x * scale), float32(d.y * scale), float32(d.angle * radians)})
		}
	}}
}

package main

import (
	"math"
	"math/rand/v2"
)

// drift is motion in which every body moves in every frame: a swarm that three heavy bodies on paths of their own pull
// about, spinning, with a wall that throws back. The same on every run of one build.
type drift struct {
	frame  int
	bodies []body
	moves  []move
	random *rand.Rand
}

const (
	driftBodies = 250
	driftHz     = 30
	driftFrames = 900
	driftWall   = 60.0
)

func newDrift() *drift {
	d := &drift{bodies: make([]body, driftBodies), moves: make([]move, driftBodies), random: rand.New(rand.NewPCG(3, 250))}
	for i := range d.bodies {
		b, m := &d.bodies[i], &d.moves[i]
		b.orientation = [4]float32{0, 0, 0, 1}
		axis, length := [3]float64{}, 0.0
		for k := range 3 {
			b.position[k] = float32(d.random.Float64()*80 - 40)
			m.velocity[k] = d.random.Float64()*10 - 5
			axis[k] = d.random.NormFloat64()
			length += axis[k] * axis[k]
		}
		b.position[2] = float32(d.random.Float64() * 30)
		for k := range axis {
			m.axis[k] = axis[k] / math.Sqrt(length)
		}
		m.spin = 0.6 + 2*d.random.Float64()
	}
	return d
}

func (d *drift) name() string { return "drift" }

func (d *drift) hz() int { return driftHz }

func (d *drift) next() ([]body, bool, error) {
	if d.frame == driftFrames {
		return nil, false, nil
	}
	t := float64(d.frame) / driftHz
	d.frame++
	var heavy [3][3]float64
	for h := range heavy {
		p := float64(h) * 2.1
		heavy[h] = [3]float64{30 * math.Sin(0.31*t+p), 30 * math.Sin(0.23*t+2*p), 15 + 9*math.Sin(0.17*t+3*p)}
	}
	for i := range d.bodies {
		d.move(i, &heavy)
	}
	return d.bodies, true, nil
}

// move moves one body by a frame. Bodies do not rest: what is slow is given a push.
func (d *drift) move(i int, heavy *[3][3]float64) {
	const step = 1.0 / driftHz
	b, m := &d.bodies[i], &d.moves[i]
	for _, h := range heavy {
		away, square := [3]float64{}, 4.0
		for k := range 3 {
			away[k] = h[k] - float64(b.position[k])
			square += away[k] * away[k]
		}
		for k := range 3 {
			m.velocity[k] += 150 * away[k] / (square * math.Sqrt(square)) * step
		}
	}
	speed := math.Sqrt(m.velocity[0]*m.velocity[0] + m.velocity[1]*m.velocity[1] + m.velocity[2]*m.velocity[2])
	for k, low := range [3]float64{-driftWall, -driftWall, 2} {
		if speed < 2 {
			m.velocity[k] *= 1.5
		}
		if speed > 15 {
			m.velocity[k] *= 0.9
		}
		high := -low
		if k == 2 {
			high = 29
		}
		at := float64(b.position[k])
		if at < low && m.velocity[k] < 0 || at > high && m.velocity[k] > 0 {
			m.velocity[k] *= -0.9
			m.axis[0], m.axis[1], m.axis[2] = m.axis[1], m.axis[2], m.axis[0]
		}
		b.position[k] = float32(at + m.velocity[k]*step)
		b.velocity[k] = float32(m.velocity[k])
	}
	b.orientation = turned(b.orientation, m.axis, m.spin*step)
}

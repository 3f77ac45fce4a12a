package main

import (
	"math"
	"math/rand/v2"
)

const (
	generatedBodies = 901
	generatedHz     = 60
	generatedFrames = 1800
	gravity         = 9.81 // m/s^2
)

// generated is motion that needs no recording: a field of resting bodies, and a player who runs through it and kicks
// those he meets into the air, where they tumble, bounce, slide and come to rest. The same on every run of one build.
type generated struct {
	frame  int
	frames int
	bodies []body
	moves  []move
	random *rand.Rand
}

// move is the motion of a body: velocity in m/s, spin about an axis in radians a second, awake or at rest.
type move struct {
	velocity, axis [3]float64
	spin           float64
	awake          bool
}

func newGenerated() *generated {
	g := &generated{
		frames: generatedFrames,
		bodies: make([]body, generatedBodies), moves: make([]move, generatedBodies),
		random: rand.New(rand.NewPCG(45, 901)),
	}
	side := int(math.Sqrt(generatedBodies - 1))
	for i := range g.bodies {
		g.bodies[i].orientation = [4]float32{0, 0, 0, 1}
		if i > 0 {
			x, y := float32((i-1)%side-side/2), float32((i-1)/side-side/2)
			g.bodies[i].position = [3]float32{x * 1.5, y * 1.5, 0.5}
		}
	}
	return g
}

func (g *generated) name() string { return "generated" }

func (g *generated) hz() int { return generatedHz }

func (g *generated) next() ([]body, bool, error) {
	if g.frame == g.frames {
		return nil, false, nil
	}
	t := float64(g.frame) / generatedHz
	g.frame++
	player := [3]float64{16 * math.Sin(0.61*t), 16 * math.Sin(0.43*t+1), 1}
	g.bodies[0].position = [3]float32{float32(player[0]), float32(player[1]), float32(player[2])}
	g.bodies[0].orientation = turned(g.bodies[0].orientation, [3]float64{0.6, 0.8, 0}, 2.5/generatedHz)
	for i := 1; i < len(g.bodies); i++ {
		g.meet(i, player)
		if g.moves[i].awake {
			g.fly(i)
		}
	}
	return g.bodies, true, nil
}

// meet kicks a resting body that the player runs into.
func (g *generated) meet(i int, player [3]float64) {
	b, m := &g.bodies[i], &g.moves[i]
	x, y := float64(b.position[0])-player[0], float64(b.position[1])-player[1]
	distance := math.Hypot(x, y)
	b.interacting = distance < 3
	if m.awake || distance > 1.2 || distance == 0 {
		return
	}
	force := 2 + 3*g.random.Float64()
	m.velocity = [3]float64{x / distance * force, y / distance * force, 1 + 3*g.random.Float64()}
	m.axis = [3]float64{-y / distance, x / distance, 0}
	m.spin = force / 0.5
	m.awake = true
}

// fly moves an awake body by one frame, with gravity, a floor that takes speed away, and sleep when there is none left.
func (g *generated) fly(i int) {
	const step = 1.0 / generatedHz
	b, m := &g.bodies[i], &g.moves[i]
	m.velocity[2] -= gravity * step
	for k := range m.velocity {
		b.position[k] += float32(m.velocity[k] * step)
	}
	b.orientation = turned(b.orientation, m.axis, m.spin*step)
	if b.position[2] > 0.5 {
		return
	}
	b.position[2] = 0.5
	m.velocity[2] *= -0.45
	if m.velocity[2] < 0.3 {
		m.velocity[2] = 0
	}
	m.velocity[0] *= 0.93
	m.velocity[1] *= 0.93
	m.spin *= 0.93
	m.awake = m.velocity[2] > 0 || math.Hypot(m.velocity[0], m.velocity[1]) > 0.05
}

// turned is the orientation turned by angle radians about a unit axis of the world.
func turned(q [4]float32, axis [3]float64, angle float64) [4]float32 {
	sin, w := math.Sincos(angle / 2)
	x, y, z := axis[0]*sin, axis[1]*sin, axis[2]*sin
	qx, qy, qz, qw := float64(q[0]), float64(q[1]), float64(q[2]), float64(q[3])
	r := [4]float64{
		w*qx + x*qw + y*qz - z*qy,
		w*qy - x*qz + y*qw + z*qx,
		w*qz + x*qy - y*qx + z*qw,
		w*qw - x*qx - y*qy - z*qz,
	}
	length := math.Sqrt(r[0]*r[0] + r[1]*r[1] + r[2]*r[2] + r[3]*r[3])
	for i := range r {
		q[i] = float32(r[i] / length)
	}
	return q
}

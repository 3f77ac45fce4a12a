package main

import "math"

// Rigid cubes under gravity, on a floor. They are thrown and dropped, pushed and pulled by a few steered cubes. They
// bounce, slide, roll, pile up and come to rest. Contacts are corners against the floor and against other cubes, solved
// by impulses with friction.

type cube struct {
	at, velocity, spin vec
	turn               quat
	half               float64 // Of an edge, in metres.
	axes               [3]vec
	still              int // Frames with hardly any motion; at restFrames the cube sleeps.
	near               bool
}

const (
	restFrames   = 30
	restSpeed    = 0.12
	gravity      = 9.8125
	solverRounds = 6
	penetration  = 0.01 // Metres that contacts may overlap permanently.
)

// contact is a point at which a cube touches the floor (other is -1) or another cube.
type contact struct {
	a, b         int
	point        vec
	normal       vec // From b to a.
	depth        float64
	impulse      float64
	drag         [2]float64
	bounceTarget float64
}

// rigid is a world of cubes.
type rigid struct {
	random    dice
	cubes     []cube
	steered   int // The number of steered cubes: the first of the list.
	goals     []vec
	pull      bool // Steered cubes also pull others towards them.
	bounce    float64
	friction  float64
	width     float64 // Of the square with the goals.
	throwEach int     // Frames between two throws; 0: no throws.
	hz        float64
	frame     int
	contacts  []contact
}

func newRigid(seed uint64, n, steered int, width, hz float64) *rigid {
	r := &rigid{random: dice(seed), steered: steered, width: width, hz: hz, bounce: 0.3, friction: 0.6}
	side := int(math.Floor(math.Sqrt(float64(n)))) + 1
	for i := range n {
		gap := width / float64(side)
		c := cube{turn: quat{0, 0, 0, 1}, half: 0.2, still: restFrames}
		if i < steered {
			c.half = 0.75
			c.still = 0
		}
		c.at = vec{(float64(i%side) - float64(side)/2) * gap, (float64(i/side) - float64(side)/2) * gap, c.half}
		c.axes = c.turn.axes()
		r.cubes = append(r.cubes, c)
	}
	r.goals = make([]vec, steered)
	return r
}

// step advances the world by one frame, in two halves.
func (r *rigid) step() {
	for i := range r.steered {
		if r.frame%int(r.hz*1.5) == i*7 {
			r.goals[i] = vec{r.random.between(-r.width/2, r.width/2), r.random.between(-r.width/2, r.width/2), 0}
		}
	}
	if r.throwEach > 0 && r.frame%r.throwEach == 0 {
		r.throw(r.steered + r.random.below(len(r.cubes)-r.steered))
	}
	const parts = 2
	for range parts {
		r.advance(1 / (r.hz * parts))
	}
	for i := range r.cubes {
		r.settle(&r.cubes[i], i)
	}
	r.frame++
}

// throw puts a cube into the air with speed and spin.
func (r *rigid) throw(i int) {
	c := &r.cubes[i]
	w := r.width / 3
	c.at = vec{r.random.between(-w, w), r.random.between(-w, w), r.random.between(1, 6)}
	c.velocity = vec{r.random.between(-6, 6), r.random.between(-6, 6), r.random.between(-2, 7)}
	c.spin = vec{r.random.between(-9, 9), r.random.between(-9, 9), r.random.between(-9, 9)}
	c.still = 0
}

// settle puts a cube to sleep that has hardly moved for a while.
func (r *rigid) settle(c *cube, i int) {
	if c.velocity.dot(c.velocity)+float64(c.spin.dot(c.spin)*0.05) > restSpeed*restSpeed || i < r.steered {
		c.still = 0
		return
	}
	if c.still++; c.still >= restFrames {
		c.velocity, c.spin = vec{}, vec{}
	}
}

func (r *rigid) advance(seconds float64) {
	for i := range r.cubes {
		c := &r.cubes[i]
		c.near = false
		if c.still >= restFrames {
			continue
		}
		c.velocity[2] -= float64(gravity * seconds)
	}
	r.steer(seconds)
	r.touch()
	for i := range r.contacts {
		k := &r.contacts[i]
		if speed := r.closing(k); speed < -1 {
			k.bounceTarget = -float64(r.bounce * speed)
		}
		k.bounceTarget += float64(max(k.depth-penetration, 0) * 8)
	}
	for range solverRounds {
		for i := range r.contacts {
			r.solve(&r.contacts[i])
		}
	}
	for i := range r.cubes {
		c := &r.cubes[i]
		if c.still >= restFrames {
			continue
		}
		c.velocity, c.spin = c.velocity.times(0.9995), c.spin.times(0.999)
		c.at = c.at.add(c.velocity.times(seconds))
		c.turn = c.turn.spun(c.spin, seconds)
		c.axes = c.turn.axes()
	}
}

// steer drives the steered cubes towards their goals, and pulls cubes towards them.
func (r *rigid) steer(seconds float64) {
	for i := range r.steered {
		c := &r.cubes[i]
		way := r.goals[i].sub(c.at)
		way[2] = 0
		speed := way.length()
		if speed > 0.5 {
			c.velocity = c.velocity.add(way.times(20 * seconds / speed))
		}
		flat := vec{c.velocity[0], c.velocity[1], 0}
		if fast := flat.length(); fast > 7 {
			c.velocity = c.velocity.sub(flat.times((fast - 7) / fast))
		}
		for j := r.steered; j < len(r.cubes); j++ {
			o := &r.cubes[j]
			way := c.at.sub(o.at)
			if square := way.dot(way); square < 6 {
				o.near = true
				if r.pull && square > 1 && (r.frame/int(2*r.hz))%2 == 0 {
					o.velocity = o.velocity.add(way.times(12 * seconds))
					o.still = 0
				}
			}
		}
	}
}

// touch finds the contacts.
func (r *rigid) touch() {
	r.contacts = r.contacts[:0]
	for i := range r.cubes {
		a := &r.cubes[i]
		if a.still < restFrames {
			for _, p := range a.corners() {
				if p[2] < penetration {
					r.contacts = append(r.contacts, contact{a: i, b: -1, point: p, normal: vec{0, 0, 1}, depth: -p[2]})
				}
			}
		}
		for j := range r.cubes[:i] {
			b := &r.cubes[j]
			reach := float64((a.half + b.half) * 1.7320508)
			apart := a.at.sub(b.at)
			if a.still >= restFrames && b.still >= restFrames || apart.dot(apart) > float64(reach*reach) {
				continue
			}
			r.pierce(i, j)
			r.pierce(j, i)
		}
	}
}

// pierce finds corners of cube i within cube j.
func (r *rigid) pierce(i, j int) {
	a, b := &r.cubes[i], &r.cubes[j]
	for _, p := range a.corners() {
		d := p.sub(b.at)
		depth, axis, side := b.half, -1, 1.0
		for k := range b.axes {
			along := d.dot(b.axes[k])
			over := b.half - math.Abs(along)
			if over < 0 {
				axis = -1
				break
			}
			if over <= depth {
				depth, axis, side = over, k, 1
				if along < 0 {
					side = -1
				}
			}
		}
		if axis < 0 {
			continue
		}
		r.contacts = append(r.contacts, contact{a: i, b: j, point: p, normal: b.axes[axis].times(side), depth: depth})
		for _, c := range []*cube{a, b} {
			if c.still >= restFrames && (a.velocity.dot(a.velocity) > 0.1 || b.velocity.dot(b.velocity) > 0.1) {
				c.still = 0
			}
		}
	}
}

func (c *cube) corners() (list [8]vec) {
	for i := range list {
		p := c.at
		for k := range c.axes {
			if i>>k&1 != 0 {
				p = p.add(c.axes[k].times(c.half))
			} else {
				p = p.sub(c.axes[k].times(c.half))
			}
		}
		list[i] = p
	}
	return list
}

// pointVelocity returns a cube's velocity at a contact, zero for the floor.
func (r *rigid) pointVelocity(i int, p vec) vec {
	if i < 0 {
		return vec{}
	}
	c := &r.cubes[i]
	return c.velocity.add(c.spin.cross(p.sub(c.at)))
}

// closing returns the speed at which the two sides of a contact separate.
func (r *rigid) closing(k *contact) float64 {
	return r.pointVelocity(k.a, k.point).sub(r.pointVelocity(k.b, k.point)).dot(k.normal)
}

// mass returns the mass of a cube of unit density, and its moment of inertia.
func (c *cube) mass() (mass, inertia float64) {
	mass = float64(float64(c.half*c.half)*c.half) * 125
	return mass, float64(float64(mass*c.half)*c.half) * (2.0 / 3)
}

// give returns the change of the separation speed of a contact by a unit impulse along a direction.
func (r *rigid) give(k *contact, direction vec) float64 {
	sum := 0.0
	for _, i := range [2]int{k.a, k.b} {
		if i < 0 || r.cubes[i].still >= restFrames {
			continue
		}
		c := &r.cubes[i]
		mass, inertia := c.mass()
		arm := k.point.sub(c.at).cross(direction)
		sum += 1/mass + arm.dot(arm)/inertia
	}
	return sum
}

// push applies an impulse to both sides of a contact.
func (r *rigid) push(k *contact, impulse vec) {
	for n, i := range [2]int{k.a, k.b} {
		if i < 0 || r.cubes[i].still >= restFrames {
			continue
		}
		c := &r.cubes[i]
		mass, inertia := c.mass()
		p := impulse
		if n == 1 {
			p = p.times(-1)
		}
		c.velocity = c.velocity.add(p.times(1 / mass))
		c.spin = c.spin.add(k.point.sub(c.at).cross(p).times(1 / inertia))
	}
}

// solve separates one contact, with friction.
func (r *rigid) solve(k *contact) {
	give := r.give(k, k.normal)
	if give == 0 {
		return
	}
	was := k.impulse
	k.impulse = max(was+(k.bounceTarget-r.closing(k))/give, 0)
	r.push(k, k.normal.times(k.impulse-was))
	side := vec{1, 0, 0}
	if math.Abs(k.normal[0]) > 0.7 {
		side = vec{0, 1, 0}
	}
	side = k.normal.cross(side)
	side = side.times(1 / side.length())
	for n, direction := range [2]vec{side, k.normal.cross(side)} {
		speed := r.pointVelocity(k.a, k.point).sub(r.pointVelocity(k.b, k.point)).dot(direction)
		was, most := k.drag[n], float64(r.friction*k.impulse)
		k.drag[n] = min(max(was-speed/r.give(k, direction), -most), most)
		r.push(k, direction.times(k.drag[n]-was))
	}
}

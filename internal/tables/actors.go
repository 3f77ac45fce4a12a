package main

import "github.com/arche-netcode/netcode/snapshot"

// Characters, vehicles, machines and shots: things that move by rules of a game rather than of physics.

// person walks to places, stops, looks about, fights and respawns.
type person struct {
	at, speed   vec
	goal        vec
	yaw, wanted float64 // In turns.
	pitch       float64
	rest        int // Frames to stand still.
	health      int
	armour      int
	ammo        int
	state       posture
	score       tally
	heat        float64
}

// people moves characters on a hilly ground.
func people(seed uint64, n, frames int, hz float64, trips []int) scene {
	random, c := dice(seed), cast{}
	list := make([]person, n)
	for i := range list {
		list[i] = person{at: vec{random.between(-90, 90), random.between(-90, 90), 0}, health: 100, armour: 50, ammo: 30}
	}
	return scene{types: types(look{}, place{}, posture{}, stick{}, tally{}, vitals{}, load{}), frames: frames, trips: trips, play: func(s *snapshot.Store, frame int) {
		for i := range list {
			p, id := &list[i], c.id(s, i)
			p.walk(&random, hz)
			p.fight(&random, hz, frame)
			x, y, z := single(p.at, 1)
			put(s, id, place{x, y, z})
			put(s, id, look{float32(p.yaw * radians), float32(p.pitch)})
			put(s, id, vitals{uint8(p.health), uint8(p.armour), uint16(p.ammo)})
			put(s, id, p.state)
			put(s, id, stick{float32(p.speed[0] / 8), float32(p.speed[1] / 8)})
			put(s, id, p.score)
			put(s, id, load{float32(p.ammo) * 0.25, float32(p.heat)})
		}
	}}
}

func (p *person) walk(random *dice, hz float64) {
	want := vec{}
	switch way := p.goal.sub(p.at); {
	case p.rest > 0:
		p.rest--
		if p.rest%int(hz/2) == 0 {
			p.wanted = p.yaw + random.between(-0.2, 0.2)
		}
	case float64(way[0]*way[0])+float64(way[1]*way[1]) < 1:
		p.goal = vec{random.between(-90, 90), random.between(-90, 90), 0}
		p.rest = random.below(int(3 * hz))
		p.state.Running = random.below(3) == 0
		p.state.Crouched = random.below(5) == 0
	default:
		way[2] = 0
		pace := 3.0
		if p.state.Running {
			pace = 6
		}
		want = way.times(pace / way.length())
		p.wanted = direction(want)
	}
	gain := min(8/hz, 1)
	change := vec{want[0] - p.speed[0], want[1] - p.speed[1], 0}
	p.speed = p.speed.add(change.times(gain))
	if p.speed.dot(p.speed) < 0.001 {
		p.speed = vec{}
	}
	p.at = p.at.add(p.speed.times(1 / hz))
	p.at[2] = 4 + float64(2*sine(p.at[0]/60)) + float64(2*sine(p.at[1]/45))
	turn := p.wanted - p.yaw
	for turn > 0.5 {
		turn--
	}
	for turn < -0.5 {
		turn++
	}
	p.yaw += min(max(turn, -0.8/hz), 0.8/hz)
}

// direction returns the heading of a vector in turns, to about a hundredth. It inverts sine by bisection.
func direction(v vec) float64 {
	low, high := -0.25, 0.25 // Of the half plane to the right.
	x, y := v[0], v[1]
	half := 0.0
	if x < 0 {
		x, y, half = -x, -y, 0.5
	}
	for range 20 {
		mid := (low + high) / 2
		if float64(sine(mid)*x) < float64(cosine(mid)*y) {
			low = mid
		} else {
			high = mid
		}
	}
	return low + half
}

func (p *person) fight(random *dice, hz float64, frame int) {
	if random.below(int(2*hz)) == 0 {
		p.state.Firing = !p.state.Firing
		p.state.Aiming = p.state.Firing || random.below(2) == 0
	}
	if random.below(int(9*hz)) == 0 {
		p.state.Weapon = uint8(random.below(12))
	}
	if p.state.Aiming {
		p.pitch = min(max(p.pitch+random.between(-0.03, 0.03), -1.2), 1.2)
	}
	switch {
	case p.state.Firing && p.ammo > 0 && frame%6 == 0:
		p.ammo--
		p.heat += 1.5
		p.score.Score += int32(random.below(20)) * 5
	case p.ammo == 0:
		p.ammo = 30
	}
	p.heat = float64(p.heat * (1 - 0.5/hz))
	if random.below(int(3*hz)) == 0 {
		hit := 1 + random.below(40)
		p.health -= hit
		p.armour = max(p.armour-hit/2, 0)
	}
	if p.health <= 0 {
		p.health, p.armour = 100, 50
		p.score.Kills++
		p.score.Lives = int8(random.below(9))
	}
	if frame%int(hz) == 0 {
		p.score.Left++
		p.health = min(p.health+1, 100)
	}
	p.score.Alive = p.health > 5
}

// traffic drives vehicles along curved roads, with speed and steering.
func traffic(seed uint64, n, frames int, hz float64, trips []int) scene {
	type vehicle struct {
		at                       vec
		yaw, speed, wheel        float64
		wantedSpeed, wantedWheel float64
		until                    int
	}
	random, c := dice(seed), cast{}
	list := make([]vehicle, n)
	for i := range list {
		list[i] = vehicle{at: vec{random.between(-900, 900), random.between(-900, 900), 5}, yaw: random.unit()}
	}
	return scene{types: types(car{}, touched{}), frames: frames, trips: trips, play: func(s *snapshot.Store, frame int) {
		for i := range list {
			v, id := &list[i], c.id(s, i)
			if v.until--; v.until <= 0 {
				v.until = int(hz/2) + random.below(int(3*hz))
				v.wantedSpeed, v.wantedWheel = random.between(0, 40), random.between(-0.6, 0.6)
				if random.below(4) == 0 {
					v.wantedSpeed = 0
				}
			}
			v.speed += min(max(v.wantedSpeed-v.speed, -12/hz), 6/hz)
			v.wheel += min(max(v.wantedWheel-v.wheel, -1/hz), 1/hz)
			v.yaw += float64(v.speed*v.wheel) / float64(60*hz)
			v.at[0] += float64(v.speed*cosine(v.yaw)) / hz
			v.at[1] += float64(v.speed*sine(v.yaw)) / hz
			v.at[2] = 20 + float64(8*sine(v.at[0]/300)) + float64(0.02*sine(v.at[1]/7))
			x, y, z := single(v.at, 1)
			put(s, id, car{x, y, z, float32(v.yaw * radians), float32(v.speed), float32(v.wheel)})
			put(s, id, touched{v.wantedSpeed < v.speed})
		}
	}}
}

// machines circle, swing, rise and sink, and rest at times.
func machines(seed uint64, n, frames int, hz float64, trips []int) scene {
	random, c := dice(seed), cast{}
	phase, period, wide := make([]float64, n), make([]float64, n), make([]float64, n)
	for i := range n {
		phase[i], period[i], wide[i] = random.unit(), random.between(1, 9), random.between(0.5, 40)
	}
	return scene{types: types(exactPlace{}, flatBody{}, lift{}, turning{}), frames: frames, trips: trips, play: func(s *snapshot.Store, frame int) {
		for i := range n {
			if (frame/int(2*hz)+i)%3 == 0 && frame > 0 {
				continue // It rests for two seconds.
			}
			id := c.id(s, i)
			phase[i] += 1 / float64(period[i]*hz)
			up, over := sine(phase[i]), cosine(phase[i])
			put(s, id, flatBody{float32(wide[i] * over), float32(wide[i] * up), float32(phase[i] * radians)})
			put(s, id, lift{float32(32 + float64(wide[i]*up*0.5))})
			put(s, id, exactPlace{float32(wide[i] * up), 1.5, float32(over)})
			swing := float64(0.1 * up)
			put(s, id, turning{[4]float32{float32(sine(swing)), 0, 0, float32(cosine(swing))}})
		}
	}}
}

// shots fly straight or fall, and despawn when they hit.
func shots(seed uint64, n, frames int, hz float64, trips []int) scene {
	type shot struct {
		at, speed vec
		falls     bool
		left      int
	}
	random, c := dice(seed), cast{}
	list := make([]shot, n)
	return scene{types: types(pair{}, lift{}), frames: frames, trips: trips, play: func(s *snapshot.Store, frame int) {
		for i := range list {
			b := &list[i]
			if b.left--; b.left <= 0 {
				c.replace(s, i)
				yaw, pace := random.unit(), random.between(5, 120)
				*b = shot{at: vec{random.between(-60, 60), random.between(-60, 60), 2}, falls: random.below(2) == 0}
				b.speed = vec{float64(pace * cosine(yaw)), float64(pace * sine(yaw)), random.between(0, 12)}
				b.left = int(hz/4) + random.below(int(3*hz))
			}
			if b.falls {
				b.speed[2] -= gravity / hz
			} else {
				b.speed[2] = 0
			}
			b.at = b.at.add(b.speed.times(1 / hz))
			id := c.id(s, i)
			put(s, id, pair{float32(b.at[0]), float32(b.at[1])})
			put(s, id, lift{float32(b.at[2])})
		}
	}}
}

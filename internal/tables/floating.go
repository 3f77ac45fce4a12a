package main

import "github.com/arche-netcode/netcode/snapshot"

// Things without gravity: rocks that drift, spin and strike each other, and drones that steer where they like.

// rock is a ball that strives for a speed of its own.
type rock struct {
	at, velocity, spin vec
	turn               quat
	size, speed        float64
}

type rocks struct {
	random dice
	list   []rock
	reach  float64 // Of the room they are in, a ball.
	hz     float64
}

func newRocks(seed uint64, n int, reach, hz float64) *rocks {
	r := &rocks{random: dice(seed), reach: reach, hz: hz}
	for range n {
		one := rock{at: r.direction().times(r.random.between(0, reach*0.9)), size: r.random.between(0.4, 1.6), speed: r.random.between(0.5, 6), turn: quat{0, 0, 0, 1}}
		one.velocity, one.spin = r.direction().times(one.speed), r.direction().times(r.random.between(0, 1.5))
		r.list = append(r.list, one)
	}
	return r
}

// direction returns a vector of length 1.
func (r *rocks) direction() vec {
	for {
		v := vec{r.random.between(-1, 1), r.random.between(-1, 1), r.random.between(-1, 1)}
		if square := v.dot(v); square > 0.01 && square < 1 {
			return v.times(1 / v.length())
		}
	}
}

func (r *rocks) step() {
	for i := range r.list {
		b := &r.list[i]
		b.at = b.at.add(b.velocity.times(1 / r.hz))
		b.turn = b.turn.spun(b.spin, 1/r.hz)
		if fast := b.velocity.length(); fast > 0 {
			b.velocity = b.velocity.times(1 + (b.speed-fast)/float64(fast*r.hz*1.5))
		}
		if far := b.at.length(); far > r.reach && b.velocity.dot(b.at) > 0 {
			b.strike(b.at.times(-1/far), vec{}, 2)
		}
		for j := range r.list[:i] {
			o := &r.list[j]
			way := b.at.sub(o.at)
			if far := way.length(); far < b.size+o.size && far > 0 {
				if closing := b.velocity.sub(o.velocity).dot(way); closing < 0 {
					was := b.velocity
					b.strike(way.times(1/far), o.velocity, 1)
					o.strike(way.times(-1/far), was, 1)
				}
			}
		}
	}
}

// strike is a hit from a direction, by what has a velocity. Some of its sliding turns into spin.
func (b *rock) strike(from, other vec, share float64) {
	into := b.velocity.sub(other)
	along := from.times(into.dot(from))
	slide := into.sub(along)
	b.velocity = b.velocity.sub(along.times(share)).sub(slide.times(0.15 * share))
	b.spin = b.spin.add(from.cross(slide).times(0.15 * share / b.size))
	if fast := b.spin.length(); fast > 2.5 {
		b.spin = b.spin.times(2.5 / fast)
	}
}

// drifting has rocks as two components.
func drifting(r *rocks, frames int, trips []int) scene {
	var c cast
	return scene{types: types(drift{}, roll{}), frames: frames, trips: trips, floats: true, play: func(s *snapshot.Store, _ int) {
		r.step()
		for i := range r.list {
			b, id := &r.list[i], c.id(s, i)
			x, y, z := single(b.at, 1)
			put(s, id, drift{x, y, z})
			put(s, id, roll{b.turn.single()})
		}
	}}
}

// exactRocks has rocks as floats. With places those of their places count.
func exactRocks(r *rocks, places bool, frames int, trips []int) scene {
	var c cast
	return scene{types: types(exactPlace{}, exactTurn{}), frames: frames, trips: trips, floats: true, exact: places, play: func(s *snapshot.Store, _ int) {
		r.step()
		for i := range r.list {
			b, id := &r.list[i], c.id(s, i)
			x, y, z := single(b.at, 1)
			put(s, id, exactPlace{x, y, z})
			put(s, id, exactTurn{b.turn.single()})
		}
	}}
}

// drones fly at a speed, and turn towards a heading that they change now and then. They look where they fly.
func drones(seed uint64, n, frames int, hz float64, exact bool, trips []int) scene {
	r := newRocks(seed, n, 100, hz)
	wish := make([]vec, n)
	for i := range r.list {
		wish[i] = r.list[i].velocity
	}
	var c cast
	shown := types(place{}, turning{})
	if exact {
		shown = types(exactPlace{}, exactTurn{})
	}
	return scene{types: shown, frames: frames, trips: trips, floats: true, play: func(s *snapshot.Store, _ int) {
		for i := range r.list {
			b, id := &r.list[i], c.id(s, i)
			if r.random.below(int(hz)) == 0 {
				wish[i] = r.direction().times(b.speed)
			}
			b.velocity = b.velocity.add(wish[i].sub(b.velocity).times(1.5 / hz))
			b.at = b.at.add(b.velocity.times(1 / hz))
			b.turn = facing(b.velocity)
			x, y, z := single(b.at, 1)
			if exact {
				put(s, id, exactPlace{x, y, z})
				put(s, id, exactTurn{b.turn.single()})
			} else {
				put(s, id, place{x, y, z})
				put(s, id, turning{b.turn.single()})
			}
		}
	}}
}

// facing returns the shortest turn from the z axis to a direction.
func facing(v vec) quat {
	long := v.length()
	if long == 0 {
		return quat{0, 0, 0, 1}
	}
	v = v.times(1 / long)
	half := vec{0, 0, 1}.add(v) // Its direction is halfway.
	if long = half.length(); long < 0.001 {
		return quat{1, 0, 0, 0}
	}
	half = half.times(1 / long)
	axis := vec{0, 0, 1}.cross(half)
	return quat{axis[0], axis[1], axis[2], half[2]}
}

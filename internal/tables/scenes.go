package main

import "github.com/arche-netcode/netcode/snapshot"

// scenes lists the motion that the shipped tables are trained on. docs/recording.md describes it.
func scenes() []scene {
	near, middle, far := []int{1, 3, 6, 9, 14}, []int{1, 2, 6, 10, 20}, []int{1, 2, 4, 7}
	return []scene{
		cubesInParts(newRigid(1, 300, 2, 40, 60), 1, 1200, near),
		cubesInParts(pulling(newRigid(2, 260, 1, 30, 60)), 1, 1200, middle),
		cubesInParts(throwing(newRigid(3, 90, 1, 16, 60), 20), 0.5, 700, near),
		cubesInOne(throwing(newRigid(4, 80, 2, 12, 30), 10), 1, 500, far),
		cubesInOne(pulling(newRigid(5, 150, 2, 24, 60)), 0.25, 500, middle),
		cubesInParts(throwing(newRigid(6, 60, 0, 6, 20), 12), 4, 400, far),
		exactCubes(pulling(newRigid(7, 260, 1, 30, 60)), 700, near),
		exactCubes(throwing(newRigid(8, 60, 1, 10, 30), 12), 300, far),
		discs(11, 60, 400, 60, 1, near),
		discs(12, 40, 400, 30, 0.25, far),
		discsInOne(13, 60, 400, 60, 1, middle),
		people(21, 40, 900, 60, middle),
		people(22, 40, 500, 20, far),
		traffic(31, 40, 600, 30, far),
		traffic(32, 30, 600, 60, middle),
		machines(41, 30, 600, 60, middle),
		machines(42, 30, 400, 20, far),
		shots(51, 60, 600, 60, near),
		shots(52, 40, 400, 30, far),
		drifting(newRocks(61, 190, 20, 30), 500, []int{1, 3, 4, 9}),
		drifting(newRocks(62, 100, 12, 60), 500, near),
		exactRocks(newRocks(63, 120, 16, 30), false, 500, []int{1, 3, 4, 9}),
		exactRocks(newRocks(64, 60, 12, 30), true, 200, []int{1, 3, 4, 9}),
		drones(71, 120, 400, 20, false, far),
		drones(72, 100, 300, 30, true, far),
	}
}

func pulling(r *rigid) *rigid {
	r.pull = true
	return r
}

func throwing(r *rigid, each int) *rigid {
	r.throwEach = each
	return r
}

func single(v vec, scale float64) (x, y, z float32) {
	return float32(v[0] * scale), float32(v[1] * scale), float32(v[2] * scale)
}

func (q quat) single() [4]float32 {
	return [4]float32{float32(q[0]), float32(q[1]), float32(q[2]), float32(q[3])}
}

// cubesInParts has cubes as three components. scale makes the quantisation coarser or finer.
func cubesInParts(r *rigid, scale float64, frames int, trips []int) scene {
	var c cast
	return scene{types: types(touched{}, turning{}, place{}), frames: frames, trips: trips, play: func(s *snapshot.Store, _ int) {
		r.step()
		for i := range r.cubes {
			b, id := &r.cubes[i], c.id(s, i)
			x, y, z := single(b.at, scale)
			put(s, id, place{x, y, z})
			put(s, id, turning{b.turn.single()})
			put(s, id, touched{b.near})
		}
	}}
}

// cubesInOne has cubes as one component.
func cubesInOne(r *rigid, scale float64, frames int, trips []int) scene {
	var c cast
	return scene{types: types(body{}), frames: frames, trips: trips, play: func(s *snapshot.Store, _ int) {
		r.step()
		for i := range r.cubes {
			x, y, z := single(r.cubes[i].at, scale)
			put(s, c.id(s, i), body{x, y, z, r.cubes[i].turn.single()})
		}
	}}
}

// exactCubes has cubes as lossless floats.
func exactCubes(r *rigid, frames int, trips []int) scene {
	var c cast
	return scene{types: types(exactTurn{}, exactPlace{}, exactSpeed{}), frames: frames, trips: trips, play: func(s *snapshot.Store, _ int) {
		r.step()
		for i := range r.cubes {
			b, id := &r.cubes[i], c.id(s, i)
			x, y, z := single(b.at, 1)
			put(s, id, exactPlace{x, y, z})
			x, y, z = single(b.velocity, 1)
			put(s, id, exactSpeed{x, y, z})
			put(s, id, exactTurn{b.turn.single()})
		}
	}}
}

package main

// Components of invented games: the same motion in coarser and finer steps, in one component or in several.

type (
	place struct {
		X, Y, Z float32 `net:"min=-512,max=512,step=0.002"`
	}
	turning struct {
		Q [4]float32 `net:"quat,bits=9"`
	}
	touched struct{ On bool }

	body struct { // Everything in one component.
		X, Y, Z float32    `net:"min=-512,max=512,step=0.001"`
		Q       [4]float32 `net:"quat,bits=11"`
	}
	drift struct {
		X, Y, Z float32 `net:"min=-64,max=64,step=0.01"`
	}
	roll struct {
		Q [4]float32 `net:"quat,bits=11"`
	}
	pair struct {
		X, Y float32 `net:"min=-400,max=400,step=0.01"`
	}
	heading struct {
		A float32 `net:"angle,bits=10"`
	}
	flatBody struct {
		X, Y float32 `net:"min=-400,max=400,step=0.004"`
		A    float32 `net:"angle,bits=12"`
	}
	solid struct { // 1 + 4 + 2 lanes in groups of four and three.
		X, Y, Z float32 `net:"min=-512,max=512,step=0.0078125"`
		Q       [4]float32
	}
	exactPlace struct{ X, Y, Z float32 }
	exactTurn  struct{ Q [4]float32 }
	exactSpeed struct{ X, Y, Z float32 }

	look struct {
		Yaw   float32 `net:"angle,bits=12"`
		Pitch float32 `net:"min=-1.6,max=1.6,step=0.01"`
	}
	vitals struct {
		Health uint8 `net:"min=0,max=100"`
		Armour uint8
		Ammo   uint16
	}
	posture struct {
		Crouched, Running, Firing, Aiming bool
		Weapon                            uint8 `net:"min=0,max=11"`
	}
	stick struct {
		X, Y float32 `net:"axis"`
	}
	load struct {
		Weight float32 `net:"half"`
		Heat   float32 `net:"half"`
	}
	tally struct {
		Score int32
		Left  uint16
		Kills uint8
		Team  uint8 `net:"min=0,max=3"`
		Alive bool
		Lives int8 `net:"min=0,max=9"`
	}
	car struct {
		X, Y, Z float32 `net:"min=-2048,max=2048,step=0.01"`
		Yaw     float32 `net:"angle,bits=14"`
		Speed   float32 `net:"min=-20,max=90,step=0.1"`
		Wheel   float32 `net:"axis"`
	}
	lift struct {
		H float32 `net:"min=0,max=64,step=0.005"`
	}
	everything struct { // Every class of lane.
		Place place
		Q     [4]float32 `net:"quat,bits=9"`
		A     float32    `net:"angle,bits=10"`
		Exact float32
		N     uint16
		X, Y  uint8
	}
)

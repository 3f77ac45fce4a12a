package components

import (
	"math"

	"github.com/arche-netcode/netcode/wire"
)

// The types in this file are data without arithmetic: convert the vectors of a game's library to them, or use them directly. They
// have no padding and no pointers. Each can be a replicated component, a field of one with its own net tag, or part of a message.
//
// In messages every number is a finite float32 of 4 bytes. Writing NaN or infinity is wire.ErrNotFinite, reading it is
// wire.ErrMalformed, so that one client cannot break the physics of others. In components the plan enforces the same.

// Color is a colour of four floats, usually 0 to 1; larger values are brighter than white. 16 bytes in a message.
type Color struct {
	R, G, B, A float32 // red, green, blue and opacity, finite
}

// Serialize reads, writes and measures c.
func (c *Color) Serialize(s *wire.Serializer) {
	s.FiniteFloat32(&c.R)
	s.FiniteFloat32(&c.G)
	s.FiniteFloat32(&c.B)
	s.FiniteFloat32(&c.A)
}

// Color32 is a colour of four bytes, 0 to 255. 4 bytes in a message.
type Color32 struct {
	R, G, B, A uint8 // red, green, blue and opacity
}

// Serialize reads, writes and measures c.
func (c *Color32) Serialize(s *wire.Serializer) {
	s.Uint8(&c.R)
	s.Uint8(&c.G)
	s.Uint8(&c.B)
	s.Uint8(&c.A)
}

// Vector2 is a point or direction in the plane, in the game's unit. 8 bytes in a message.
type Vector2 struct {
	X, Y float32 // finite, in the game's unit
}

// Serialize reads, writes and measures v.
func (v *Vector2) Serialize(s *wire.Serializer) {
	s.FiniteFloat32(&v.X)
	s.FiniteFloat32(&v.Y)
}

// SerializeQuantised is Serialize with each number within low and high in steps of at most step: see
// wire.Serializer.Quantised.
func (v *Vector2) SerializeQuantised(s *wire.Serializer, low, high, step float64) {
	s.Quantised(&v.X, low, high, step)
	s.Quantised(&v.Y, low, high, step)
}

// SerializePacked is Serialize with each number as a packed integer of steps, small for small numbers: see
// wire.Serializer.PackedFloat.
func (v *Vector2) SerializePacked(s *wire.Serializer, step float64) {
	s.PackedFloat(&v.X, step)
	s.PackedFloat(&v.Y, step)
}

// SerializeHalf is Serialize with each number as a half of 2 bytes, up to wire.MaxFloat16.
func (v *Vector2) SerializeHalf(s *wire.Serializer) {
	s.Half(&v.X)
	s.Half(&v.Y)
}

// Vector3 is a point or direction in space, in the game's unit. 12 bytes in a message.
type Vector3 struct {
	X, Y, Z float32 // finite, in the game's unit
}

// Serialize reads, writes and measures v.
func (v *Vector3) Serialize(s *wire.Serializer) {
	s.FiniteFloat32(&v.X)
	s.FiniteFloat32(&v.Y)
	s.FiniteFloat32(&v.Z)
}

// SerializeQuantised is Serialize with each number within low and high in steps of at most step: see
// wire.Serializer.Quantised.
func (v *Vector3) SerializeQuantised(s *wire.Serializer, low, high, step float64) {
	s.Quantised(&v.X, low, high, step)
	s.Quantised(&v.Y, low, high, step)
	s.Quantised(&v.Z, low, high, step)
}

// SerializePacked is Serialize with each number as a packed integer of steps, small for small numbers: see
// wire.Serializer.PackedFloat.
func (v *Vector3) SerializePacked(s *wire.Serializer, step float64) {
	s.PackedFloat(&v.X, step)
	s.PackedFloat(&v.Y, step)
	s.PackedFloat(&v.Z, step)
}

// SerializeHalf is Serialize with each number as a half of 2 bytes, up to wire.MaxFloat16.
func (v *Vector3) SerializeHalf(s *wire.Serializer) {
	s.Half(&v.X)
	s.Half(&v.Y)
	s.Half(&v.Z)
}

// Vector4 is four related numbers. 16 bytes in a message.
type Vector4 struct {
	X, Y, Z, W float32 // finite, in the game's unit
}

// Serialize reads, writes and measures v.
func (v *Vector4) Serialize(s *wire.Serializer) {
	s.FiniteFloat32(&v.X)
	s.FiniteFloat32(&v.Y)
	s.FiniteFloat32(&v.Z)
	s.FiniteFloat32(&v.W)
}

// SerializeQuantised is Serialize with each number within low and high in steps of at most step: see
// wire.Serializer.Quantised.
func (v *Vector4) SerializeQuantised(s *wire.Serializer, low, high, step float64) {
	s.Quantised(&v.X, low, high, step)
	s.Quantised(&v.Y, low, high, step)
	s.Quantised(&v.Z, low, high, step)
	s.Quantised(&v.W, low, high, step)
}

// SerializePacked is Serialize with each number as a packed integer of steps, small for small numbers: see
// wire.Serializer.PackedFloat.
func (v *Vector4) SerializePacked(s *wire.Serializer, step float64) {
	s.PackedFloat(&v.X, step)
	s.PackedFloat(&v.Y, step)
	s.PackedFloat(&v.Z, step)
	s.PackedFloat(&v.W, step)
}

// SerializeHalf is Serialize with each number as a half of 2 bytes, up to wire.MaxFloat16.
func (v *Vector4) SerializeHalf(s *wire.Serializer) {
	s.Half(&v.X)
	s.Half(&v.Y)
	s.Half(&v.Z)
	s.Half(&v.W)
}

// Quaternion is a rotation, of length 1. The zero value is invalid. 16 bytes in a message; a component's field with
// net:"quat,bits=9" takes 29 bits.
type Quaternion struct {
	X, Y, Z, W float32 // W is the real part
}

// Serialize reads, writes and measures q.
func (q *Quaternion) Serialize(s *wire.Serializer) {
	s.FiniteFloat32(&q.X)
	s.FiniteFloat32(&q.Y)
	s.FiniteFloat32(&q.Z)
	s.FiniteFloat32(&q.W)
}

// SerializeQuantised is Serialize for a rotation that needs no more than this step: a byte tells which number has the largest
// magnitude, and the three others follow in steps of at most step, 4 bytes in all from a step of 0.0056 on, 7 from 0.0000216 on.
// The rotation is normalised; one of length 0 is wire.ErrNotFinite, and three numbers that no rotation has are
// wire.ErrMalformed. It comes back as q or as -q, which is the same rotation.
func (q *Quaternion) SerializeQuantised(s *wire.Serializer, step float64) {
	const edge = math.Sqrt2 / 2
	all := [4]*float32{&q.X, &q.Y, &q.Z, &q.W}
	unit, largest, square := [4]float32{}, uint8(0), 0.0
	if !s.IsReading() {
		for i, n := range all {
			square += float64(*n) * float64(*n)
			if math.Abs(float64(*n)) > math.Abs(float64(*all[largest])) {
				largest = uint8(i)
			}
		}
		if square == 0 || square-square != 0 {
			s.Fail(wire.ErrNotFinite)
		}
		length := math.Copysign(math.Sqrt(square), float64(*all[largest]))
		for i, n := range all {
			unit[i] = float32(float64(*n) / length)
		}
	}
	wire.SerializeEnumWithin(s, &largest, 0, 3)
	rest := 1.0
	for i := range all {
		if i == int(largest) {
			continue
		}
		n := all[i]
		if !s.IsReading() {
			n = &unit[i]
		}
		s.Quantised(n, -edge, edge, step)
		rest -= float64(*n) * float64(*n)
	}
	if !s.IsReading() {
		return
	}
	if rest < -4*step {
		s.Fail(wire.ErrMalformed)
	}
	*all[largest] = float32(math.Sqrt(max(rest, 0)))
}

// Ray is a half line in space, with a direction of length 1. 24 bytes in a message.
type Ray struct {
	Origin, Direction Vector3 // start and direction
}

// Serialize reads, writes and measures r.
func (r *Ray) Serialize(s *wire.Serializer) {
	s.Nested(&r.Origin)
	s.Nested(&r.Direction)
}

// Ray2D is a half line in the plane, with a direction of length 1. 16 bytes in a message.
type Ray2D struct {
	Origin, Direction Vector2 // start and direction
}

// Serialize reads, writes and measures r.
func (r *Ray2D) Serialize(s *wire.Serializer) {
	s.Nested(&r.Origin)
	s.Nested(&r.Direction)
}

package components

import "github.com/arche-netcode/netcode/wire"

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

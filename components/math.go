package components

import "github.com/arche-netcode/netcode/wire"

// The types here are data without arithmetic: the vectors of a game's library convert to these or replace
// them. None has padding or pointers, so each can be a replicated component, a field of one with a net tag of
// its own, or part of a message.
//
// In messages every number is a float32 of 4 bytes and must be finite: writing a NaN or an infinity is
// wire.ErrNotFinite, reading one is wire.ErrMalformed. So one client cannot poison the physics of others.
// In components the field plan keeps them out.

// Color is a colour of four floats, usually 0 to 1; more is brighter than white. 16 bytes in a message.
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

// Vector2 is a point or a direction in the plane, in units of the game's choice. 8 bytes in a message.
type Vector2 struct {
	X, Y float32 // finite, in the game's own units
}

// Serialize reads, writes and measures v.
func (v *Vector2) Serialize(s *wire.Serializer) {
	s.FiniteFloat32(&v.X)
	s.FiniteFloat32(&v.Y)
}

// Vector3 is a point or a direction in space, in units of the game's choice. 12 bytes in a message.
type Vector3 struct {
	X, Y, Z float32 // finite, in the game's own units
}

// Serialize reads, writes and measures v.
func (v *Vector3) Serialize(s *wire.Serializer) {
	s.FiniteFloat32(&v.X)
	s.FiniteFloat32(&v.Y)
	s.FiniteFloat32(&v.Z)
}

// Vector4 is four numbers that belong together. 16 bytes in a message.
type Vector4 struct {
	X, Y, Z, W float32 // finite, in the game's own units
}

// Serialize reads, writes and measures v.
func (v *Vector4) Serialize(s *wire.Serializer) {
	s.FiniteFloat32(&v.X)
	s.FiniteFloat32(&v.Y)
	s.FiniteFloat32(&v.Z)
	s.FiniteFloat32(&v.W)
}

// Quaternion is a rotation, of length 1; the zero value is none, and must not be used as one. 16 bytes in
// a message; a component's field with net:"quat,bits=9" takes 29 bits.
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

// Ray is a half line in space: where it begins, and its direction of length 1. 24 bytes in a message.
type Ray struct {
	Origin, Direction Vector3 // where it begins, and where to
}

// Serialize reads, writes and measures r.
func (r *Ray) Serialize(s *wire.Serializer) {
	s.Nested(&r.Origin)
	s.Nested(&r.Direction)
}

// Ray2D is a half line in the plane: where it begins, and its direction of length 1. 16 bytes in a message.
type Ray2D struct {
	Origin, Direction Vector2 // where it begins, and where to
}

// Serialize reads, writes and measures r.
func (r *Ray2D) Serialize(s *wire.Serializer) {
	s.Nested(&r.Origin)
	s.Nested(&r.Direction)
}

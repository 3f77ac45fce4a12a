package interest

import "math"

// Distances are compared in whole numbers, so that every machine decides alike. The unit is a power of two of the
// game's, the largest in which the leave radius is at least leaveSteps: conversion to it is exact but for the fraction.
const (
	leaveSteps = 1 << 13 // of the unit, at least; below twice that
	reach      = 1 << 29 // positions are at most so far from the origin, along each axis: 32 768 leave radii or more
	cellBits   = 12      // a cell is a quarter to a half of the leave radius wide
)

// point is a place in whole numbers.
type point struct{ x, y, z int32 }

// scale turns the game's lengths into whole numbers.
type scale float64

// scaleFor is the scale for a leave radius, a finite number above 0.
func scaleFor(leave float32) scale {
	_, exponent := math.Frexp(float64(leave)) // leave is 2^exponent times a half or more, and less than that times one
	return scale(math.Ldexp(leaveSteps, 1-exponent))
}

// length is a radius in whole numbers.
func (s scale) length(v float32) int64 { return int64(math.Floor(float64(v) * float64(s))) }

// point is a place in whole numbers. What is beyond reach is at its border; ok is false for NaN, which is nowhere.
func (s scale) point(x, y, z float32) (p point, ok bool) {
	if x != x || y != y || z != z {
		return p, false
	}
	return point{s.axis(x), s.axis(y), s.axis(z)}, true
}

func (s scale) axis(v float32) int32 {
	return int32(math.Floor(min(max(float64(v)*float64(s), -reach), reach)))
}

// squared is the square of the distance of two places.
func squared(a, b point) int64 {
	dx, dy, dz := int64(a.x)-int64(b.x), int64(a.y)-int64(b.y), int64(a.z)-int64(b.z)
	return dx*dx + dy*dy + dz*dz
}

// cell is a cube of the grid.
type cell point

func cellOf(p point) cell { return cell{p.x >> cellBits, p.y >> cellBits, p.z >> cellBits} }

// spread mixes a cell's coordinates into the bits of a bucket's number.
func (c cell) spread() uint64 {
	h := uint64(uint32(c.x))*0x9E3779B97F4A7C15 ^ uint64(uint32(c.y))*0xC2B2AE3D27D4EB4F ^ uint64(uint32(c.z))*0x165667B19E3779F9
	return h ^ h>>32
}

// bounds are the squares of the least and the greatest distance of any place in the cell from p.
func (c cell) bounds(p point) (least, most int64) {
	for _, axis := range [3][2]int32{{c.x, p.x}, {c.y, p.y}, {c.z, p.z}} {
		low := int64(axis[0])<<cellBits - int64(axis[1]) // of the cell, from p
		high := low + 1<<cellBits - 1
		near := max(low, -high, 0)
		far := max(-low, high)
		least += near * near
		most += far * far
	}
	return least, most
}

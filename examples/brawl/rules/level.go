package rules

import (
	_ "embed"
	"math"
	"strings"
)

// Plans draws the levels: # is a wall, r and b are seats, R and B goals, + a medikit, q a quad, o the ball.
//
//go:embed levels.txt
var Plans string

const (
	cell   = 2         // Metres of a character of a level.
	Width  = 24 * cell // of every level, in metres
	Height = 16 * cell
)

// Level has the walls and places of a map. Both ends load it, and nothing in it changes.
type Level struct {
	Name    string
	rows    []string
	seats   [2][]Body // Where the players of each team begin.
	pickups []Body
	kinds   []uint8
	ball    Body
}

// Levels reads all levels.
func Levels() (all []*Level) {
	for _, plan := range strings.Split(strings.TrimSpace(Plans), "\n\n") {
		lines := strings.Split(plan, "\n")
		l := &Level{Name: lines[0], rows: lines[1:]}
		for y, row := range l.rows {
			for x := range min(len(row), Width/cell) {
				at := Body{float32(x)*cell + cell/2, float32(y)*cell + cell/2}
				switch row[x] {
				case 'r':
					l.seats[Red] = append(l.seats[Red], at)
				case 'b':
					l.seats[Blue] = append(l.seats[Blue], at)
				case 'o':
					l.ball = Body{Width / 2, Height / 2}
				case '+', 'q':
					l.pickups, l.kinds = append(l.pickups, at), append(l.kinds, map[byte]uint8{'+': Medikit, 'q': Quad}[row[x]])
				}
			}
		}
		all = append(all, l)
	}
	return all
}

// At returns the character of a place; beyond the level all is wall.
func (l *Level) At(x, y float32) byte {
	i, j := int(math.Floor(float64(x/cell))), int(math.Floor(float64(y/cell)))
	if j < 0 || j >= len(l.rows) || i < 0 || i >= Width/cell {
		return '#'
	}
	return l.rows[j][i]
}

// Wall reports whether a place is in a wall. Only the ball enters a goal.
func (l *Level) Wall(x, y float32, ball bool) bool {
	c := l.At(x, y)
	return c == '#' || !ball && (c == 'R' || c == 'B')
}

// Push moves a disc out of the walls, and returns the direction of the push, of length 1; 0, 0: there was none.
func (l *Level) Push(at *Body, radius float32, ball bool) (nx, ny float32) {
	for dy := -1; dy <= 1; dy++ {
		for dx := -1; dx <= 1; dx++ {
			x, y := at.X+float32(dx)*radius, at.Y+float32(dy)*radius
			if !l.Wall(x, y, ball) {
				continue
			}
			left, top := float32(math.Floor(float64(x/cell)))*cell, float32(math.Floor(float64(y/cell)))*cell
			ax, ay := at.X-min(max(at.X, left), left+cell), at.Y-min(max(at.Y, top), top+cell)
			length := Length(ax, ay)
			if length >= radius || length == 0 {
				continue
			}
			nx, ny = ax/length, ay/length
			at.X += float32(nx * (radius - length))
			at.Y += float32(ny * (radius - length))
		}
	}
	at.X, at.Y = min(max(at.X, radius), Width-radius), min(max(at.Y, radius), Height-radius)
	return nx, ny
}

// Ray returns the metres from a place to the next wall.
func (l *Level) Ray(from Body, x, y float32) float32 {
	const step = 0.125
	reach := float32(0)
	for reach < Width+Height && !l.Wall(from.X+float32(x*reach), from.Y+float32(y*reach), false) {
		reach += step
	}
	return reach
}

// Length is that of a vector. Square roots are equal on all machines; sines are not, so the rules have no angles. The conversions
// keep a compiler from fusing products and sums.
func Length(x, y float32) float32 { return float32(math.Sqrt(float64(float32(x*x) + float32(y*y)))) }

// Unit gives a vector the length 1; one that is too short stays what other is.
func Unit(x, y float32, otherX, otherY float32) (float32, float32) {
	if l := Length(x, y); l > 0.05 {
		return x / l, y / l
	}
	return otherX, otherY
}

package screen

import (
	"math"

	"github.com/hajimehoshi/ebiten/v2"
	"github.com/hajimehoshi/ebiten/v2/vector"
)

// shapes are white pictures that are drawn in any size and colour: a machine without a graphics card draws them ten times as fast as paths.
type shapes struct{ disc, ring, dot *ebiten.Image }

const shapeRadius = 32

var shape shapes

func (s *shapes) init() {
	if s.disc != nil {
		return
	}
	s.disc, s.ring, s.dot = ebiten.NewImage(2*shapeRadius+2, 2*shapeRadius+2), ebiten.NewImage(2*shapeRadius+2, 2*shapeRadius+2), ebiten.NewImage(3, 3)
	vector.FillCircle(s.disc, shapeRadius+1, shapeRadius+1, shapeRadius, paint(0xffffff, 255), true)
	vector.StrokeCircle(s.ring, shapeRadius+1, shapeRadius+1, shapeRadius-3, 5, paint(0xffffff, 255), true)
	s.dot.Fill(paint(0xffffff, 255))
}

// fillDisc and strokeRing draw around a pixel.
func fillDisc(to *ebiten.Image, x, y, radius float32, rgb uint32, alpha uint8) {
	shape.init()
	drawRound(to, shape.disc, x, y, radius, rgb, alpha)
}

func strokeRing(to *ebiten.Image, x, y, radius float32, rgb uint32, alpha uint8) {
	shape.init()
	drawRound(to, shape.ring, x, y, radius, rgb, alpha)
}

func drawRound(to, picture *ebiten.Image, x, y, radius float32, rgb uint32, alpha uint8) {
	o := ebiten.DrawImageOptions{Filter: ebiten.FilterLinear}
	o.GeoM.Translate(-shapeRadius-1, -shapeRadius-1)
	o.GeoM.Scale(float64(radius)/shapeRadius, float64(radius)/shapeRadius)
	o.GeoM.Translate(float64(x), float64(y))
	o.ColorScale.ScaleWithColor(paint(rgb, alpha))
	to.DrawImage(picture, &o)
}

// strokeLine draws a line between two pixels.
func strokeLine(to *ebiten.Image, x0, y0, x1, y1, wide float32, rgb uint32, alpha uint8) {
	shape.init()
	dx, dy := float64(x1-x0), float64(y1-y0)
	o := ebiten.DrawImageOptions{Filter: ebiten.FilterLinear}
	o.GeoM.Translate(0, -1.5)
	o.GeoM.Scale(math.Hypot(dx, dy)/3, float64(wide)/3)
	o.GeoM.Rotate(math.Atan2(dy, dx))
	o.GeoM.Translate(float64(x0), float64(y0))
	o.ColorScale.ScaleWithColor(paint(rgb, alpha))
	to.DrawImage(shape.dot, &o)
}

// fillRect draws a rectangle.
func fillRect(to *ebiten.Image, x, y, wide, high float32, rgb uint32, alpha uint8) {
	shape.init()
	var o ebiten.DrawImageOptions
	o.GeoM.Scale(float64(wide)/3, float64(high)/3)
	o.GeoM.Translate(float64(x), float64(y))
	o.ColorScale.ScaleWithColor(paint(rgb, alpha))
	to.DrawImage(shape.dot, &o)
}

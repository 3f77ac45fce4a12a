package screen

import (
	"errors"
	"image"
	"image/color"
	"image/gif"
	"image/png"
	"os"

	"github.com/hajimehoshi/ebiten/v2"
)

// Shots are pictures of a window: one at the end of some frames, or a GIF of every few of them.
type Shots struct {
	File   string // Ending in .png or .gif; empty: none.
	Frames int    // Of the screen, after which the window closes; 0: when the player closes it.
	GIF    bool
	Every  int // Frames of the screen between two pictures of the GIF.
	Skip   int // Frames before its first picture.
	Shrink int // Its pixels are so many of the window's wide and high.

	moving *gif.GIF
	before *image.Paletted // The picture before, whole.
	over   bool
	Err    error // Of the file.
}

func (s *Shots) done() bool { return s.over }

// take is called at the end of each Draw.
func (s *Shots) take(from *ebiten.Image, frame int) {
	last := s.Frames > 0 && frame >= s.Frames
	if s.over || s.Frames == 0 {
		return
	}
	if s.GIF && frame > s.Skip && frame%s.Every == 0 {
		s.add(from)
	}
	if last {
		s.over, s.Err = true, s.save(from)
	}
}

func (s *Shots) save(from *ebiten.Image) error {
	if s.File == "" {
		return nil
	}
	f, err := os.Create(s.File)
	if err != nil {
		return err
	}
	if s.GIF {
		return errors.Join(gif.EncodeAll(f, s.moving), f.Close())
	}
	return errors.Join(png.Encode(f, pixels(from)), f.Close())
}

func pixels(from *ebiten.Image) *image.RGBA {
	picture := image.NewRGBA(from.Bounds())
	from.ReadPixels(picture.Pix)
	return picture
}

// add appends a picture to the GIF.
func (s *Shots) add(from *ebiten.Image) {
	full := pixels(from)
	size := image.Rect(0, 0, full.Rect.Dx()/s.Shrink, full.Rect.Dy()/s.Shrink)
	if s.moving == nil {
		s.moving = &gif.GIF{}
	}
	now := image.NewPaletted(size, palette())
	for y := range size.Dy() {
		for x := range size.Dx() {
			var sum [3]int
			for dy := range s.Shrink {
				for dx := range s.Shrink {
					c := full.RGBAAt(x*s.Shrink+dx, y*s.Shrink+dy)
					sum[0], sum[1], sum[2] = sum[0]+int(c.R), sum[1]+int(c.G), sum[2]+int(c.B)
				}
			}
			n := s.Shrink * s.Shrink
			now.SetColorIndex(x, y, index(sum[0]/n, sum[1]/n, sum[2]/n))
		}
	}
	s.moving.Image = append(s.moving.Image, s.changed(now))
	s.moving.Delay = append(s.moving.Delay, s.Every*100/60)
}

// changed returns what a picture has that the one before had not: the rest is transparent.
func (s *Shots) changed(now *image.Paletted) *image.Paletted {
	before := s.before
	s.before = now
	if before == nil {
		return now
	}
	var box image.Rectangle
	change := image.NewPaletted(now.Rect, now.Palette)
	for i, p := range now.Pix {
		if change.Pix[i] = transparent; p != before.Pix[i] {
			change.Pix[i] = p
			at := image.Pt(i%now.Stride, i/now.Stride)
			box = box.Union(image.Rectangle{at, at.Add(image.Pt(1, 1))})
		}
	}
	if box.Empty() {
		box = image.Rect(0, 0, 1, 1)
	}
	return change.SubImage(box).(*image.Paletted)
}

const transparent = 216

// palette has 6 levels of each colour, as the web once had, and nothing.
func palette() (p color.Palette) {
	for i := range 216 {
		p = append(p, color.RGBA{uint8(i / 36 * 51), uint8(i / 6 % 6 * 51), uint8(i % 6 * 51), 255})
	}
	return append(p, color.RGBA{})
}

// index is the place of a colour in the palette.
func index(r, g, b int) uint8 {
	level := func(v int) int { return min((v+25)/51, 5) }
	return uint8(level(r)*36 + level(g)*6 + level(b))
}

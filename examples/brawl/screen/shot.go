package screen

import (
	"cmp"
	"errors"
	"image"
	"image/color"
	"image/gif"
	"image/png"
	"maps"
	"os"
	"slices"

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

	moving  *gif.GIF
	before  *image.Paletted // The picture before, whole.
	colours *colours
	over    bool
	Err     error // Of the file.
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
		s.moving, s.colours = &gif.GIF{}, newColours(full)
	}
	now := image.NewPaletted(size, s.colours.list)
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
			now.SetColorIndex(x, y, s.colours.index(color.RGBA{uint8(sum[0] / n), uint8(sum[1] / n), uint8(sum[2] / n), 255}))
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

// colours is the palette of a GIF: a coarse cube, and what is most frequent in its first picture. The last one is transparent.
type colours struct {
	list  color.Palette
	known map[color.RGBA]uint8
}

const transparent = 255

func newColours(first *image.RGBA) *colours {
	c := &colours{known: map[color.RGBA]uint8{}}
	for i := range 64 {
		c.list = append(c.list, color.RGBA{uint8(i / 16 * 85), uint8(i / 4 % 4 * 85), uint8(i % 4 * 85), 255})
	}
	count := map[color.RGBA]int{}
	for y := range first.Rect.Dy() {
		for x := range first.Rect.Dx() {
			count[coarse(first.RGBAAt(x, y))]++
		}
	}
	frequent := slices.SortedFunc(maps.Keys(count), func(a, b color.RGBA) int {
		return cmp.Or(count[b]-count[a], int(a.R)-int(b.R), int(a.G)-int(b.G), int(a.B)-int(b.B))
	})
	for i := range transparent - 64 {
		c.list = append(c.list, frequent[i%len(frequent)])
	}
	c.list = append(c.list, color.RGBA{})
	return c
}

// index is the place of the colour that is nearest.
func (c *colours) index(of color.RGBA) uint8 {
	of = coarse(of)
	n, ok := c.known[of]
	if !ok {
		n = uint8(c.list[:transparent].Index(of))
		c.known[of] = n
	}
	return n
}

// coarse leaves out the lowest bits.
func coarse(c color.RGBA) color.RGBA { return color.RGBA{c.R &^ 3, c.G &^ 3, c.B &^ 3, 255} }

package main

import (
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math"
	"os"
	"sync"
	"time"

	"github.com/hajimehoshi/ebiten/v2"
	"github.com/hajimehoshi/ebiten/v2/ebitenutil"
	"github.com/hajimehoshi/ebiten/v2/vector"

	"github.com/arche-netcode/netcode/examples/web/game"
	"github.com/arche-netcode/netcode/examples/web/join"
)

const (
	scale  = 10 // Pixels per metre.
	width  = 2 * game.HalfWidth * scale
	height = 2 * game.HalfHeight * scale
)

// screen is the ebiten.Game. The player's loop runs in a goroutine of its own, so they share under a mutex.
type screen struct {
	by    string
	limit time.Duration // 0: none.
	shot  string
	began time.Time

	mu     sync.Mutex
	keys   game.Stick
	bodies []game.Body
	panel  game.Panel
	ended  bool
	err    error // Of the picture.
}

func newScreen(by string, limit time.Duration, shot string) *screen {
	return &screen{by: by, limit: limit, shot: shot, began: time.Now()}
}

// stick is the input of a frame of the player.
func (s *screen) stick() game.Stick {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.keys
}

// show takes the bodies of a frame of the player.
func (s *screen) show(bodies []game.Body, p *game.Panel) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bodies = append(s.bodies[:0], bodies...); s.panel != *p {
		s.panel = *p
		join.Report(s.by, p)
	}
}

// end ends the window, as the connection has ended.
func (s *screen) end(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	if err != nil {
		join.Fail(err)
	}
}

// Update implements ebiten.Game: it reads the keys.
func (s *screen) Update() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	axis := func(less, more ebiten.Key) (v float32) {
		if ebiten.IsKeyPressed(less) {
			v--
		}
		if ebiten.IsKeyPressed(more) {
			v++
		}
		return v
	}
	s.keys = game.Stick{X: axis(ebiten.KeyArrowLeft, ebiten.KeyArrowRight), Y: axis(ebiten.KeyArrowUp, ebiten.KeyArrowDown)}
	if s.ended || s.isOver() && s.shot == "" {
		return errors.Join(s.err, ebiten.Termination)
	}
	return nil
}

// isOver reports whether -seconds are over.
func (s *screen) isOver() bool { return s.limit > 0 && time.Since(s.began) >= s.limit }

// Draw implements ebiten.Game.
func (s *screen) Draw(to *ebiten.Image) {
	s.mu.Lock()
	defer s.mu.Unlock()
	to.Fill(color.RGBA{0x10, 0x14, 0x18, 0xff})
	for _, b := range s.bodies {
		size, paint := float32(6), hue(b.Hue)
		if b.Own {
			size, paint = 14, color.RGBA{0xff, 0xff, 0xff, 0xff}
		}
		vector.FillRect(to, (b.X+game.HalfWidth)*scale-size/2, (b.Y+game.HalfHeight)*scale-size/2, size, size, paint, false)
	}
	ebitenutil.DebugPrint(to, fmt.Sprintf("%s  round trip %.0f ms  loss %.1f %%  %.1f kB/s  %d ticks replayed  %d bodies  tick %d",
		s.by, s.panel.RTT, 100*s.panel.Loss, s.panel.Rate, s.panel.Replayed, s.panel.Bodies, s.panel.Tick))
	if s.shot != "" && s.isOver() {
		s.err = save(to, s.shot)
		s.shot = ""
	}
}

// Layout implements ebiten.Game.
func (s *screen) Layout(int, int) (int, int) { return width, height }

// hue is the colour of an angle, at 70 % saturation and 60 % lightness.
func hue(angle uint8) color.RGBA {
	part := func(shift float64) uint8 {
		k := math.Mod(shift+float64(angle)*12/256, 12)
		return uint8(255 * (0.6 - 0.28*max(-1, min(k-3, 9-k, 1))))
	}
	return color.RGBA{part(0), part(8), part(4), 0xff}
}

// save writes a picture to a file.
func save(from *ebiten.Image, file string) error {
	picture := image.NewRGBA(from.Bounds())
	from.ReadPixels(picture.Pix)
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	return errors.Join(png.Encode(f, picture), f.Close())
}

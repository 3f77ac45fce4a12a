package screen

import (
	"github.com/hajimehoshi/ebiten/v2"
	"github.com/hajimehoshi/ebiten/v2/inpututil"

	"github.com/arche-netcode/netcode/examples/brawl/rules"
)

// controls reads the hands of a player: WASD or arrows and the mouse, a gamepad, or two thumbs on glass.
type controls struct {
	now    rules.Control
	thumbs [2]thumb // The left one moves, the right one aims and shoots.
	touch  bool     // Fingers were seen: buttons are drawn.
	pads   []ebiten.GamepadID
	fresh  []ebiten.TouchID
}

// thumb is a finger that stays on the glass.
type thumb struct {
	id           ebiten.TouchID
	down         bool
	fromX, fromY int
	x, y         float32 // Where it is from there, up to length 1.
}

const thumbReach = 60 // Pixels.

// act is the input of a frame. Presses are taken once.
func (c *controls) act() rules.Control {
	now := c.now
	c.now.Rail, c.now.Dash = false, false
	return now
}

// read reads everything, in each frame of the screen.
func (c *controls) read(g *Game) {
	c.now = rules.Control{Rail: c.now.Rail, Dash: c.now.Dash, AimX: c.now.AimX, AimY: c.now.AimY}
	if g.hud.typing {
		return
	}
	key := func(less, more ebiten.Key, otherLess, otherMore ebiten.Key) (v float32) {
		if ebiten.IsKeyPressed(less) || ebiten.IsKeyPressed(otherLess) {
			v--
		}
		if ebiten.IsKeyPressed(more) || ebiten.IsKeyPressed(otherMore) {
			v++
		}
		return v
	}
	c.now.X = key(ebiten.KeyA, ebiten.KeyD, ebiten.KeyArrowLeft, ebiten.KeyArrowRight)
	c.now.Y = key(ebiten.KeyW, ebiten.KeyS, ebiten.KeyArrowUp, ebiten.KeyArrowDown)
	c.now.Dash = c.now.Dash || inpututil.IsKeyJustPressed(ebiten.KeySpace) || inpututil.IsKeyJustPressed(ebiten.KeyShift)
	c.now.Rail = c.now.Rail || inpututil.IsKeyJustPressed(ebiten.KeyE) || inpututil.IsMouseButtonJustPressed(ebiten.MouseButtonRight)
	c.now.Fire = ebiten.IsKeyPressed(ebiten.KeyF) || ebiten.IsMouseButtonPressed(ebiten.MouseButtonLeft) && !g.overlay.busy()
	c.mouse(g)
	c.gamepad()
	c.glass()
}

// mouse aims at the pointer.
func (c *controls) mouse(g *Game) {
	s := g.view.Scene()
	if s.Own < 0 || c.touch {
		return
	}
	x, y := ebiten.CursorPosition()
	if x == 0 && y == 0 {
		return // It was never here.
	}
	ox, oy := at(s.Avatars[s.Own].Body)
	c.now.AimX, c.now.AimY = rules.Unit(float32(x)-ox, float32(y)-oy, c.now.AimX, c.now.AimY)
}

// gamepad reads the first one with a standard layout.
func (c *controls) gamepad() {
	c.pads = ebiten.AppendGamepadIDs(c.pads[:0])
	for _, id := range c.pads {
		if !ebiten.IsStandardGamepadLayoutAvailable(id) {
			continue
		}
		axis := func(a ebiten.StandardGamepadAxis) float32 { return float32(ebiten.StandardGamepadAxisValue(id, a)) }
		if x, y := axis(ebiten.StandardGamepadAxisLeftStickHorizontal), axis(ebiten.StandardGamepadAxisLeftStickVertical); rules.Length(x, y) > 0.2 {
			c.now.X, c.now.Y = x, y
		}
		if x, y := axis(ebiten.StandardGamepadAxisRightStickHorizontal), axis(ebiten.StandardGamepadAxisRightStickVertical); rules.Length(x, y) > 0.3 {
			c.now.AimX, c.now.AimY = rules.Unit(x, y, 1, 0)
		}
		c.now.Fire = c.now.Fire || ebiten.IsStandardGamepadButtonPressed(id, ebiten.StandardGamepadButtonFrontBottomRight)
		c.now.Rail = c.now.Rail || inpututil.IsStandardGamepadButtonJustPressed(id, ebiten.StandardGamepadButtonFrontTopRight)
		c.now.Dash = c.now.Dash || inpututil.IsStandardGamepadButtonJustPressed(id, ebiten.StandardGamepadButtonRightBottom)
		return
	}
}

// railSpot and dashSpot are the buttons on glass.
var (
	railSpot = rules.Body{X: rules.Width - 4, Y: rules.Height - 12}
	dashSpot = rules.Body{X: 4, Y: rules.Height - 12}
)

// glass reads fingers: one on the left half moves, one on the right half aims and shoots.
func (c *controls) glass() {
	c.fresh = inpututil.AppendJustPressedTouchIDs(c.fresh[:0])
	for _, id := range c.fresh {
		c.touch = true
		x, y := ebiten.TouchPosition(id)
		spot := rules.Body{X: float32(x) / scale, Y: float32(y-top) / scale}
		switch {
		case rules.Length(spot.X-railSpot.X, spot.Y-railSpot.Y) < 2.5:
			c.now.Rail = true
		case rules.Length(spot.X-dashSpot.X, spot.Y-dashSpot.Y) < 2.5:
			c.now.Dash = true
		default:
			side := 0
			if x > width/2 {
				side = 1
			}
			c.thumbs[side] = thumb{id: id, down: true, fromX: x, fromY: y}
		}
	}
	for i := range c.thumbs {
		t := &c.thumbs[i]
		if t.down && inpututil.IsTouchJustReleased(t.id) {
			t.down = false
		}
		if !t.down {
			continue
		}
		x, y := ebiten.TouchPosition(t.id)
		t.x, t.y = float32(x-t.fromX)/thumbReach, float32(y-t.fromY)/thumbReach
		if rules.Length(t.x, t.y) > 1 {
			t.x, t.y = rules.Unit(t.x, t.y, 0, 0)
		}
		if i == 0 {
			c.now.X, c.now.Y = t.x, t.y
		} else if rules.Length(t.x, t.y) > 0.2 {
			c.now.AimX, c.now.AimY = rules.Unit(t.x, t.y, 1, 0)
			c.now.Fire = true
		}
	}
}

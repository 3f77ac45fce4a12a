package screen

import (
	"image/color"
	"math"

	"github.com/hajimehoshi/ebiten/v2"
	"github.com/hajimehoshi/ebiten/v2/vector"

	"github.com/arche-netcode/netcode/examples/brawl/rules"
	"github.com/arche-netcode/netcode/examples/brawl/view"
)

// paint returns a colour of the palette.
func paint(rgb uint32, alpha uint8) color.NRGBA {
	return color.NRGBA{uint8(rgb >> 16), uint8(rgb >> 8), uint8(rgb), alpha}
}

const (
	night             = 0x10161d
	stone             = 0x34424f
	edge              = 0x4b5d6d
	white             = 0xf4f6f8
	redTeam, blueTeam = 0xff5a4d, 0x3fa7ff
	gold              = 0xffd166
	green             = 0x4ade80
)

func teamColour(team uint8) uint32 {
	if team == rules.Red {
		return redTeam
	}
	return blueTeam
}

// Draw implements ebiten.Game.
func (g *Game) Draw(to *ebiten.Image) {
	g.mu.Lock()
	defer g.mu.Unlock()
	s := g.view.Scene()
	g.drawArena(to, s, &g.sparks)
	g.replay.draw(to, g, s)
	fillRect(to, 0, 0, width, top, 0x0c1014, 255)
	if g.controls.touch {
		g.drawGlass(to)
	}
	g.hud.draw(to, g, s)
	g.overlay.draw(to, g)
	g.config.Shots.take(to, g.frames)
}

// drawArena draws a scene, of now or of a replay.
func (g *Game) drawArena(to *ebiten.Image, s *view.Scene, sparks *sparks) {
	g.drawWalls(g.config.Player.Rules.Levels[int(s.Clock.Level)%len(g.config.Player.Rules.Levels)])
	var o ebiten.DrawImageOptions
	o.GeoM.Translate(0, top)
	to.DrawImage(g.walls, &o)
	for _, p := range s.Pickups {
		g.drawPickup(to, p)
	}
	for _, b := range s.Bolts {
		x, y := at(b.Body)
		fillDisc(to, x, y, 9, gold, 70)
		fillDisc(to, x, y, 5, 0xfff1c9, 255)
	}
	drawBall(to, s.Ball)
	for i := range s.Avatars {
		g.drawAvatar(to, &s.Avatars[i], i == s.Own)
	}
	sparks.draw(to, s)
}

// drawWalls draws the picture of a level, once.
func (g *Game) drawWalls(l *rules.Level) {
	if g.level == l {
		return
	}
	g.level = l
	if g.walls == nil {
		g.walls = ebiten.NewImage(width, height-top)
	}
	g.walls.Fill(paint(night, 255))
	const side = 2 * scale
	for y := float32(1); y < rules.Height; y += 2 {
		for x := float32(1); x < rules.Width; x += 2 {
			px, py := (x-1)*scale, (y-1)*scale
			vector.StrokeRect(g.walls, px, py, side, side, 1, paint(0x18212b, 255), false)
			switch l.At(x, y) {
			case '#':
				vector.FillRect(g.walls, px, py, side, side, paint(stone, 255), false)
				vector.FillRect(g.walls, px, py, side, 4, paint(edge, 255), false)
			case 'R':
				vector.FillRect(g.walls, px, py, side, side, paint(redTeam, 90), false)
			case 'B':
				vector.FillRect(g.walls, px, py, side, side, paint(blueTeam, 90), false)
			}
		}
	}
	vector.StrokeCircle(g.walls, width/2, (height-top)/2, 80, 2, paint(0x243240, 255), true)
}

func drawBall(to *ebiten.Image, ball rules.Body) {
	x, y := at(ball)
	fillDisc(to, x+3, y+5, 18, 0, 90)
	fillDisc(to, x, y, 18, white, 255)
	fillDisc(to, x-5, y-5, 6, 0xffffff, 255)
	strokeRing(to, x, y, 18, 0x8b98a5, 255)
}

func (g *Game) drawPickup(to *ebiten.Image, p view.Thing) {
	x, y := at(p.Body)
	bob := float32(math.Sin(float64(g.frames)/14)) * 2
	if p.Kind == rules.Quad {
		fillDisc(to, x, y, 14, 0xb26bff, 60)
		drawText(to, "x4", x-6, y-8+bob, 1, 0xd8b4ff)
		return
	}
	fillRect(to, x-10, y-10+bob, 20, 20, white, 235)
	fillRect(to, x-3, y-7+bob, 6, 14, 0xe03131, 255)
	fillRect(to, x-7, y-3+bob, 14, 6, 0xe03131, 255)
}

func (g *Game) drawAvatar(to *ebiten.Image, a *view.Shown, own bool) {
	const radius = 0.6 * scale
	x, y := at(a.Body)
	colour := teamColour(a.Team)
	if a.Dead > 0 {
		strokeRing(to, x, y, radius, colour, 120)
		strokeLine(to, x-6, y-6, x+6, y+6, 3, colour, 160)
		strokeLine(to, x-6, y+6, x+6, y-6, 3, colour, 160)
		return
	}
	if a.Quad > 0 {
		fillDisc(to, x, y, radius+8, 0xb26bff, 110)
	}
	fillDisc(to, x+2, y+4, radius, 0, 90)
	strokeLine(to, x, y, x+a.Look.X*radius*1.7, y+a.Look.Y*radius*1.7, 7, 0xcfd8e0, 255)
	fillDisc(to, x, y, radius, colour, 255)
	if own {
		strokeRing(to, x, y, radius+3, white, 255)
	}
	if a.Points < 100 {
		part := float32(a.Points) / 100
		fillRect(to, x-16, y+radius+5, 32, 4, 0, 160)
		fillRect(to, x-16, y+radius+5, 32*part, 4, green, 255)
	}
	name := a.Name.String()
	drawText(to, name, x-float32(len(name))*3, y-radius-20, 1, white)
}

// drawGlass shows where thumbs are, and the buttons.
func (g *Game) drawGlass(to *ebiten.Image) {
	for i, spot := range []rules.Body{railSpot, dashSpot} {
		x, y := at(spot)
		strokeRing(to, x, y, 46, white, 90)
		drawText(to, []string{"RAIL", "DASH"}[i], x-12, y-8, 1, white)
	}
	for _, t := range g.controls.thumbs {
		if t.down {
			strokeRing(to, float32(t.fromX), float32(t.fromY), thumbReach, white, 60)
			fillDisc(to, float32(t.fromX)+t.x*thumbReach, float32(t.fromY)+t.y*thumbReach, 24, white, 90)
		}
	}
}

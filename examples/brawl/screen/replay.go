package screen

import (
	"image"
	"time"

	"github.com/hajimehoshi/ebiten/v2"

	"github.com/arche-netcode/netcode/examples/brawl/rules"
	"github.com/arche-netcode/netcode/examples/brawl/view"
)

// The replay of a goal is a small picture beside the game, which goes on.
const (
	goalZoom   = 0.36
	goalX      = 12
	goalY      = height - 12 - (height-top)*goalZoom
	killZoom   = 2.2
	frameWidth = 3
)

// replay shows what was on the screen some seconds ago.
type replay struct {
	tape   view.Tape
	sparks sparks
	scene  *view.Scene // Nil: none is shown.
	stage  *ebiten.Image
	begun  [3]int // By kind.
	shown  view.Kind
}

// update records a frame and moves the replay on.
func (r *replay) update(now time.Duration, s *view.Scene) {
	r.tape.Record(now, s)
	if r.shown != r.tape.Kind {
		r.shown, r.sparks = r.tape.Kind, sparks{}
		r.begun[r.shown]++
	}
	if r.scene = r.tape.Replay(now); r.scene != nil {
		watched := *r.scene
		watched.Own = -1 // All shots are those of others here.
		r.scene = &watched
		r.sparks.update(r.scene)
	}
}

// draw draws the replay over the game: of a goal the whole arena, small; of the own death what is around the killer, large.
func (r *replay) draw(to *ebiten.Image, g *Game, now *view.Scene) {
	if r.scene == nil {
		return
	}
	if r.stage == nil {
		r.stage = ebiten.NewImage(width, height)
	}
	g.drawArena(r.stage, r.scene, &r.sparks)
	arena := r.stage.SubImage(image.Rect(0, top, width, height)).(*ebiten.Image)
	o := ebiten.DrawImageOptions{Filter: ebiten.FilterLinear}
	if r.shown == view.LastGoal {
		fillRect(to, goalX-frameWidth, goalY-frameWidth, width*goalZoom+2*frameWidth, (height-top)*goalZoom+2*frameWidth, gold, 255)
		o.GeoM.Scale(goalZoom, goalZoom)
		o.GeoM.Translate(goalX, goalY)
		to.DrawImage(arena, &o)
		drawText(to, "REPLAY", goalX+8, goalY+4, 1, gold)
		return
	}
	middle, name := rules.Body{X: rules.Width / 2, Y: rules.Height / 2}, ""
	if i := r.scene.Find(r.tape.Killer); i >= 0 {
		middle, name = r.scene.Avatars[i].Body, r.scene.Avatars[i].Name.String()
	}
	const left, up = rules.Width / 2 / killZoom, rules.Height / 2 / killZoom // Metres that fit: the picture ends where the arena does.
	x, y := at(rules.Body{X: min(max(middle.X, left), rules.Width-left), Y: min(max(middle.Y, up), rules.Height-up)})
	o.GeoM.Translate(float64(-x), float64(top-y))
	o.GeoM.Scale(killZoom, killZoom)
	o.GeoM.Translate(width/2, top+(height-top)/2)
	to.DrawImage(arena, &o)
	drawCentred(to, "shot by "+name, top+16, 2, redTeam)
}

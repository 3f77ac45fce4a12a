package screen

import (
	"github.com/hajimehoshi/ebiten/v2"
	"github.com/mlange-42/arche/ecs"

	"github.com/arche-netcode/netcode/examples/brawl/rules"
	"github.com/arche-netcode/netcode/examples/brawl/view"
	"github.com/arche-netcode/netcode/predict"
)

// sparks has flashes that fade. It follows the scene: a bolt that is gone leaves a spark, and an avatar whose rail counts on leaves a
// beam. Those of the own player come from the simulation, in the tick of the press.
type sparks struct {
	list  []spark
	beams []beam
	bolts map[ecs.Entity]rules.Body // That were shown in the last frame.
	rails map[ecs.Entity]uint8
	own   []predict.Effect // Of this frame.
	mark  int              // Frames for which a hit is shown.
}

type spark struct {
	rules.Body
	size   float32
	left   int // Frames, of 14.
	colour uint32
}

type beam struct {
	from, to rules.Body
	left     int // Frames, of 24.
	colour   uint32
}

func (s *sparks) heard(e predict.Effect) { s.own = append(s.own, e) }

// update follows a frame.
func (s *sparks) update(scene *view.Scene) {
	s.mark--
	for i := len(s.list) - 1; i >= 0; i-- {
		if s.list[i].left--; s.list[i].left <= 0 {
			s.list = append(s.list[:i], s.list[i+1:]...)
		}
	}
	for i := len(s.beams) - 1; i >= 0; i-- {
		if s.beams[i].left--; s.beams[i].left <= 0 {
			s.beams = append(s.beams[:i], s.beams[i+1:]...)
		}
	}
	now := make(map[ecs.Entity]rules.Body, len(scene.Bolts))
	for _, b := range scene.Bolts {
		now[b.Entity] = b.Body
	}
	for e, body := range s.bolts {
		if _, flies := now[e]; !flies {
			s.list = append(s.list, spark{body, 16, 14, gold})
		}
	}
	s.bolts = now
	rails := make(map[ecs.Entity]uint8, len(scene.Avatars))
	for i := range scene.Avatars {
		a := &scene.Avatars[i]
		if was, known := s.rails[a.Entity]; known && was != a.Beam.Count && i != scene.Own {
			s.beams = append(s.beams, beam{a.Body, rules.Body{X: a.Beam.X, Y: a.Beam.Y}, 24, teamColour(a.Team)})
		}
		rails[a.Entity] = a.Beam.Count
	}
	s.rails = rails
	for _, e := range s.own {
		s.flash(e, scene)
	}
	s.own = s.own[:0]
}

// flash shows an effect of the simulation.
func (s *sparks) flash(e predict.Effect, scene *view.Scene) {
	if e.Kind == rules.Kick {
		s.list = append(s.list, spark{scene.Ball, 24, 10, white})
		return
	}
	for i := range scene.Avatars {
		a := &scene.Avatars[i]
		if a.Entity != e.Entity || i != scene.Own {
			continue // A host hears all; it sees the others' as any player does.
		}
		switch e.Kind {
		case rules.Muzzle:
			s.list = append(s.list, spark{rules.Body{X: a.X + a.Look.X, Y: a.Y + a.Look.Y}, 10, 6, 0xfff1c9})
		case rules.Whoosh:
			s.list = append(s.list, spark{a.Body, 26, 14, teamColour(a.Team)})
		case rules.Beam:
			x, y := rules.Unpack(e.Value)
			s.beams = append(s.beams, beam{a.Body, rules.Body{X: x, Y: y}, 24, teamColour(a.Team)})
		}
	}
}

func (s *sparks) draw(to *ebiten.Image, scene *view.Scene) {
	for _, b := range s.beams {
		x0, y0 := at(b.from)
		x1, y1 := at(b.to)
		strokeLine(to, x0, y0, x1, y1, float32(b.left)/4, b.colour, uint8(b.left*8))
		strokeLine(to, x0, y0, x1, y1, float32(b.left)/12, white, uint8(b.left*10))
		fillDisc(to, x1, y1, float32(b.left)/2, b.colour, uint8(b.left*8))
	}
	for _, p := range s.list {
		x, y := at(p.Body)
		strokeRing(to, x, y, p.size*(1-float32(p.left)/16), p.colour, uint8(p.left*16))
	}
	if s.mark > 0 && scene.Own >= 0 {
		x, y := at(scene.Avatars[scene.Own].Body)
		strokeRing(to, x, y, 26, gold, uint8(s.mark*18))
	}
}

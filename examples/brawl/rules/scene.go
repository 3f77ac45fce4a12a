package rules

import "github.com/mlange-42/arche/ecs"

// Scene has the picture of a frame. It is good until the next call of Player.Scene.
type Scene struct {
	Clock   Clock
	Score   Score
	Avatars []Shown
	Bolts   []Thing
	Pickups []Thing
	Ball    Body
	Own     int // Index in Avatars; -1: the player watches.
}

// Shown is an avatar as it is drawn.
type Shown struct {
	Avatar
	Body
	Health
	Entity ecs.Entity
	Look   Facing
	Beam   Rail
	Kit    Kit   // Of the own avatar.
	Dead   uint8 // Ticks until it returns.
}

// Thing is a bolt or a pick-up.
type Thing struct {
	Body
	Entity ecs.Entity
	Kind   uint8
}

// Scene collects what this frame shows.
func (p *Player) Scene() *Scene {
	s := &p.scene
	*s = Scene{Avatars: s.Avatars[:0], Bolts: s.Bolts[:0], Pickups: s.Pickups[:0], Own: -1}
	for query := p.clocks.Query(p.world); query.Next(); {
		c, score := query.Get()
		s.Clock, s.Score = *c, *score
	}
	for query := p.Rules.cards.Query(p.world); query.Next(); {
		e := query.Entity()
		if p.smooth.Get(e) == nil {
			continue // Its time to be shown is to come.
		}
		a := Shown{Avatar: *query.Get(), Entity: e, Body: p.place(e), Look: *p.Rules.facings.Get(e), Health: *p.Rules.health.Get(e), Beam: *p.Rules.rails.Get(e)}
		if face := p.faces.Get(e); face != nil {
			a.Look = face.Value
		}
		if beam := p.beams.Get(e); beam != nil {
			a.Beam = beam.Value
		}
		if dead := p.Rules.deads.Get(e); dead != nil {
			a.Dead = dead.Ticks
		}
		if p.Owns(e) {
			s.Own = len(s.Avatars)
			if kit := p.Rules.kits.Get(e); kit != nil {
				a.Kit, a.Look = *kit, Facing{kit.AimX, kit.AimY}
			}
		}
		s.Avatars = append(s.Avatars, a)
	}
	for query := p.flying.Query(p.world); query.Next(); {
		_, at := query.Get()
		s.Bolts = append(s.Bolts, Thing{at.Value, query.Entity(), 0})
	}
	for query := p.things.Query(p.world); query.Next(); {
		if thing, at := query.Get(); !thing.Gone {
			s.Pickups = append(s.Pickups, Thing{*at, query.Entity(), thing.Kind})
		}
	}
	for query := p.Rules.ballCards.Query(p.world); query.Next(); {
		s.Ball = p.place(query.Entity())
	}
	return s
}

package view

import (
	"slices"

	"github.com/mlange-42/arche/ecs"
	"github.com/mlange-42/arche/generic"

	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/examples/brawl/rules"
)

// Scene has the picture of a frame.
type Scene struct {
	Clock   rules.Clock
	Score   rules.Score
	Avatars []Shown
	Bolts   []Thing
	Pickups []Thing
	Ball    rules.Body
	Own     int // Index in Avatars; -1: the player watches.
}

// Shown is an avatar as it is drawn.
type Shown struct {
	rules.Avatar
	rules.Body
	rules.Health
	Entity ecs.Entity
	Look   rules.Facing
	Beam   rules.Rail
	Kit    rules.Kit // Of the own avatar.
	Dead   uint8     // Ticks until it returns.
}

// Thing is a bolt or a pick-up.
type Thing struct {
	rules.Body
	Entity ecs.Entity
	Kind   uint8
}

// View collects scenes of a player's world.
type View struct {
	player *rules.Player
	world  *ecs.World
	scene  Scene

	avatars *generic.Filter5[rules.Avatar, components.Smooth[rules.Body], rules.Health, rules.Facing, rules.Rail]
	clocks  *generic.Filter2[rules.Clock, rules.Score]
	bolts   *generic.Filter2[rules.Fuse, components.Smooth[rules.Body]]
	things  *generic.Filter2[rules.Pickup, rules.Body]
	balls   *generic.Filter1[rules.Ball]
	faces   generic.Map1[components.Smooth[rules.Facing]]
	beams   generic.Map1[components.Smooth[rules.Rail]]
	deads   generic.Map1[rules.Dead]
	kits    generic.Map1[rules.Kit]
}

// New makes the view of a player.
func New(p *rules.Player) *View {
	w := p.Rules.World
	return &View{
		player: p, world: w,
		avatars: generic.NewFilter5[rules.Avatar, components.Smooth[rules.Body], rules.Health, rules.Facing, rules.Rail](),
		clocks:  generic.NewFilter2[rules.Clock, rules.Score](),
		bolts:   generic.NewFilter2[rules.Fuse, components.Smooth[rules.Body]](),
		things:  generic.NewFilter2[rules.Pickup, rules.Body](),
		balls:   generic.NewFilter1[rules.Ball](),
		faces:   generic.NewMap1[components.Smooth[rules.Facing]](w),
		beams:   generic.NewMap1[components.Smooth[rules.Rail]](w),
		deads:   generic.NewMap1[rules.Dead](w),
		kits:    generic.NewMap1[rules.Kit](w),
	}
}

// Scene collects what this frame shows. It is good until the next call.
func (v *View) Scene() *Scene {
	s := &v.scene
	*s = Scene{Avatars: s.Avatars[:0], Bolts: s.Bolts[:0], Pickups: s.Pickups[:0], Own: -1}
	for query := v.clocks.Query(v.world); query.Next(); {
		c, score := query.Get()
		s.Clock, s.Score = *c, *score
	}
	for query := v.avatars.Query(v.world); query.Next(); { // Who has no Smooth is shown later.
		card, at, health, look, beam := query.Get()
		a := Shown{Avatar: *card, Entity: query.Entity(), Body: at.Value, Health: *health, Look: *look, Beam: *beam}
		v.addTo(s, a)
	}
	for query := v.bolts.Query(v.world); query.Next(); {
		_, at := query.Get()
		s.Bolts = append(s.Bolts, Thing{at.Value, query.Entity(), 0})
	}
	for query := v.things.Query(v.world); query.Next(); {
		if thing, at := query.Get(); !thing.Gone {
			s.Pickups = append(s.Pickups, Thing{*at, query.Entity(), thing.Kind})
		}
	}
	for query := v.balls.Query(v.world); query.Next(); {
		s.Ball = v.player.Place(query.Entity())
	}
	return s
}

// addTo adds an avatar, with what only some have.
func (v *View) addTo(s *Scene, a Shown) {
	if face := v.faces.Get(a.Entity); face != nil {
		a.Look = face.Value
	}
	if beam := v.beams.Get(a.Entity); beam != nil {
		a.Beam = beam.Value
	}
	if dead := v.deads.Get(a.Entity); dead != nil {
		a.Dead = dead.Ticks
	}
	if v.player.Owns(a.Entity) {
		s.Own = len(s.Avatars)
		if kit := v.kits.Get(a.Entity); kit != nil {
			a.Kit, a.Look = *kit, rules.Facing{X: kit.AimX, Y: kit.AimY}
		}
	}
	s.Avatars = append(s.Avatars, a)
}

// Find returns the place of an avatar in Avatars; -1: it is not there.
func (s *Scene) Find(e ecs.Entity) int {
	return slices.IndexFunc(s.Avatars, func(a Shown) bool { return a.Entity == e })
}

// keep copies a scene into another one, which keeps its memory.
func (s *Scene) keep(from *Scene) {
	avatars, bolts, pickups := append(s.Avatars[:0], from.Avatars...), append(s.Bolts[:0], from.Bolts...), append(s.Pickups[:0], from.Pickups...)
	*s = *from
	s.Avatars, s.Bolts, s.Pickups = avatars, bolts, pickups
}

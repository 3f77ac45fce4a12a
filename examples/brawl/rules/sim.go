package rules

import (
	"github.com/mlange-42/arche/ecs"
	"github.com/mlange-42/arche/generic"

	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/predict"
)

const (
	noticeTicks    = TickRate     // A change that the server decides is announced so long before it happens: clients know in time.
	countdownTicks = 3 * TickRate // Nobody moves.
	endTicks       = 6 * TickRate // The scores are shown.
	step           = 1. / TickRate
)

// Rules are the systems of one world. They keep filters, mappers and what one step hands from system to system.
type Rules struct {
	Levels []*Level
	World  *ecs.World

	match *Match // The server; nil at a client.
	clock Clock  // As of this step.
	dead  ecs.ID
	kit   ecs.ID
	list  []ecs.Entity // Scratch: a query locks the world.

	clocks  *generic.Filter2[components.Simulate, Clock]
	players *generic.Filter5[components.Simulate, Avatar, Body, Pace, Kit]
	bare    *generic.Filter2[components.Simulate, Avatar]
	flying  *generic.Filter4[components.Simulate, Fuse, Body, Pace]
	balls   *generic.Filter4[components.Simulate, Ball, Body, Pace]
	fallen  *generic.Filter2[components.Simulate, Dead]
	pickups *generic.Filter2[Pickup, Body]

	bolts   generic.Map3[Body, Pace, Fuse]
	shooter generic.Map1[firedBy]
	bodies  generic.Map1[Body]
	paces   generic.Map1[Pace]
	kits    generic.Map1[Kit]
	deads   generic.Map1[Dead]
	jumps   generic.Map1[components.Teleport]
	avatars generic.Map1[Avatar]
	health  generic.Map1[Health]
	facings generic.Map1[Facing]
	rails   generic.Map1[Rail]
	ids     generic.Map1[components.Replicated]
	owners  generic.Map1[components.Owner]

	cards     *generic.Filter1[Avatar]
	ballCards *generic.Filter1[Ball]
	ballTeams generic.Map1[Ball]
}

// firedBy is the avatar of a bolt, at the server.
type firedBy struct{ Avatar ecs.Entity }

// NewRules makes the rules of a world.
func NewRules(w *ecs.World) *Rules {
	return &Rules{
		Levels: Levels(), World: w, dead: ecs.ComponentID[Dead](w), kit: ecs.ComponentID[Kit](w),
		clocks:  generic.NewFilter2[components.Simulate, Clock](),
		players: generic.NewFilter5[components.Simulate, Avatar, Body, Pace, Kit](),
		bare:    generic.NewFilter2[components.Simulate, Avatar]().Without(generic.T[Kit]()),
		flying:  generic.NewFilter4[components.Simulate, Fuse, Body, Pace](),
		balls:   generic.NewFilter4[components.Simulate, Ball, Body, Pace](),
		fallen:  generic.NewFilter2[components.Simulate, Dead](),
		pickups: generic.NewFilter2[Pickup, Body](),
		bolts:   generic.NewMap3[Body, Pace, Fuse](w), shooter: generic.NewMap1[firedBy](w), bodies: generic.NewMap1[Body](w),
		paces: generic.NewMap1[Pace](w), kits: generic.NewMap1[Kit](w), deads: generic.NewMap1[Dead](w),
		jumps: generic.NewMap1[components.Teleport](w), avatars: generic.NewMap1[Avatar](w), health: generic.NewMap1[Health](w),
		facings: generic.NewMap1[Facing](w), rails: generic.NewMap1[Rail](w), ids: generic.NewMap1[components.Replicated](w),
		owners: generic.NewMap1[components.Owner](w), cards: generic.NewFilter1[Avatar](), ballCards: generic.NewFilter1[Ball](), ballTeams: generic.NewMap1[Ball](w),
	}
}

// Systems are the same at all ends, in this order.
func (r *Rules) Systems() []predict.System {
	return []predict.System{
		predict.Func(r.tell), predict.Func(r.think), predict.Func(r.move), predict.Func(r.fly), predict.Func(r.roll),
		predict.Func(r.shoot), predict.Func(r.judge), predict.Func(r.revive),
	}
}

// level returns the level of this step.
func (r *Rules) level() *Level { return r.Levels[int(r.clock.Level)%len(r.Levels)] }

// moving and fighting tell what is allowed in this step.
func (r *Rules) moving() bool { return r.fighting() || r.clock.Phase == End }

func (r *Rules) fighting() bool { return r.clock.Phase == Lobby || r.clock.Phase == Play }

// control returns what an avatar does in this step.
func (r *Rules) control(s *predict.Step, avatar ecs.Entity) Control {
	if r.match != nil {
		if bot := r.match.bots[avatar]; bot != nil {
			return bot.Control
		}
	}
	c, _ := predict.Input[Control](s, s.Owner(avatar)) // Zero while its player is away.
	return c
}

// tell is a system: it tells the time of the match. A phase ends in the same tick at all ends, without a message.
func (r *Rules) tell(s *predict.Step) {
	if r.match != nil {
		r.match.endLobby()
	}
	r.clock = Clock{}
	began := false
	for query := r.clocks.Query(s.World); query.Next(); {
		_, c := query.Get()
		if c.Ticks > 0 {
			if c.Ticks--; c.Ticks == 0 {
				began = true
				c.next()
			}
		}
		r.clock = *c
	}
	switch {
	case began && r.clock.Phase == Countdown:
		r.kickOff(s)
	case began && r.clock.Phase == Loading && r.match != nil:
		r.match.load(r.clock.Level)
	}
}

// next is the phase that follows.
func (c *Clock) next() {
	switch c.Phase {
	case Lobby:
		c.Phase = Loading
	case Loading:
		c.Phase, c.Ticks = Countdown, countdownTicks
	case Countdown:
		c.Phase, c.Ticks = Play, c.Length
	case Play:
		c.Phase, c.Ticks = End, endTicks
	case End:
		c.Phase, c.Level = Loading, c.Level+1
	}
}

// kickOff puts all where a match begins.
func (r *Rules) kickOff(s *predict.Step) {
	r.list = r.list[:0]
	for query := r.players.Query(s.World); query.Next(); {
		_, avatar, at, pace, kit := query.Get()
		seats := r.level().seats[avatar.Team%2]
		*at, *pace, *kit = seats[int(avatar.Seat)%len(seats)], Pace{}, Kit{}
		r.list = append(r.list, query.Entity())
	}
	for _, e := range r.list {
		r.jumps.Get(e).Count++
		if s.World.Has(e, r.dead) {
			r.deads.Remove(e)
		}
		if r.match != nil {
			*r.health.Get(e) = Health{Points: 100}
			a := r.avatars.Get(e)
			a.Kills, a.Deaths, a.Ready = 0, 0, false
		}
	}
	for query := r.balls.Query(s.World); query.Next(); {
		_, _, at, pace := query.Get()
		*at, *pace = r.level().ball, Pace{}
		r.jumps.Get(query.Entity()).Count++
	}
	if r.match != nil {
		*r.match.score() = Score{}
	}
}

package rules

import (
	"math/rand/v2"

	"github.com/mlange-42/arche/ecs"

	"github.com/arche-netcode/netcode/predict"
)

// Brain decides for a bot: at the server for one without a client, in a test for a client.
type Brain struct {
	Control Control
	random  *rand.Rand
	whim    float32 // Which way it goes around things.
	patient int     // Ticks until it changes its mind.
}

// NewBrain makes one. Brains of one seed decide alike.
func NewBrain(seed uint64) *Brain { return &Brain{random: rand.New(rand.NewPCG(seed, 7)), whim: 1} }

// Seen is an avatar in the eyes of a bot.
type Seen struct {
	Avatar
	Body
	Entity ecs.Entity
	Dead   bool
}

// Think decides what a bot does in the next tick.
func (b *Brain) Think(l *Level, me Seen, others []Seen, ball Seen) {
	c := &b.Control
	c.Rail, c.Dash = false, false
	if b.patient--; b.patient <= 0 {
		b.patient = 20 + b.random.IntN(60)
		b.whim = b.random.Float32()*2 - 1
	}
	// It goes behind the ball, seen from the goal of the others, and then through it.
	goal := Body{0, Height / 2}
	if me.Team == Red {
		goal.X = Width
	}
	gx, gy := Unit(ball.X-goal.X, ball.Y-goal.Y, 1, 0)
	to := Body{ball.X + gx*1.2, ball.Y + gy*1.2}
	if (me.X-ball.X)*gx+(me.Y-ball.Y)*gy < 0 {
		to = Body{ball.X + gx*3 - gy*3*b.whim, ball.Y + gy*3 + gx*3*b.whim}
	}
	c.X, c.Y = Unit(to.X-me.X, to.Y-me.Y, 0, 0)
	for turn := float32(0); turn < 3 && l.Ray(me.Body, c.X, c.Y) < 2; turn++ { // A wall: it turns.
		c.X, c.Y = Unit(c.X-c.Y*(1+turn)*sign(b.whim), c.Y+c.X*(1+turn)*sign(b.whim), 1, 0)
	}
	c.Dash = b.random.IntN(150) == 0
	b.aim(l, me, others)
}

// aim looks for the nearest enemy in sight.
func (b *Brain) aim(l *Level, me Seen, others []Seen) {
	c, nearest := &b.Control, float32(26)
	c.Fire = false
	for _, o := range others {
		x, y := o.X-me.X, o.Y-me.Y
		far := Length(x, y)
		if o.Entity == me.Entity || o.Team == me.Team || o.Dead || far > nearest || far < 0.1 || l.Ray(me.Body, x/far, y/far) < far {
			continue
		}
		nearest = far
		spread := (b.random.Float32() - 0.5) * 0.2
		c.AimX, c.AimY = Unit(x/far-y/far*spread, y/far+x/far*spread, 1, 0)
		c.Fire = b.patient%3 != 0
		c.Rail = b.random.IntN(70) == 0
	}
	if nearest == 26 && Length(c.X, c.Y) > 0.1 {
		c.AimX, c.AimY = c.X, c.Y
	}
}

func sign(v float32) float32 {
	if v < 0 {
		return -1
	}
	return 1
}

// think is a system of the server: bots without a client decide.
func (r *Rules) think(s *predict.Step) {
	if r.match == nil || len(r.match.bots) == 0 {
		return
	}
	seen, ball := r.Look(r.Place)
	for _, me := range seen {
		if bot := r.match.bots[me.Entity]; bot != nil {
			bot.Think(r.level(), me, seen, ball)
		}
	}
}

// Look returns all avatars and the ball, where at shows them.
func (r *Rules) Look(at func(ecs.Entity) Body) (all []Seen, ball Seen) {
	for query := r.cards.Query(r.World); query.Next(); {
		e := query.Entity()
		all = append(all, Seen{*query.Get(), at(e), e, query.Has(r.dead)})
	}
	for query := r.ballCards.Query(r.World); query.Next(); {
		ball = Seen{Body: at(query.Entity()), Entity: query.Entity()}
	}
	return all, ball
}

// Place returns where an entity is.
func (r *Rules) Place(e ecs.Entity) Body { return *r.bodies.Get(e) }

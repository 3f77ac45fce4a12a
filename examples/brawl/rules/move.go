package rules

import (
	"github.com/mlange-42/arche/ecs"

	"github.com/arche-netcode/netcode/predict"
)

const (
	radius     = 0.6
	speed      = 8.  // m/s
	grip       = 0.3 // Share of the difference to the wanted speed that is gone after a step.
	dashSpeed  = 24. // m/s
	dashTicks  = 8
	dashReload = 80
	ballRadius = 0.9
	rolling    = 0.988 // Share of the ball's speed that is left after a step.
	bounce     = 0.8
	ballSpeed  = 30. // m/s at most
)

// move is a system: players run and dash. Players do not push each other, since a client has the others in the past.
func (r *Rules) move(s *predict.Step) {
	s.World.Batch().Add(r.bare.Filter(s.World), r.kit)
	for query := r.players.Query(s.World); query.Next(); {
		_, _, at, pace, kit := query.Get()
		e := query.Entity()
		c := r.control(s, e)
		if kit.AimX == 0 && kit.AimY == 0 {
			kit.AimX = 1
		}
		kit.AimX, kit.AimY = Unit(c.AimX, c.AimY, kit.AimX, kit.AimY)
		if r.match != nil {
			*r.facings.Get(e) = Facing{kit.AimX, kit.AimY}
		}
		kit.Bolt, kit.Rail, kit.Dash = max(kit.Bolt-1, 0), max(kit.Rail-1, 0), max(kit.Dash-1, 0)
		if !r.moving() || query.Has(r.dead) {
			*pace, kit.Dashing = Pace{}, 0
			continue
		}
		x, y := c.X, c.Y
		if Length(x, y) > 1 {
			x, y = Unit(x, y, 0, 0)
		}
		if c.Dash && kit.Dash == 0 && Length(x, y) > 0.1 {
			kit.Dash, kit.Dashing = dashReload, dashTicks
			kit.DashX, kit.DashY = Unit(x, y, 0, 0)
			s.Effect(Whoosh, e, 0)
		}
		if kit.Dashing > 0 {
			kit.Dashing--
			pace.X, pace.Y = kit.DashX*dashSpeed, kit.DashY*dashSpeed
		} else {
			pace.X += float32((float32(x*speed) - pace.X) * grip)
			pace.Y += float32((float32(y*speed) - pace.Y) * grip)
		}
		at.X += float32(pace.X * step)
		at.Y += float32(pace.Y * step)
		nx, ny := r.level().Push(at, radius, false)
		if into := float32(pace.X*nx) + float32(pace.Y*ny); into < 0 {
			pace.X -= float32(nx * into)
			pace.Y -= float32(ny * into)
		}
	}
}

// roll is a system: the ball rolls, bounces, and is pushed. A client pushes it by its own avatar alone; what the others did comes from
// the server, and is a misprediction of the ball.
func (r *Rules) roll(s *predict.Step) {
	var ball ecs.Entity
	for query := r.balls.Query(s.World); query.Next(); {
		_, _, at, pace := query.Get()
		ball = query.Entity()
		pace.X, pace.Y = pace.X*rolling, pace.Y*rolling
		if Length(pace.X, pace.Y) < 0.1 {
			*pace = Pace{}
		}
		at.X += float32(pace.X * step)
		at.Y += float32(pace.Y * step)
		nx, ny := r.level().Push(at, ballRadius, true)
		if into := float32(pace.X*nx) + float32(pace.Y*ny); into < 0 {
			pace.X -= float32(nx * float32(into*(1+bounce)))
			pace.Y -= float32(ny * float32(into*(1+bounce)))
		}
	}
	if ball.IsZero() {
		return // A client that does not predict it.
	}
	at, pace := r.bodies.Get(ball), r.paces.Get(ball)
	if r.moving() {
		for query := r.players.Query(s.World); query.Next(); {
			_, _, by, run, _ := query.Get()
			if !query.Has(r.dead) && push(at, pace, *by, *run) {
				s.Effect(Kick, ball, uint64(s.Owner(query.Entity())))
				if r.match != nil {
					r.match.touched(query.Entity(), ball)
				}
			}
		}
	}
	switch r.level().At(at.X, at.Y) {
	case 'R':
		r.goal(s, ball, Blue)
	case 'B':
		r.goal(s, ball, Red)
	}
}

// push lets a player push the ball, and reports whether they touch.
func push(at *Body, pace *Pace, by Body, run Pace) bool {
	x, y := at.X-by.X, at.Y-by.Y
	apart := Length(x, y)
	if apart >= radius+ballRadius {
		return false
	}
	nx, ny := Unit(x, y, 1, 0)
	at.X = by.X + float32(nx*(radius+ballRadius))
	at.Y = by.Y + float32(ny*(radius+ballRadius))
	towards := float32((run.X-pace.X)*nx) + float32((run.Y-pace.Y)*ny)
	if towards > 0 { // An elastic push of something light.
		hit(pace, nx, ny, towards*1.5)
	}
	return true
}

// hit gives the ball a speed more in a direction.
func hit(pace *Pace, nx, ny, more float32) {
	pace.X += float32(nx * more)
	pace.Y += float32(ny * more)
	if l := Length(pace.X, pace.Y); l > ballSpeed {
		pace.X, pace.Y = pace.X/l*ballSpeed, pace.Y/l*ballSpeed
	}
}

// goal puts the ball back, at all ends; the server counts.
func (r *Rules) goal(s *predict.Step, ball ecs.Entity, team uint8) {
	*r.bodies.Get(ball), *r.paces.Get(ball) = r.level().ball, Pace{}
	r.jumps.Get(ball).Count++
	if r.match != nil && r.clock.Phase == Play {
		r.match.scored(team)
	}
}

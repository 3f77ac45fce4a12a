package rules

import (
	"github.com/mlange-42/arche/ecs"

	"github.com/arche-netcode/netcode/predict"
)

const (
	deadTicks   = 2 * TickRate
	medikit     = 50
	quadTenths  = 100
	quadTimes   = 4
	pickupTicks = 10 * TickRate
)

// hurt takes points, at the server. The victim's client learns of its death by a misprediction, half a round trip later; it predicts the
// way back to life itself.
func (r *Rules) hurt(s *predict.Step, victim, by ecs.Entity, points int) {
	if s.World.Has(victim, r.dead) || r.clock.Phase != Play && r.clock.Phase != Lobby {
		return
	}
	h := r.health.Get(victim)
	if r.health.Get(by).Quad > 0 {
		points *= quadTimes
	}
	points = min(points, int(h.Points))
	h.Points -= uint8(points)
	r.match.mark(s.Owner(by), points)
	if h.Points > 0 {
		return
	}
	at := *r.bodies.Get(victim)
	r.deads.Assign(victim, &Dead{at.X, at.Y, deadTicks})
	r.avatars.Get(by).Kills++
	card := r.avatars.Get(victim)
	card.Deaths, card.Killer = card.Deaths+1, by
	r.match.note(Death, victim)
	r.match.killed(by, victim)
}

// revive is a system: the dead stay where they fell, and return. All ends know where, since they draw the same numbers.
func (r *Rules) revive(s *predict.Step) {
	r.list = r.list[:0]
	for query := r.fallen.Query(s.World); query.Next(); {
		_, dead := query.Get()
		e := query.Entity()
		*r.bodies.Get(e), *r.paces.Get(e) = Body{dead.X, dead.Y}, Pace{}
		if dead.Ticks -= min(dead.Ticks, 1); dead.Ticks == 0 {
			r.list = append(r.list, e)
		}
	}
	for _, e := range r.list {
		r.deads.Remove(e)
		seats := r.level().seats[r.avatars.Get(e).Team%2]
		*r.bodies.Get(e) = seats[s.Rand(e).IntN(len(seats))]
		r.jumps.Get(e).Count++
		if r.match != nil {
			*r.health.Get(e) = Health{Points: 100}
		}
	}
}

// collect lets avatars take what lies about. Only the server does: nothing of it is predicted.
func (r *Rules) collect(s *predict.Step) {
	for query := r.players.Query(s.World); query.Next(); {
		if h := r.health.Get(query.Entity()); h.Quad > 0 && s.Tick%(TickRate/10) == 0 {
			h.Quad--
		}
	}
	for query := r.pickups.Query(s.World); query.Next(); {
		p, at := query.Get()
		p.back -= min(p.back, 1)
		p.Gone = p.back > 0
		for _, e := range r.list {
			by := r.bodies.Get(e)
			if p.Gone || s.World.Has(e, r.dead) || Length(by.X-at.X, by.Y-at.Y) > 2*radius {
				continue
			}
			switch h := r.health.Get(e); {
			case p.Kind == Quad:
				h.Quad, p.back, p.Gone = quadTenths, 2*pickupTicks, true
			case h.Points < 100:
				h.Points, p.back, p.Gone = min(h.Points+medikit, 100), pickupTicks, true
			}
		}
	}
}

package rules

import (
	"github.com/mlange-42/arche/ecs"

	"github.com/arche-netcode/netcode/predict"
	"github.com/arche-netcode/netcode/rewind"
)

const (
	boltSpeed  = 26. // m/s
	boltRadius = 0.25
	boltTicks  = 80
	boltReload = 11
	boltPoints = 14
	boltPush   = 0.35 // Share of a bolt's speed that the ball gets.
	railReload = 80
	railPoints = 55
)

// shoot is a system: a shot is seen and heard in the tick of the press, whatever the round trip.
func (r *Rules) shoot(s *predict.Step) {
	if !r.fighting() {
		return
	}
	r.findLiving(s)
	for _, e := range r.list {
		if s.World.Has(e, r.dead) {
			continue // As of this step, by a rail.
		}
		c, kit := r.control(s, e), r.kits.Get(e)
		if c.Rail && kit.Rail == 0 {
			kit.Rail = railReload
			r.fireRail(s, e, *kit)
		}
		if kit = r.kits.Get(e); c.Fire && kit.Bolt == 0 {
			kit.Bolt = boltReload
			s.Effect(Muzzle, e, 0)
			r.fireBolt(s, e, *kit)
		}
	}
}

// findLiving lists the avatars that are not dead.
func (r *Rules) findLiving(s *predict.Step) {
	r.list = r.list[:0]
	for query := r.players.Query(s.World); query.Next(); {
		if !query.Has(r.dead) {
			r.list = append(r.list, query.Entity())
		}
	}
}

// fireBolt spawns a bolt, which a player's own client has at once.
func (r *Rules) fireBolt(s *predict.Step, avatar ecs.Entity, kit Kit) {
	from := *r.bodies.Get(avatar)
	bolt, ok := s.Spawn(s.Owner(avatar))
	if !ok {
		return
	}
	r.bolts.Assign(bolt, &Body{from.X + float32(kit.AimX*radius), from.Y + float32(kit.AimY*radius)},
		&Pace{kit.AimX * boltSpeed, kit.AimY * boltSpeed}, &Fuse{boltTicks})
	if r.match != nil {
		r.shooter.Assign(bolt, &firedBy{avatar})
	}
}

// fly is a system: bolts fly until they meet a wall or the ball. Whom they hit the server decides, in judge.
func (r *Rules) fly(s *predict.Step) {
	r.list = r.list[:0]
	for query := r.flying.Query(s.World); query.Next(); {
		_, fuse, at, pace := query.Get()
		at.X += float32(pace.X * step)
		at.Y += float32(pace.Y * step)
		fuse.Ticks -= min(fuse.Ticks, 1)
		if fuse.Ticks == 0 || r.level().Wall(at.X, at.Y, false) || r.pushBall(s, query.Entity(), *at, *pace) {
			r.list = append(r.list, query.Entity())
		}
	}
	for _, bolt := range r.list {
		s.Despawn(bolt)
	}
}

// pushBall lets a bolt push the ball.
func (r *Rules) pushBall(s *predict.Step, bolt ecs.Entity, from Body, with Pace) (met bool) {
	for query := r.balls.Query(s.World); query.Next(); {
		_, _, at, pace := query.Get()
		if Length(at.X-from.X, at.Y-from.Y) < ballRadius+boltRadius {
			nx, ny := Unit(at.X-from.X, at.Y-from.Y, 1, 0)
			hit(pace, nx, ny, Length(with.X, with.Y)*boltPush)
			if r.match != nil {
				r.match.touched(r.shooter.Get(bolt).Avatar, query.Entity())
			}
			met = true
		}
	}
	return met
}

// fireRail shoots through the arena at once. The server looks where the shooter saw the others; the muzzle is where the shooter's body
// is, which its client predicts.
func (r *Rules) fireRail(s *predict.Step, avatar ecs.Entity, kit Kit) {
	from := *r.bodies.Get(avatar)
	reach := r.level().Ray(from, kit.AimX, kit.AimY)
	if r.match != nil {
		victim, at := r.railHit(s, avatar, from, kit, reach)
		if !victim.IsZero() {
			reach = at
			r.hurt(s, victim, avatar, railPoints)
		}
		rail := r.rails.Get(avatar)
		*rail = Rail{rail.Count + 1, from.X + kit.AimX*reach, from.Y + kit.AimY*reach}
	}
	s.Effect(Beam, avatar, Pack(from.X+kit.AimX*reach, from.Y+kit.AimY*reach))
}

// railHit returns the nearest enemy on a ray.
func (r *Rules) railHit(s *predict.Step, avatar ecs.Entity, from Body, kit Kit, reach float32) (victim ecs.Entity, at float32) {
	at = reach
	try := func(e ecs.Entity, body Body) {
		x, y := body.X-from.X, body.Y-from.Y
		along, aside := float32(x*kit.AimX)+float32(y*kit.AimY), float32(x*kit.AimY)-float32(y*kit.AimX)
		if along > 0 && along < at && aside*aside < radius*radius {
			victim, at = e, along
		}
	}
	owner := s.Owner(avatar)
	if owner == 0 {
		for _, e := range r.list { // A bot sees the present.
			if r.enemies(e, avatar) {
				try(e, *r.bodies.Get(e))
			}
		}
		return victim, at
	}
	rewind.At(r.match.Server, owner, func(past *rewind.View) {
		for _, e := range r.list {
			if body, seen := rewind.Of[Body](past, r.ids.Get(e).ID); seen && r.enemies(e, avatar) {
				try(e, body)
			}
		}
	})
	return victim, at
}

// enemies reports whether one avatar can hurt another.
func (r *Rules) enemies(a, b ecs.Entity) bool {
	return a != b && r.avatars.Get(a).Team != r.avatars.Get(b).Team && !r.World.Has(a, r.dead)
}

// judge is a system of the server: it knows all avatars as of this tick.
func (r *Rules) judge(s *predict.Step) {
	if r.match == nil {
		return
	}
	r.findLiving(s)
	var spent, hurt, by []ecs.Entity
	for bolts := r.flying.Query(s.World); bolts.Next(); {
		_, _, from, _ := bolts.Get()
		shooter := r.shooter.Get(bolts.Entity()).Avatar
		if !s.World.Alive(shooter) {
			continue
		}
		for _, e := range r.list {
			if at := r.bodies.Get(e); r.enemies(e, shooter) && Length(at.X-from.X, at.Y-from.Y) < radius+boltRadius {
				spent, hurt, by = append(spent, bolts.Entity()), append(hurt, e), append(by, shooter)
				break
			}
		}
	}
	for i, bolt := range spent {
		s.Despawn(bolt)
		r.match.note(Hit, by[i])
		r.hurt(s, hurt[i], by[i], boltPoints)
	}
	r.collect(s)
}

// Pack and Unpack put a place into the value of an effect.
func Pack(x, y float32) uint64 { return uint64(uint32(x*100))<<32 | uint64(uint32(y*100)) }

// Unpack is the inverse of Pack.
func Unpack(v uint64) (x, y float32) { return float32(v>>32) / 100, float32(uint32(v)) / 100 }

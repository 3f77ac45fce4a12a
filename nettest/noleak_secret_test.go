package nettest_test

import (
	"math/rand/v2"
	"slices"

	"github.com/mlange-42/arche/ecs"
	"github.com/mlange-42/arche/generic"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
)

// play is the server's game in a frame.
func (g *leakGame) play(w *ecs.World, frame int) {
	if g.began == 0 {
		return
	}
	g.births(w, frame-g.began)
	for g.open.IntN(3) > 0 {
		if e := g.some(g.open, isOpen); e != nil {
			g.change(w, e)
		}
	}
	if g.open.IntN(4) == 0 {
		g.say()
	}
	for g.secret.IntN(4) > 0 {
		if e := g.some(g.secret, isSecret); e != nil {
			g.changeSecret(w, e)
		}
		if e := g.some(g.secret, isOpen); e != nil {
			g.blindly(w, e)
		}
		if g.secret.IntN(3) == 0 {
			g.saySecretly()
		}
	}
}

// births has entities born and die: hidden ones at the same times in both games, until no visible one is born any more.
func (g *leakGame) births(w *ecs.World, frame int) {
	alone := frame > g.alone
	if frame > g.alone+4 && frame%2 == 1 {
		switch g.secret.IntN(6) {
		case 0:
			g.birth(w, true, g.secret)
		case 1:
			g.death(w, g.some(g.secret, isSecret))
		}
		return
	}
	if frame%4 != 0 { // so that each capture has one at most
		return
	}
	switch what := g.open.IntN(8); {
	case !alone && (what < 2 || frame < 40):
		g.birth(w, g.open.IntN(3) == 0, g.open)
	case what == 3:
		g.death(w, g.some(g.open, isOpen))
	case what == 4 && !alone:
		g.death(w, g.some(g.open, isSecret))
	}
}

func (g *leakGame) birth(w *ecs.World, secret bool, r *rand.Rand) {
	if len(g.all) > 24 && r == g.open || len(g.all) > 34 {
		return
	}
	bodies := generic.NewMap2[components.Replicated, position](w)
	e := &leakEntity{Entity: bodies.New(), secret: secret, hidden: secret}
	g.byEntity[e.Entity] = e
	g.all = append(g.all, e)
	g.note("birth of %v, secret %v", e.Entity, secret)
	if secret {
		g.met["hidden births"]++
		g.changeSecret(w, e)
		return
	}
	g.met["births"]++
	set(w, e.Entity, position{X: g.open.Float32()})
	if g.open.IntN(3) == 0 {
		set(w, e.Entity, components.Rate{Every: 3})
		e.rated = true
	}
	if g.open.IntN(2) == 0 {
		set(w, e.Entity, components.Owner{Client: netcode.ClientID(1 + g.open.IntN(2))})
		set(w, e.Entity, leakMine{})
	}
}

func (g *leakGame) death(w *ecs.World, e *leakEntity) {
	if e == nil || e.id.IsZero() {
		return
	}
	if e.secret {
		g.met["hidden deaths"]++
	}
	g.note("death of %v", e.id)
	g.all = slices.DeleteFunc(g.all, func(f *leakEntity) bool { return f == e })
	delete(g.byEntity, e.Entity)
	w.RemoveEntity(e.Entity)
}

// change does to an entity what the client may see, or might if it saw the entity.
func (g *leakGame) change(w *ecs.World, e *leakEntity) {
	what := g.open.IntN(14)
	g.note("%v is changed %d", e.id, what)
	switch what {
	case 0:
		if e.hidden = !e.hidden; e.hidden {
			g.met["hides"]++
		} else {
			g.met["shows"]++
		}
		g.note("%v hidden %v", e.id, e.hidden)
		g.sight(e)
	case 1:
		set(w, e.Entity, frozen{})
	case 2:
		lose[frozen](w, e.Entity)
	case 3, 4:
		set(w, e.Entity, grouping(g.open.IntN(4)))
	case 5:
		set(w, e.Entity, components.Priority{Weight: float32(1 + g.open.IntN(3))})
	case 6, 7:
		if e.blind = g.open.IntN(2) == 0; e.blind {
			g.aim(w, e, nil)
			return
		}
		g.aim(w, e, g.some(g.open, isOpen))
	case 8:
		hang(w, e.Entity, ecs.Entity{})
	case 9:
		lose[health](w, e.Entity)
	case 10, 11:
		set(w, e.Entity, health{Points: int32(g.open.IntN(100))})
	default:
		set(w, e.Entity, position{X: g.open.Float32() * 60, Y: g.open.Float32() * 60})
	}
}

// aim has an entity name another one, or nobody.
func (g *leakGame) aim(w *ecs.World, e, at *leakEntity) {
	to := ecs.Entity{}
	if at != nil {
		to = at.Entity
	}
	set(w, e.Entity, aim{At: to})
	if g.open.IntN(3) == 0 && to != e.Entity && !e.blind {
		hang(w, e.Entity, ecs.Entity{})
	}
}

// blindly does to an entity that the client may see what it may not see of it.
func (g *leakGame) blindly(w *ecs.World, e *leakEntity) {
	if g.policy != nil {
		g.met["hidden components"]++
		if g.secret.IntN(3) == 0 {
			lose[leakSecret](w, e.Entity)
		} else {
			set(w, e.Entity, leakSecret{Marker: g.secret.Uint32()})
		}
	}
	if !e.blind || !w.Has(e.Entity, ecs.ComponentID[aim](w)) {
		return
	}
	g.met["blind aims"]++
	to := ecs.Entity{}
	if at := g.some(g.secret, isSecret); at != nil && g.secret.IntN(4) > 0 {
		to = at.Entity
	}
	g.note("  secret %v names %v", e.id, to)
	set(w, e.Entity, aim{At: to})
	if w.Has(e.Entity, ecs.ComponentID[leakChild](w)) {
		w.Relations().Set(e.Entity, ecs.ComponentID[leakChild](w), to)
	}
}

// changeSecret does to an entity that the client never sees all that there is to do.
func (g *leakGame) changeSecret(w *ecs.World, e *leakEntity) {
	r := g.secret
	switch r.IntN(12) {
	case 0:
		set(w, e.Entity, frozen{})
	case 1:
		lose[frozen](w, e.Entity)
	case 2, 3:
		set(w, e.Entity, grouping(r.IntN(4)))
	case 4:
		set(w, e.Entity, components.Priority{Weight: float32(1 + r.IntN(3))})
		set(w, e.Entity, components.Rate{Every: uint16(r.IntN(4))})
	case 5:
		set(w, e.Entity, components.Owner{Client: netcode.ClientID(r.IntN(4))}) // 3 is the one who joins
		set(w, e.Entity, leakMine{Course: r.Int32()})
	case 6:
		if at := g.some(r, func(*leakEntity) bool { return true }); at != nil {
			set(w, e.Entity, aim{At: at.Entity})
		}
	case 7:
		if at := g.some(r, isOpen); at != nil {
			hang(w, e.Entity, at.Entity)
		}
	case 8:
		lose[health](w, e.Entity)
	default:
		set(w, e.Entity, health{Points: r.Int32()})
		set(w, e.Entity, position{X: r.Float32() * 60})
	}
}

package nettest_test

import (
	"math"

	"github.com/mlange-42/arche/ecs"
	"github.com/mlange-42/arche/generic"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/systems"
)

// write gives a component of an entity another value.
func (g *story) write(w *ecs.World, e ecs.Entity) {
	r := g.r
	switch r.IntN(10) {
	case 0, 1, 2:
		g.move(valueOf[position](w, e))
	case 3:
		if has[storyExact](w, e) {
			x := valueOf[storyExact](w, e)
			x.X += r.NormFloat64()
			x.N = int64(r.Uint64() >> r.IntN(64))
			if r.IntN(9) == 0 {
				x.Y = math.Copysign(0, -1)
			}
		}
	case 4:
		if has[storySpin](w, e) {
			s := valueOf[storySpin](w, e)
			q := components.Quaternion{X: r.Float32() - .5, Y: r.Float32() - .5, Z: r.Float32() - .5, W: r.Float32()}
			n := float32(math.Sqrt(float64(q.X*q.X + q.Y*q.Y + q.Z*q.Z + q.W*q.W)))
			s.Turn = components.Quaternion{X: q.X / n, Y: q.Y / n, Z: q.Z / n, W: q.W / n}
			s.Lean += r.Float32() - .3
		}
	case 5:
		if has[storySlow](w, e) {
			valueOf[storySlow](w, e).N++
		}
		if has[storyBorn](w, e) {
			valueOf[storyBorn](w, e).Hat++
		}
	case 6:
		if has[storyMark](w, e) {
			valueOf[storyMark](w, e).Tile[r.IntN(5)]++
			if r.IntN(2) == 0 {
				systems.Mark[storyMark](g.sys.Capture, e)
				g.met["marks"]++
			}
		}
	case 7:
		if has[storyAim](w, e) {
			at := valueOf[storyAim](w, e)
			at.At, _ = g.some()
			if r.IntN(4) == 0 {
				at.At = ecs.Entity{}
			}
			at.Since += uint8(r.IntN(2))
		}
	case 8:
		if has[storyFall](w, e) {
			f := valueOf[storyFall](w, e)
			f.X += .02
			f.Y -= float32(r.IntN(100)) / 200
		}
	case 9:
		if has[storyMine](w, e) && (!has[components.Owner](w, e) || valueOf[components.Owner](w, e).Client == 0) {
			valueOf[storyMine](w, e).Course++
		}
	}
}

// move moves a body, at times to where none can be.
func (g *story) move(p *position) {
	p.X += float32(g.r.IntN(21)-10) / 50
	switch g.r.IntN(100) {
	case 0:
		p.Y = float32(math.NaN())
	case 1, 2:
		p.Y = 1e9
	default:
		p.Y = float32(g.r.IntN(21)-10) / 50
	}
}

// toggle adds a component, or takes it away.
func toggle[T any](w *ecs.World, e ecs.Entity, value T) {
	if has[T](w, e) {
		lose[T](w, e)
		return
	}
	set(w, e, value)
}

// shape changes which components an entity has.
func (g *story) shape(w *ecs.World, e ecs.Entity) {
	r := g.r
	switch r.IntN(17) {
	case 0:
		toggle(w, e, health{Points: int32(r.IntN(100))})
	case 1:
		toggle(w, e, frozen{})
	case 2:
		toggle(w, e, storyExact{X: r.NormFloat64()})
	case 3:
		toggle(w, e, storySpin{Turn: components.Quaternion{W: 1}})
	case 4:
		toggle(w, e, storyBorn{Skin: uint8(r.IntN(9))})
	case 5:
		toggle(w, e, storySlow{N: 7})
	case 6:
		if !has[storyMark](w, e) {
			set(w, e, storyMark{})
			systems.Mark[storyMark](g.sys.Capture, e)
		}
	case 7:
		toggle(w, e, storyMine{Course: int16(r.IntN(50))})
	case 8:
		at, _ := g.some()
		toggle(w, e, storyAim{At: at})
	case 9, 10:
		parent, ok := g.some()
		if !ok || r.IntN(4) == 0 {
			parent = ecs.Entity{}
		}
		storyHang(w, e, parent)
	case 11:
		lose[storyChild](w, e)
	case 12:
		toggle(w, e, storyFall{X: float32(r.IntN(50))})
	case 13:
		set(w, e, components.Group{ID: 100 + uint32(r.IntN(4))})
		if r.IntN(3) == 0 {
			lose[components.Group](w, e)
		}
	case 14:
		toggle(w, e, components.Rate{Every: uint16(1 + r.IntN(6))})
	case 15:
		toggle(w, e, components.Priority{Weight: r.Float32() * 4})
	case 16:
		set(w, e, components.Owner{Client: netcode.ClientID(r.IntN(4))})
	}
}

// storyHang is hang, but for an entity that would be its own parent: such a one Arche 0.15.3 cannot remove.
func storyHang(w *ecs.World, e, parent ecs.Entity) {
	if parent == e {
		parent = ecs.Entity{}
	}
	hangBy[storyChild](w, e, parent)
}

// sing has choirs come, sing the same, and go.
func (g *story) sing(w *ecs.World) {
	r := g.r
	bodies := generic.NewMap3[components.Replicated, components.Group, storyVerse](w)
	verses := generic.NewMap[storyVerse](w)
	if len(g.choirs) < 3 && r.IntN(10) == 0 {
		var choir []ecs.Entity
		g.verse++
		for range 2 + r.IntN(4) {
			choir = append(choir, bodies.NewWith(&components.Replicated{}, &components.Group{ID: g.verse%50 + 1}, &storyVerse{g.verse}))
		}
		g.choirs = append(g.choirs, choir)
	}
	for i := 0; i < len(g.choirs); i++ {
		choir := g.choirs[i]
		switch r.IntN(60) {
		case 0:
			for _, e := range choir {
				w.RemoveEntity(e)
			}
			g.choirs = append(g.choirs[:i], g.choirs[i+1:]...)
			i--
			g.met["choirs"]++
		case 1, 2, 3, 4, 5, 6:
			g.verse++
			for _, e := range choir {
				verses.Get(e).N = g.verse
			}
		case 7:
			if len(choir) > 1 { // one leaves for good
				w.RemoveEntity(choir[len(choir)-1])
				g.choirs[i] = choir[:len(choir)-1]
			}
		case 8: // a member is seen by others, or not
			if id, ok := g.byEntity[choir[r.IntN(len(choir))]]; ok && g.rooms == nil && g.explicit == nil {
				client := netcode.ClientID(1 + r.IntN(3))
				if r.IntN(2) == 0 {
					g.net.Server.Hide(client, id)
				} else {
					g.net.Server.Show(client, id)
				}
			}
		}
	}
}

// looseOnes are entities that are in no world.
func (g *story) looseOnes() {
	r, s := g.r, g.net.Server.Server
	switch r.IntN(20) {
	case 0:
		if len(g.loose) < 5 {
			id := s.Spawn()
			_ = netcode.Put(s, id, &health{Points: 5})
			g.loose = append(g.loose, id)
			g.look(id)
		}
	case 1, 2, 3:
		if len(g.loose) > 0 {
			id := g.loose[r.IntN(len(g.loose))]
			_ = netcode.Put(s, id, &position{X: float32(r.IntN(50))})
			_ = netcode.Put(s, id, &storySlow{N: int32(r.IntN(50))})
			_ = netcode.Put(s, id, &storyBorn{Hat: uint8(r.IntN(50))})
		}
	case 4:
		if len(g.loose) > 0 {
			s.Despawn(g.loose[0])
			g.loose = g.loose[1:]
		}
	}
}

// collect changes some collections.
func (g *story) collect() {
	e, ok := g.some()
	id, named := g.byEntity[e]
	if !ok || !named {
		return
	}
	r, s := g.r, g.net.Server.Server
	list := g.list.Of(s, id)
	switch r.IntN(8) {
	case 0, 1:
		_ = list.Append(thing{Kind: uint16(r.IntN(100)), Of: id})
	case 2:
		if list.Len() > 0 {
			_ = list.Set(r.IntN(list.Len()), thing{Kind: uint16(r.IntN(100)), Wear: r.Float32()})
		}
	case 3:
		_ = g.set.Of(s, id).Add(r.Uint32N(30))
	case 4:
		_ = g.table.Of(s, id).Set(int16(r.IntN(10)), thing{Kind: 3})
	}
}

// valueOf is a component of an entity that has it.
func valueOf[T any](w *ecs.World, e ecs.Entity) *T {
	m := generic.NewMap[T](w)
	return m.Get(e)
}

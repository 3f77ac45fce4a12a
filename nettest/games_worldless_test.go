package nettest_test

import (
	"slices"

	"github.com/arche-netcode/netcode"
)

// Entities that are in no world at the server, but only said to it: Spawn, Put, Remove and Despawn.

// value is the state of an entity at the server.
func (g *match) value(e *gameEntity) gameValue {
	if e.said != nil {
		return *e.said
	}
	return g.world.value(e.Entity)
}

// everybody is the entities of the server's world and those of none.
func (g *match) everybody() []*gameEntity { return slices.Concat(g.all, g.worldless) }

// sayOne has an entity of no world born, changed or gone.
func (g *match) sayOne(*gameEntity) {
	s := g.net.Server.Server
	if len(g.worldless) < 4 && g.r.IntN(2) == 0 {
		e := &gameEntity{id: s.Spawn(), said: &gameValue{}}
		e.said[partFirst] = gameFirst{g.r.Int32()}
		g.put(netcode.Put(s, e.id, &gameFirst{e.said[partFirst].(gameFirst).V}))
		g.worldless = append(g.worldless, e)
		g.sight.born(e.id, g.r)
	}
	if len(g.worldless) == 0 {
		return
	}
	i := g.r.IntN(len(g.worldless))
	e := g.worldless[i]
	switch g.r.IntN(8) {
	case 0:
		g.hold(s.Despawn(e.id), e.id, "is not there to despawn")
		g.worldless = slices.Delete(g.worldless, i, i+1)
	case 1:
		if e.said[partExact] != nil {
			g.put(netcode.Remove[gameExact](s, e.id))
			e.said[partExact] = nil
		}
	case 2, 3:
		v := drawExact(g.r, gameExact{})
		g.put(netcode.Put(s, e.id, &v))
		e.said[partExact] = v
	case 4:
		g.changeThings(e)
	case 5:
		if c := g.someClient(); c != 0 {
			g.sight.change(c, e.id, g.r)
		}
	default:
		v := gameSpot{X: float32(g.r.IntN(400)) / 4}
		g.put(netcode.Put(s, e.id, &v))
		e.said[partSpot] = v
	}
}

func (g *match) put(err error) { g.hold(err == nil, "what was said of an entity of no world:", err) }

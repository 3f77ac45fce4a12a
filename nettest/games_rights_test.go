package nettest_test

import (
	"github.com/arche-netcode/netcode/authority"
	"github.com/arche-netcode/netcode/components"
)

// changeRights takes the right of owners within a tick, writes, and gives it back, in each way that a game has: the author gets what the
// server wrote, and nothing that it had on its way undoes that.
func (g *match) changeRights() {
	w := g.world
	for _, e := range g.all {
		if e.Entity.IsZero() || !w.Alive(e.Entity) || !w.Has(e.Entity, w.owner) || !w.Has(e.Entity, w.id[partMine]) || g.rights.IntN(24) > 0 {
			continue
		}
		owner, way := gameAt[components.Owner](w, e.Entity, w.owner), g.rights.IntN(4)
		keeps := owner.Client
		if keeps == 0 || e.id.IsZero() {
			continue
		}
		switch way {
		case 0:
			authority.Correct(g.net.Server.Server, e.id)
		case 1:
			owner.Client = 0
		case 2:
			g.net.Server.Server.SetOwner(e.id, 0)
		}
		if way == 3 || g.rights.IntN(4) > 0 {
			*gameAt[gameMine](w, e.Entity, w.id[partMine]) = drawMine(g.rights)
		}
		g.met["corrections"]++
		if way == 1 || way == 2 {
			g.met["rights taken for a tick"]++
			owner.Client = keeps
			g.net.Server.Server.SetOwner(e.id, keeps)
		}
	}
}

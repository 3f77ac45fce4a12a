package nettest_test

import (
	"github.com/arche-netcode/netcode/authority"
	"github.com/arche-netcode/netcode/components"
	ecs "github.com/arche-netcode/netcode/internal/world"
)

// changeRights takes rights to write within a tick, writes, and gives them back, in each way that a game has: the author gets what the
// server wrote, and nothing that it had on its way undoes that. Named clients come and go too.
func (g *match) changeRights() {
	w, server := g.world, g.net.Server.Server
	for _, e := range g.all {
		if g.protocol.lent && !e.id.IsZero() && g.rights.IntN(24) == 0 {
			g.met["rights lent"]++
			authority.Grant(server, e.id, g.players[g.rights.IntN(len(g.players))].ID())
		}
		if e.Entity.IsZero() || !w.Alive(e.Entity) || !ecs.Has(w.World, e.Entity, w.owner) || !ecs.Has(w.World, e.Entity, w.id[partMine]) || g.rights.IntN(24) > 0 {
			continue
		}
		owner, named, way := gameAt[components.Owner](w, e.Entity, w.owner), authority.Granted(server, e.id), g.rights.IntN(4)
		keeps := owner.Client
		if keeps == 0 || e.id.IsZero() {
			continue
		}
		switch way {
		case 0:
			authority.Correct(server, e.id)
		case 1:
			owner.Client = 0
			authority.Grant(server, e.id, 0)
		case 2:
			server.SetOwner(e.id, 0)
			authority.Grant(server, e.id, 0)
		}
		if way == 3 || g.rights.IntN(4) > 0 {
			*gameAt[gameMine](w, e.Entity, w.id[partMine]) = drawMine(g.rights)
		}
		g.met["corrections"]++
		if way == 1 || way == 2 {
			g.met["rights taken for a tick"]++
			owner.Client = keeps
			server.SetOwner(e.id, keeps)
			if g.protocol.lent {
				authority.Grant(server, e.id, named)
			}
		}
	}
}

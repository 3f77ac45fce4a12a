package move_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/move"
	"github.com/arche-netcode/netcode/transport"
)

// joined reports whether all players have a hero that they see.
func (r *rig) joined() bool {
	for _, p := range r.players {
		if _, ok := p.hero(); !ok {
			return false
		}
	}
	return true
}

func TestAPlayerMoves(t *testing.T) {
	r := newRig(t, 1, 2, 1, transport.Link{Delay: 50 * time.Millisecond})
	r.start()
	require.True(t, r.run(5*time.Second, r.joined))
	r.run(time.Second, func() bool { return false })
	client, ok := r.nodes[0].clientOf(0)
	require.True(t, ok)
	require.NoError(t, r.nodes[0].mover.Move(client, move.Destination{Server: r.nodes[1].address.String()}))
	require.True(t, r.run(5*time.Second, func() bool { return r.model.switches == 1 }))
	require.True(t, r.run(5*time.Second, func() bool { return len(r.nodes[0].clients()) == 0 }))
	t.Log(r.model.moved, r.model.errors, "seams", r.model.seams, "jumps", r.model.jumps, "longest", r.model.longest, r.nodes[0].mover.Stats(), r.nodes[1].mover.Stats())
}

// wander moves players to other servers, at random, until so many moves have begun. Now and then it kills a server.
func (r *rig) wander(moves int, kill float64) {
	begun := 0
	for r.frames < moves*60 && begun < moves {
		r.step()
		if r.random.Float64() < kill {
			r.kill(r.nodes[r.random.IntN(len(r.nodes))])
		}
		for _, p := range r.players {
			if s := p.mover.Shown(); s != nil && s.Systems.Client.State() == netcode.Disconnected && !p.mover.Moving() {
				p.mover.Start(move.Destination{Server: r.nodes[r.random.IntN(len(r.nodes))].address.String()}) // as a game's login does
			}
			from, to := r.nodes[r.random.IntN(len(r.nodes))], r.nodes[r.random.IntN(len(r.nodes))]
			client, ok := from.clientOf(p.number)
			if !ok || from == to || from.mover.Moving(client) || r.random.Float64() > .1 {
				continue
			}
			if err := from.mover.Move(client, move.Destination{Server: to.address.String()}); err == nil {
				begun++
			}
		}
	}
	r.quiet = true
	r.run(15*time.Second, func() bool { return false })
}

// kill ends a server, and starts it anew.
func (r *rig) kill(n *node) {
	r.model.kills++
	n.start()
}

func TestMoves(t *testing.T) {
	for _, kill := range []float64{0, .005} {
		r := newRig(t, 1, 3, 8, transport.Link{Delay: 50 * time.Millisecond, Loss: .05})
		r.start()
		require.True(t, r.run(10*time.Second, r.joined))
		r.wander(1000, kill)
		t.Log(r.now, "kills", r.model.kills, r.model.moved, "switches", r.model.switches, "failed", r.model.fails, "lost with their server", r.model.lost, "seams", r.model.seams, "jumps", r.model.jumps, "longest", r.model.longest)
		handled, told := r.model.checkMessages()
		t.Log("messages", len(r.model.messages), "handled", handled, "told", told, "of dead servers", r.model.untold)
		for _, n := range r.nodes {
			t.Logf("%+v", n.mover.Stats())
		}
		for text, n := range r.model.errors {
			t.Log(n, text)
		}
	}
}

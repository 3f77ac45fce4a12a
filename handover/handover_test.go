package handover_test

import (
	"flag"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/handover"
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
	left := -1
	r.nodes[0].mover.OnEnd(func(netcode.ClientID, handover.Outcome, error) {
		query := r.nodes[0].query()
		left = query.Count()
		query.Close()
	})
	require.NoError(t, r.nodes[0].mover.Move(client, handover.Destination{Server: r.nodes[1].address.String()}))
	require.True(t, r.run(5*time.Second, func() bool { return r.model.switches == 1 }))
	require.True(t, r.run(5*time.Second, func() bool { return len(r.nodes[0].clients()) == 0 }))
	require.Zero(t, left, "the hero is there still when OnEnd tells that it has moved")
	t.Log(r.model.moved, r.model.errors, "seams", r.model.seams, "jumps", r.model.jumps, "longest", r.model.longest, r.nodes[0].mover.Stats(), r.nodes[1].mover.Stats())
}

// wander moves players to other servers, at random, until so many moves have begun. Now and then it kills a server.
func (r *rig) wander(moves int, kill float64) {
	for begun := 0; begun < moves; {
		r.step()
		if r.random.Float64() < kill {
			r.kill(r.nodes[r.random.IntN(len(r.nodes))])
		}
		for _, p := range r.players {
			shown := p.mover.Shown()
			if shown != nil && shown.Systems.Client.State() == netcode.Disconnected && !p.mover.Moving() {
				p.mover.Start(r.destination(r.any(), p.number)) // as a game's login does
			}
			from, to := r.at(shown.Server), r.any()
			client, ok := from.clientOf(p.number)
			if !ok || from == to || r.random.Float64() > .3 {
				continue
			}
			if err := from.mover.Move(client, r.destination(to, p.number)); err == nil {
				begun++
			}
		}
	}
	r.quiet = true
	r.run(13*time.Second, func() bool { return false })
}

// any returns a server at random.
func (r *rig) any() *node { return r.nodes[r.random.IntN(len(r.nodes))] }

// kill ends a server, and starts it anew.
func (r *rig) kill(n *node) {
	r.model.kills++
	n.start()
}

var heavy = flag.Bool("heavy", false, "all of the moves, for several seeds")

// TestAThousandMoves moves players 1000 times (300 times without -heavy) over a line of 100 ms that loses 5 % in each direction, while servers are killed. The model
// fails if a player is lost or twice in the game, or a message is handled twice or forgotten.
func TestAThousandMoves(t *testing.T) {
	seeds, moves := uint64(1), 120
	if *heavy {
		seeds, moves = 5, 1000
	}
	for seed := range seeds {
		r := newRig(t, seed, 3, 8, transport.Link{Delay: 50 * time.Millisecond, Loss: .05})
		r.start()
		require.True(t, r.run(10*time.Second, r.joined))
		r.wander(moves, .01)
		m := r.model
		handled, told := m.checkMessages()
		t.Logf("%v: %d kills; moves that ended %v; switches %d, failed %d, players that died with a server %d; longest picture without news %v",
			r.now, m.kills, m.moved, m.switches, m.fails, m.lost, m.longest)
		t.Logf("%d messages: %d handled, %d told, %d of dead servers; inputs at a seam %v; jumps of the own hero %v", len(m.messages), handled, told, m.untold, m.seams, m.jumps)
		for text, n := range m.errors {
			t.Log(n, text)
		}
		require.Greater(t, m.kills, moves/100)
		require.Greater(t, m.moved[handover.Moved], moves*7/10)
		require.Greater(t, m.moved[handover.Stayed], 0)
		require.Zero(t, m.moved[handover.Unknown])
		require.LessOrEqual(t, m.longest, 100*time.Millisecond+2*time.Second/30, "a picture without news")
		holes := 0
		for ticks, n := range m.seams {
			if ticks < 0 || ticks > 2 { // The ticks of two servers do not begin together.
				holes += n
			}
		}
		require.Less(t, holes, moves/50, "inputs are lost or used twice: %v", m.seams)
	}
}

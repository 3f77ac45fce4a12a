package protocolpage_test

import (
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/wire"
)

// rest is rule 4: records against a tick T whose record has left the history of a client, which may be 2W ticks after T. One
// entity has no record after T. Another has later ones, with a row that it had not at T and with another reference; the
// client's acknowledgements of these are lost.
func (g *goldenRig) rest() {
	var still, changed, moves wire.NetworkID
	gear := func(s *snapshot.Store, lean float64) {
		s.Set(changed, rowGear, goldenLanes(s.Schema().Plan(rowGear), goldenGear{Grip: 2, Lean: lean}))
	}
	leash := func(s *snapshot.Store, to wire.NetworkID) {
		s.Set(changed, rowLeash, []uint32{to.Index, to.Generation, 1})
	}
	move := func(x float32) func(s *snapshot.Store) {
		return func(s *snapshot.Store) { g.body(s, moves, goldenBody{X: x, Rot: [4]float32{0, 0, 0, 1}}) }
	}
	g.at(func(s *snapshot.Store) {
		still, changed, moves = s.Spawn(), s.Spawn(), s.Spawn()
		g.body(s, still, goldenBody{X: 4, Y: 5, Rot: [4]float32{0, 0, 0, 1}})
		g.health(s, still, goldenHealth{Points: 7, Wide: 10})
		g.body(s, changed, goldenBody{X: -4, Y: 5, Rot: [4]float32{0, 0, 0, 1}})
		gear(s, 1)
		leash(s, still)
		move(1)(s)
	})
	spawned := g.Server.Tick()
	g.settled(5)
	g.mute, g.loseAll = true, true
	g.Change(func(s *snapshot.Store) {
		g.health(s, changed, goldenHealth{Points: 9, Wide: 10})
		leash(s, moves)
	})
	for range 5 { // Long frames, so that few packets are sent meanwhile.
		g.Now += 900 * time.Millisecond
		g.Step()
	}
	g.Change(move(2))
	require.Greater(g.T, g.Server.Tick()-spawned, 2*g.client.Replica().Window()+10)
	g.Change(func(s *snapshot.Store) {
		g.health(s, still, goldenHealth{Points: 8, Wide: 10})
		s.Remove(changed, rowHealth)
		gear(s, -1)
	})
	g.Run(time.Second / 10)
	g.mute, g.loseAll = false, false
	g.settled(5)
	g.Change(func(s *snapshot.Store) {
		for _, id := range []wire.NetworkID{still, changed, moves} {
			s.Despawn(id)
		}
	})
	g.settled(2)
}

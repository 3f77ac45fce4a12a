package protocolpage_test

import (
	"math"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/errs"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/wire"
)

// at changes the world in the next capture and lets the news travel.
func (g *goldenRig) at(f func(store *snapshot.Store)) {
	g.Change(f)
	g.Run(100 * time.Millisecond)
}

func (g *goldenRig) body(store *snapshot.Store, id wire.NetworkID, b goldenBody) {
	store.Set(id, rowBody, goldenLanes(store.Schema().Plan(rowBody), b))
}

func (g *goldenRig) health(store *snapshot.Store, id wire.NetworkID, h goldenHealth) {
	store.Set(id, rowHealth, goldenLanes(store.Schema().Plan(rowHealth), h))
}

// play is the session's first part: each kind of record, one at a time.
func (g *goldenRig) play() {
	var first, second, third wire.NetworkID
	g.at(func(s *snapshot.Store) {
		first, second = s.Spawn(), s.Spawn()
		g.body(s, first, goldenBody{X: 1.5, Y: 0.1, Rot: [4]float32{0, 0, 0, 1}, Turn: 0.5})
		g.health(s, first, goldenHealth{Points: 100, Total: -1, Charge: 0.1, Wide: 4294967306})
		g.body(s, second, goldenBody{X: -512, Rot: [4]float32{0.5, -0.5, 0.5, 0.5}, Turn: -3})
		s.Set(second, rowFrozen, nil)
	})
	g.at(func(s *snapshot.Store) {
		g.body(s, first, goldenBody{X: 3.25, Y: 7, Rot: [4]float32{0.1, 0.9, -0.3, -0.2}})
	})
	g.lose = true
	g.Change(func(s *snapshot.Store) {
		g.health(s, first, goldenHealth{Points: -5, Total: 1 << 40, Charge: -2, Down: true, Wide: 10})
	})
	g.Run(300 * time.Millisecond)
	require.NoError(g.T, netcode.Send(g.Server.Server, netcode.To(g.client.ID()), &goldenChat{From: 0, Text: [5]int8{'h', 'i', -1}}))
	require.NoError(g.T, netcode.Send(g.client.Client, netcode.ToServer(), &goldenChat{From: 1, Text: [5]int8{'y', 'o'}, Loud: true}))
	g.at(func(s *snapshot.Store) { s.Remove(second, rowFrozen) })
	g.at(func(s *snapshot.Store) {
		s.Despawn(first)
		g.body(s, second, goldenBody{X: 511.998, Rot: [4]float32{0, 1}})
	})
	g.at(func(s *snapshot.Store) { third = s.Spawn(); s.Set(third, rowFrozen, nil) })
	require.Equal(g.T, wire.NetworkID{Index: first.Index, Generation: 2}, third)
	g.client.Replica().Lose()
	g.Run(200 * time.Millisecond)
	g.at(func(s *snapshot.Store) {
		g.health(s, third, goldenHealth{Points: 1, Wide: 4294967295})
		g.body(s, second, goldenBody{X: 0.002, Y: -1e-5, Rot: [4]float32{-0.1, 0.2, 0.3, -0.9}, Turn: 3.1})
	})
	g.Run(time.Second) // Long enough for a KeepAlive.
	g.settled(2)
}

// settled waits until every client has everything.
func (g *goldenRig) settled(entities int) {
	g.Until(func() bool {
		for id := range g.Server.Clients {
			if stats, _ := g.Server.ClientStats(id); !stats.Synced {
				return false
			}
		}
		return true
	})
	require.Equal(g.T, entities, g.client.Replica().Len())
}

// goldenMotion has the entities that move from one capture to the next.
type goldenMotion struct {
	ids   []wire.NetworkID
	steps int // captures since the beginning
}

// advance moves everything on by one capture: in straight lines, turning steadily, one by fits and starts and one that rests
// half of the time.
func (g *goldenRig) advance(m *goldenMotion, s *snapshot.Store) {
	n := float32(m.steps)
	m.steps++
	for i, id := range m.ids {
		if !s.Alive(id) {
			continue
		}
		switch {
		case i == 4 && m.steps%20 < 10:
			continue
		case i == 5:
			n = float32(m.steps * m.steps % 97)
		}
		speed := 0.25 * float32(i+1)
		g.body(s, id, goldenBody{
			X: float32(speed*n) - 100, Y: 1000 - float32(1.5*speed*n),
			Rot: [4]float32{0.1, float32(0.03 * n), -0.3, 0.8}, Turn: float32(0.125 * n),
		})
	}
	if id := m.ids[1]; s.Alive(id) && m.steps%2 == 0 {
		g.health(s, id, goldenHealth{
			Points: int16(100 - m.steps), Total: int64(m.steps) << 31, Charge: float64(m.steps) / 8, Down: m.steps%8 == 0,
			Wide: 10 + uint64(m.steps)<<32/128,
		})
		s.Set(id, rowGear, goldenLanes(s.Schema().Plan(rowGear), goldenGear{Grip: n / 64, Lean: float64(m.steps%100)/50 - 1, Turn: float64(m.steps/8%2) * 3}))
	}
}

// move is the session's second part: a world in motion, with all components, groups and references, to a client that was
// there from the start and one that comes late and may not see everything.
func (g *goldenRig) move() {
	m := &goldenMotion{}
	ids := func() []wire.NetworkID { return m.ids }
	g.Change(func(s *snapshot.Store) {
		for range 6 {
			m.ids = append(m.ids, s.Spawn())
		}
		g.advance(m, s)
		leash := func(id, to wire.NetworkID, slack uint32) {
			s.Set(id, rowLeash, []uint32{to.Index, to.Generation, slack})
		}
		leash(ids()[1], ids()[0], 3)
		leash(ids()[3], ids()[2], 4)
		s.Set(ids()[1], rowChild, []uint32{2, ids()[2].Index, ids()[2].Generation})
		s.Set(ids()[1], rowFrozen, nil)
		s.SetGroup(ids()[2], 1)
		s.SetGroup(ids()[3], 1)
	})
	g.Server.Game = func(s *snapshot.Store) { g.advance(m, s) }
	g.Run(700 * time.Millisecond)
	about := &goldenChat{From: 9, Text: [5]int8{'m', 'o'}}
	require.NoError(g.T, netcode.Send(g.Server.Server, netcode.To(1), about, netcode.About(m.ids[2])))
	require.NoError(g.T, netcode.Send(g.Server.Server, netcode.To(1), about, netcode.About(m.ids[2]), netcode.AtOnce()))
	g.lose = true
	g.Run(500 * time.Millisecond)

	g.watch("late")
	g.interest = goldenInterest{from: 2, entity: m.ids[2], masked: m.ids[1]}
	g.late = g.Joined(g.protocol, netcode.Config{SendBudget: -1})
	require.Equal(g.T, g.interest.from, g.late.ID())
	g.Run(300 * time.Millisecond)
	g.Change(func(s *snapshot.Store) { s.Set(m.ids[1], rowLeash, []uint32{0, 0, 5}); g.advance(m, s) })
	g.Run(200 * time.Millisecond)
	g.mute = true
	g.client.Replica().Lose() // In the middle of it all.
	g.Run(300 * time.Millisecond)
	g.Change(func(s *snapshot.Store) {
		s.Despawn(m.ids[0])
		s.Remove(m.ids[1], rowFrozen)
		s.Remove(m.ids[1], rowGear)
		s.Set(m.ids[3], rowGear, goldenLanes(s.Schema().Plan(rowGear), goldenGear{Grip: -0.5, Lean: 1}))
	})
	g.Run(200 * time.Millisecond)
	g.Server.Game = nil
	g.settled(7)
	require.Equal(g.T, 6, g.late.Replica().Len(), "one is hidden")
	g.late.Close()
	g.Until(func() bool { return g.late.State() == netcode.Disconnected })
	g.Change(func(s *snapshot.Store) {
		for _, id := range m.ids {
			s.Despawn(id)
		}
	})
	g.settled(2)
}

// crowd is so many entities that a tick takes several packets, each of which leans on one of an earlier tick.
func (g *goldenRig) crowd() {
	var ids []wire.NetworkID
	all := func(s *snapshot.Store, charge float64) {
		for i, id := range ids {
			g.health(s, id, goldenHealth{
				Points: int16(i), Total: (int64(i) << 40) + int64(charge*1e9), Charge: charge / float64(i+3), Wide: 10 + uint64(charge*1e8) + 99*uint64(i),
			})
		}
	}
	g.at(func(s *snapshot.Store) {
		for range 80 {
			ids = append(ids, s.Spawn())
		}
		all(s, 1)
	})
	g.at(func(s *snapshot.Store) { all(s, math.Pi) })
	g.at(func(s *snapshot.Store) { all(s, 31.25) })
	g.at(func(s *snapshot.Store) {
		for _, id := range ids {
			s.Despawn(id)
		}
	})
	g.settled(2)
}

// drift is entities of floats alone: runs of them, one that is alone, one between two others that has more, and one that has less.
func (g *goldenRig) drift() {
	var ids []wire.NetworkID
	drift := func(s *snapshot.Store, id wire.NetworkID, n int) {
		s.Set(id, rowDrift, goldenLanes(s.Schema().Plan(rowDrift), goldenDrift{X: float32(n), Y: 0.1 * float32(n), Z: -1e-9}))
	}
	g.at(func(s *snapshot.Store) {
		for n := range 14 {
			id := s.Spawn()
			ids = append(ids, id)
			if n == 1 {
				g.health(s, id, goldenHealth{Points: 1, Wide: 10})
				continue
			}
			drift(s, id, n)
			switch n {
			case 6:
				g.health(s, id, goldenHealth{Points: 6, Wide: 10})
			case 9, 10, 11:
				s.Set(id, rowFrozen, nil)
			}
		}
	})
	g.at(func(s *snapshot.Store) {
		for n, id := range ids {
			if n != 1 {
				drift(s, id, n*n)
			}
		}
	})
	g.at(func(s *snapshot.Store) {
		for _, id := range ids {
			s.Despawn(id)
		}
	})
	g.settled(2)
}

// far is a client whose acknowledgements come late, so that records lean on what is several ticks old and on what is nearer, and
// one change that is lost while everything else moves on.
func (g *goldenRig) far() {
	var moves, rests wire.NetworkID
	n := 0
	g.at(func(s *snapshot.Store) {
		moves, rests = s.Spawn(), s.Spawn()
		g.body(s, rests, goldenBody{X: 1, Rot: [4]float32{0, 0, 0, 1}})
	})
	move := func(s *snapshot.Store) {
		n++
		g.body(s, moves, goldenBody{X: float32(n * n % 50), Rot: [4]float32{0.1, float32(n) / 32, -0.3, 0.8}})
	}
	g.Server.Game = move
	tick := g.client.Interval()
	g.Run(4 * tick)
	for i := range 16 {
		g.mute = i%4 != 3
		g.Run(tick)
	}
	g.mute, g.lose = false, true
	g.Change(func(s *snapshot.Store) {
		move(s)
		g.body(s, rests, goldenBody{X: 2, Rot: [4]float32{0, 0, 0, 1}})
	})
	g.Run(12 * tick)
	g.Server.Game = nil
	g.Change(func(s *snapshot.Store) { s.Despawn(moves); s.Despawn(rests) })
	g.settled(2)
}

// part is a clean close, a second session of the same address, and a close that the client never hears of.
func (g *goldenRig) part() {
	g.client.Close()
	g.Until(func() bool { return g.client.State() == netcode.Disconnected })
	require.NoError(g.T, g.client.Connect(g.Server.Conn.LocalAddr()))
	g.Until(func() bool { stats, ok := g.Server.ClientStats(g.client.ID()); return ok && stats.Known == 2 })
	g.lose, g.loseAll = true, true
	g.Server.Close(errs.ReasonNone)
	g.Until(g.Server.Closed)
}

package netcode_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/interest"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/wire"
)

// roundabout is a server with 16 clients along a line, and entities that go around on it: all of them come into every
// client's sight and leave it, again and again.
func roundabout(t testing.TB) *rig {
	p := protocol()
	r := newRig(t, p, netcode.Config{SendBudget: -1})
	grid := interest.NewGrid(interest.GridConfig{
		Position: interest.PositionOf(p.Schema(), func(at *position) (x, y, z float32) { return at.X, at.Y, 0 }),
		Enter:    20, Leave: 25, Near: 512, Far: 64,
	})
	r.server.SetInterest(interest.New(grid, interest.Despawn))
	r.server.OnConnect(func(client netcode.ClientID) { grid.Look(client, 20*float32(client), 0, 0) })
	const entities, length = 200, 400
	var ids []wire.NetworkID
	r.server.game = func(store *snapshot.Store) {
		for i := range entities {
			if len(ids) < entities {
				ids = append(ids, store.Spawn())
			}
			r.set(store, ids[i], float32((int(store.Tick())+2*i)%length))
		}
	}
	for range 16 {
		r.joined(p, netcode.Config{SendBudget: -1})
	}
	return r
}

func TestServerTickWithInterestAllocatesNothing(t *testing.T) {
	r := roundabout(t)
	for range 2000 {
		r.step()
	}
	require.Zero(t, testing.AllocsPerRun(200, r.step), "allocations of a frame of the server and its 16 clients")
	for id := range r.server.Clients {
		stats, _ := r.server.ClientStats(id)
		require.Greater(t, stats.Snapshot.Despawns, uint64(50))
		require.True(t, stats.Known > 15 && stats.Known < 30, "%d", stats.Known)
	}
}

// Without a policy everything is as it was shown; a new one starts from what clients hold.
func TestInterestIsReplaced(t *testing.T) {
	p := protocol()
	r := newRig(t, p, netcode.Config{SendBudget: -1})
	first, second := interest.NewExplicit(), interest.NewExplicit()
	r.server.SetInterest(interest.New(first, interest.Despawn))
	a, b := r.spawn(1), r.spawn(2)
	c := r.joined(p, netcode.Config{})
	holds := func(want ...wire.NetworkID) {
		t.Helper()
		r.until(func() bool {
			for _, id := range want {
				if _, ok := r.x(c, id); !ok {
					return false
				}
			}
			return c.Replica().Len() == len(want)
		})
	}
	first.Show(1, a)
	holds(a)
	second.Show(1, b)
	r.server.SetInterest(interest.New(second, interest.Despawn))
	holds(b)
	r.server.SetInterest(nil)
	r.run(frameTime * 10)
	holds(b)
	require.True(t, r.server.Show(1, a))
	holds(a, b)
	r.server.SetInterest(interest.New(interest.All(), interest.Despawn))
	d := r.spawn(3)
	holds(a, b, d)
}

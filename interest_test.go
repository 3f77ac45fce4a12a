package netcode_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/interest"
	"github.com/arche-netcode/netcode/internal/alloctest"
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
	alloctest.Zero(t, 200, r.step, "allocations of a frame of the server and its 16 clients")
	for id := range r.server.Clients {
		stats, _ := r.server.ClientStats(id)
		require.Greater(t, stats.Snapshot.Despawns, uint64(50))
		require.True(t, stats.Known > 15 && stats.Known < 30, "%d", stats.Known)
	}
}

// Without a policy everything is shown, and a new one starts from what clients hold.
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
	holds(a, b)
	d := r.spawn(3)
	holds(a, b, d)
	second.Show(1, a)
	second.Show(1, b) // It has forgotten the client.
	r.server.SetInterest(interest.New(second, interest.Despawn))
	holds(a, b)
	r.server.SetInterest(interest.New(interest.All(), interest.Despawn))
	e := r.spawn(4)
	holds(a, b, d, e)
}

// What a policy did to a view ends with it, in rooms and where clients keep what leaves their sight too; what Hide does after it
// holds, and nil where there is no policy is nothing.
func TestInterestEnds(t *testing.T) {
	for _, leaving := range []interest.Leaving{interest.Despawn, interest.Keep} {
		p := protocol()
		r := newRig(t, p, netcode.Config{SendBudget: -1})
		c := r.joined(p, netcode.Config{})
		a, b := r.spawn(1), r.spawn(2)
		r.sees(c, b, 2)
		rooms := interest.NewRooms()
		rooms.Add(a, 1)
		rooms.Enter(1, 1)
		none := func(*snapshot.Store, netcode.ClientID, wire.NetworkID) snapshot.Mask { return snapshot.Mask{} }
		r.server.SetInterest(interest.New(interest.NewRows(rooms, none), leaving))
		r.run(frameTime * 20)
		require.False(t, r.server.Visible(1, b))
		require.True(t, r.server.Visible(1, a))
		require.Zero(t, c.Replica().Entity(a.Index).Mask, "no component of it")

		r.server.SetInterest(nil)
		require.True(t, r.server.Visible(1, b))
		require.True(t, r.server.Hide(1, a))
		r.server.SetInterest(nil)
		require.False(t, r.server.Visible(1, a), "hidden without a policy")
		d := r.spawn(3)
		require.True(t, r.server.Visible(1, d))
		r.sees(c, b, 2)
		r.sees(c, d, 3)
		require.True(t, r.server.Show(1, a))
		r.sees(c, a, 1)
		require.Equal(t, 3, c.Replica().Len())
		r.change(func(store *snapshot.Store) { r.set(store, b, 7) })
		r.sees(c, b, 7)
	}
}

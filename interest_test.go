package netcode_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/errs"
	"github.com/arche-netcode/netcode/interest"
	"github.com/arche-netcode/netcode/internal/alloctest"
	"github.com/arche-netcode/netcode/internal/casebook"
	"github.com/arche-netcode/netcode/internal/rig"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/wire"
)

// roundabout is a server with 16 clients along a line, and entities that go around on it: all of them come into every
// client's sight and leave it, again and again.
func roundabout(t testing.TB) *rig.Rig {
	p := protocol()
	r := rig.New(t, p, netcode.Config{SendBudget: -1})
	grid := interest.NewGrid(interest.GridConfig{
		Position: interest.PositionOf(p.Schema(), func(at *position) (x, y, z float32) { return at.X, at.Y, 0 }),
		Enter:    20, Leave: 25, Near: 512, Far: 64,
	})
	r.Server.SetInterest(interest.New(grid, interest.Despawn))
	r.Server.OnConnect(func(client netcode.ClientID) { grid.Look(client, 20*float32(client), 0, 0) })
	const entities, length = 200, 400
	var ids []wire.NetworkID
	r.Server.Game = func(store *snapshot.Store) {
		for i := range entities {
			if len(ids) < entities {
				ids = append(ids, store.Spawn())
			}
			r.Set(store, ids[i], float32((int(store.Tick())+2*i)%length))
		}
	}
	for range 16 {
		r.Joined(p, netcode.Config{SendBudget: -1})
	}
	return r
}

func TestServerTickWithInterestAllocatesNothing(t *testing.T) {
	r := roundabout(t)
	for range 2000 {
		r.Step()
	}
	alloctest.Zero(t, 200, r.Step, "allocations of a frame of the server and its 16 clients")
	for id := range r.Server.Clients {
		stats, _ := r.Server.ClientStats(id)
		require.Greater(t, stats.Snapshot.Despawns, uint64(50))
		require.True(t, stats.Known > 15 && stats.Known < 30, "%d", stats.Known)
	}
}

// The effect of a policy on a view ends with the policy. The same holds with rooms, and where clients keep entities that leave
// their sight. An entity that Hide hides afterwards stays hidden. SetInterest(nil) has no effect where there is no policy.
func TestInterestEnds(t *testing.T) {
	for _, leaving := range []interest.Leaving{interest.Despawn, interest.Keep} {
		p := protocol()
		r := rig.New(t, p, netcode.Config{SendBudget: -1})
		c := r.Joined(p, netcode.Config{})
		a, b := r.Spawn(1), r.Spawn(2)
		r.Sees(c, b, 2)
		rooms := interest.NewRooms()
		rooms.Add(a, 1)
		rooms.Enter(1, 1)
		none := func(*snapshot.Store, netcode.ClientID, wire.NetworkID) snapshot.Mask {
			return interest.MaskOf[position](p.Schema()).Not()
		}
		r.Server.SetInterest(interest.New(interest.NewRows(rooms, none), leaving))
		r.Run(rig.FrameTime * 20)
		require.False(t, r.Server.Visible(1, b))
		require.True(t, r.Server.Visible(1, a))
		require.Zero(t, c.Replica().Entity(a.Index).Mask, "no component of it")

		r.Server.SetInterest(nil)
		require.True(t, r.Server.Visible(1, b))
		require.True(t, r.Server.Hide(1, a))
		r.Server.SetInterest(nil)
		require.False(t, r.Server.Visible(1, a), "hidden without a policy")
		d := r.Spawn(3)
		require.True(t, r.Server.Visible(1, d))
		r.Sees(c, b, 2)
		r.Sees(c, d, 3)
		require.True(t, r.Server.Show(1, a))
		r.Sees(c, a, 1)
		require.Equal(t, 3, c.Replica().Len())
		r.Change(func(store *snapshot.Store) { r.Set(store, b, 7) })
		r.Sees(c, b, 7)
	}
}

// A client for which nobody says where it looks from sees nothing: the server is told once, and not of one that looks, or that another
// policy shows something.
func TestAClientWithoutAViewpointIsToldOf(t *testing.T) {
	p := protocol()
	type grid = *interest.Grid
	rooms := interest.NewRooms()
	nobody := func(*snapshot.Store, netcode.NetworkID) (id netcode.NetworkID, ok bool) { return id, false }
	for name, test := range map[string]struct {
		policy func(g grid) interest.Policy
		looks  bool
		told   int
	}{
		"a grid":             {func(g grid) interest.Policy { return g }, false, 1},
		"a grid, looking":    {func(g grid) interest.Policy { return g }, true, 0},
		"both":               {func(g grid) interest.Policy { return interest.Both(rooms, g) }, false, 1},
		"both, looking":      {func(g grid) interest.Policy { return interest.Both(rooms, g) }, true, 0},
		"any":                {func(g grid) interest.Policy { return interest.Any(g, rooms) }, false, 0},
		"any of grids":       {func(g grid) interest.Policy { return interest.Any(g, g) }, false, 1},
		"rows":               {func(g grid) interest.Policy { return interest.NewRows(g, nil) }, false, 1},
		"children":           {func(g grid) interest.Policy { return interest.NewChildren(g, nobody) }, false, 1},
		"a team":             {func(g grid) interest.Policy { return interest.NewTeams(g) }, false, 1},
		"a team, looking":    {func(g grid) interest.Policy { return interest.NewTeams(g) }, true, 0},
		"what has no places": {func(g grid) interest.Policy { return rooms }, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			g := interest.NewGrid(interest.GridConfig{
				Position: interest.PositionOf(p.Schema(), func(at *position) (x, y, z float32) { return at.X, at.Y, 0 }), Enter: 20,
			})
			r := rig.New(t, p, netcode.Config{})
			r.Server.SetInterest(interest.New(test.policy(g), interest.Despawn))
			r.Server.OnConnect(func(client netcode.ClientID) {
				if test.looks {
					g.Look(client, 1, 1, 1)
				}
			})
			r.Spawn(1)
			r.Joined(p, netcode.Config{})
			r.Run(time.Second)
			require.Empty(t, r.Server.Errors, "it has some time")
			r.Run(5 * time.Second)
			require.Len(t, r.Server.Errors, test.told)
			if test.told > 0 {
				var told *errs.ViewpointError
				require.ErrorAs(t, r.Server.Errors[0], &told)
				require.EqualValues(t, 1, told.Client)
				require.Contains(t, told.Error(), "Follow or Look")
			}
		})
	}
}

// TestAViewpointThatGoesIsToldOf: what counts is ticks one behind the other, whenever they come.
func TestAViewpointThatGoesIsToldOf(t *testing.T) {
	p := protocol()
	g := interest.NewGrid(interest.GridConfig{
		Position: interest.PositionOf(p.Schema(), func(at *position) (x, y, z float32) { return at.X, at.Y, 0 }), Enter: 20,
	})
	r := rig.New(t, p, netcode.Config{})
	r.Server.SetInterest(interest.New(g, interest.Despawn))
	c := r.Joined(p, netcode.Config{})
	gone := float32(math.NaN())
	for range 10 { // blind for a second, and then not
		r.Run(time.Second)
		g.Look(c.ID(), 1, 1, 1)
		r.Run(100 * time.Millisecond)
		g.Look(c.ID(), gone, gone, gone)
	}
	require.Empty(t, r.Server.Errors)
	r.Run(6 * time.Second)
	require.Len(t, r.Server.Errors, 1)
}

// flapping is a world whose entities, and a component of each, come into client 1's sight and leave it all the time. As
// long as either is hidden, it holds a marker.
type flapping struct {
	*rig.Rig
	explicit *interest.Explicit
	sight    *interest.Interest
	random   *rand.Rand
	ids      []wire.NetworkID
	open     map[wire.NetworkID]bool // whether client 1 may see the marked components
}

func newFlapping(t *testing.T, seed uint64, leaving interest.Leaving) *flapping {
	p := netcode.NewProtocol()
	netcode.Replicate[position](p)
	netcode.Replicate[marked](p)
	netcode.Replicate[tagged](p)
	f := &flapping{
		Rig: rig.New(t, p, netcode.Config{SendBudget: -1}), explicit: interest.NewExplicit(),
		random: rand.New(rand.NewPCG(47, seed)), open: map[wire.NetworkID]bool{},
	}
	rows := interest.NewRows(f.explicit, func(_ *snapshot.Store, _ wire.ClientID, id wire.NetworkID) snapshot.Mask {
		if f.open[id] {
			return snapshot.AllRows()
		}
		schema := f.Server.Store().Schema()
		return interest.MaskOf[marked](schema).Union(interest.MaskOf[tagged](schema)).Not()
	})
	f.sight = interest.New(rows, leaving)
	f.Server.SetInterest(f.sight)
	f.Server.Game = f.play
	return f
}

func (f *flapping) play(store *snapshot.Store) {
	for len(f.ids) < 40 {
		f.ids = append(f.ids, store.Spawn())
	}
	for i, id := range f.ids {
		if f.random.IntN(200) == 0 {
			store.Despawn(id)
			f.ids[i] = store.Spawn()
			id = f.ids[i]
		}
		if f.random.IntN(2) == 0 {
			if f.random.IntN(2) == 0 {
				f.explicit.Show(1, id)
			} else {
				f.explicit.Hide(1, id)
			}
		}
		if f.random.IntN(3) == 0 {
			f.open[id] = !f.open[id]
			f.sight.Refresh(id)
		}
		visible := f.explicit.Shown(1, id)
		head := uint64(0x111111111111)
		if !visible || !f.open[id] {
			head = markerHead
		}
		marker := head<<16 | uint64(f.random.Uint32N(1<<16))
		of := f.ids[f.random.IntN(len(f.ids))]
		store.Set(id, rowMarked, []uint32{uint32(marker), uint32(marker >> 32), of.Index, of.Generation})
		if tag := store.Row(id, rowTagged); f.random.IntN(3) > 0 || head == markerHead || tag == nil || tag[1]>>16 != 0x1111 {
			store.Set(id, rowTagged, []uint32{uint32(marker), uint32(marker >> 32)})
		}
		x := float32(f.random.IntN(1000))
		if !visible {
			x = -1
		}
		f.Set(store, id, x)
	}
}

// Catalogue case 47, of visibility: it changes each tick, of entities and of their components, at 30 % loss. No packet
// and nothing that is decoded holds what was hidden; when all comes to rest the client holds exactly what it may see, in
// its newest state.
func TestCase47VisibilityFlaps(t *testing.T) {
	for seed := range uint64(6) {
		for _, leaving := range []interest.Leaving{interest.Despawn, interest.Keep} {
			t.Run(fmt.Sprintf("seed %d leaving %d", seed, leaving), func(t *testing.T) {
				t.Parallel()
				f := newFlapping(t, seed, leaving)
				c := f.Join(f.Server.Protocol(), netcode.Config{})
				loss := 30
				f.Tamper = func(_, to transport.Addr, packet []byte) []byte {
					if to == c.Conn.LocalAddr() {
						require.False(t, holdsMarker(packet))
					}
					if f.random.IntN(100) < loss && c.State() == netcode.Connected {
						return nil
					}
					return packet
				}
				for range 600 {
					f.Step()
					f.requireNoSecret(c)
				}
				require.Equal(t, netcode.Connected, c.State())
				loss, f.Server.Game = 0, nil
				f.Run(2 * time.Second)
				f.requireNoSecret(c)
				f.requireSettled(c, leaving)
				casebook.Injected(t, 600, "frames in which sight flaps")
			})
		}
	}
}

func (f *flapping) requireNoSecret(c *rig.ClientEnd) {
	if c.Replica() == nil {
		return
	}
	for e := range c.Replica().All {
		x := c.Replica().Row(e.ID.Index, rowPlace)
		require.NotEqual(f.T, uint32(0xBF800000), x[0], "the place of a hidden one") // -1
		for _, row := range []int{rowMarked, rowTagged} {
			if lanes := c.Replica().Row(e.ID.Index, row); lanes != nil {
				require.NotEqual(f.T, uint64(markerHead), (uint64(lanes[1])<<32|uint64(lanes[0]))>>16)
			}
		}
	}
}

// requireSettled compares everything the client holds with everything it may see.
func (f *flapping) requireSettled(c *rig.ClientEnd, leaving interest.Leaving) {
	f.T.Helper()
	store, held := f.Server.Store(), 0
	for id := range store.All {
		e := c.Replica().Entity(id.Index)
		if !f.Server.Visible(1, id) {
			require.False(f.T, leaving == interest.Despawn && e.Alive, "%v", id)
			if e.Alive {
				require.Equal(f.T, id, e.ID)
				held++
			}
			continue
		}
		held++
		require.True(f.T, e.Alive && e.ID == id, "%v", id)
		require.Equal(f.T, store.Row(id, rowPlace), c.Replica().Row(id.Index, rowPlace))
		number := store.Row(id, rowTagged)
		lanes := slices.Clone(store.Row(id, rowMarked))
		if named := (wire.NetworkID{Index: lanes[2], Generation: lanes[3]}); !f.Server.Visible(1, named) {
			lanes[2], lanes[3] = 0, 0
		}
		if !f.open[id] {
			lanes, number = nil, nil
		}
		require.Equal(f.T, number, c.Replica().Row(id.Index, rowTagged), "%v", id)
		require.Equal(f.T, lanes, c.Replica().Row(id.Index, rowMarked), "%v", id)
	}
	require.Equal(f.T, held, c.Replica().Len(), "no entity that is dead")
	stats, ok := f.Server.ClientStats(1)
	require.True(f.T, ok)
	require.True(f.T, stats.Synced)
}

// A client that joins sees nothing before the policy has shown it: not in OnConnect, and not in frames between two network ticks.
func TestAJoiningClientIsNoSeer(t *testing.T) {
	p, heard := protocol(), 0
	netcode.Handle(p, func(*netcode.Context, *chat) { heard++ }, netcode.FromServer())
	r := rig.New(t, p, netcode.Config{})
	grid := interest.NewGrid(interest.GridConfig{
		Position: interest.PositionOf(p.Schema(), func(at *position) (x, y, z float32) { return at.X, at.Y, 0 }),
		Enter:    20,
	})
	r.Server.SetInterest(interest.New(grid, interest.Despawn))
	var near, far wire.NetworkID
	r.Server.Game = func(store *snapshot.Store) {
		if near.IsZero() {
			near, far = store.Spawn(), store.Spawn()
		}
		r.Set(store, near, 1)
		r.Set(store, far, 1000)
	}
	for range 10 {
		r.Step()
	}
	said := 0
	r.Server.OnConnect(func(client netcode.ClientID) {
		grid.Look(client, 0, 0, 0)
		require.False(t, r.Server.Visible(client, far))
		require.NoError(t, netcode.Send(r.Server.Server, netcode.ToSeers(far), &chat{7}))
		said++
	})
	r.Joined(p, netcode.Config{})
	for range 50 {
		r.Step()
	}
	require.Equal(t, 1, said)
	require.Zero(t, heard)
	require.True(t, r.Server.Visible(1, near))
	require.False(t, r.Server.Visible(1, far))
}

package netcode_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/interest"
	"github.com/arche-netcode/netcode/internal/casebook"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/wire"
)

// flapping is a world whose entities, and a component of each, come into client 1's sight and leave it all the time. As
// long as either is hidden, it holds a marker.
type flapping struct {
	*rig
	explicit *interest.Explicit
	rows     *interest.Rows
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
		rig: newRig(t, p, netcode.Config{SendBudget: -1}), explicit: interest.NewExplicit(),
		random: rand.New(rand.NewPCG(47, seed)), open: map[wire.NetworkID]bool{},
	}
	f.rows = interest.NewRows(f.explicit, func(_ *snapshot.Store, _ wire.ClientID, id wire.NetworkID) snapshot.Mask {
		if f.open[id] {
			return snapshot.AllRows()
		}
		schema := f.server.Store().Schema()
		return interest.MaskOf[marked](schema).Union(interest.MaskOf[tagged](schema)).Not()
	})
	f.server.SetInterest(interest.New(f.rows, leaving))
	f.server.game = f.play
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
			f.rows.Refresh(id)
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
		f.set(store, id, x)
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
				c := f.join(f.server.Protocol(), netcode.Config{})
				loss := 30
				f.tamper = func(_, to transport.Addr, packet []byte) []byte {
					if to == c.conn.LocalAddr() {
						require.False(t, holdsMarker(packet))
					}
					if f.random.IntN(100) < loss && c.State() == netcode.Connected {
						return nil
					}
					return packet
				}
				for range 600 {
					f.step()
					f.requireNoSecret(c)
				}
				require.Equal(t, netcode.Connected, c.State())
				loss, f.server.game = 0, nil
				f.run(2 * time.Second)
				f.requireNoSecret(c)
				f.requireSettled(c, leaving)
				casebook.Injected(t, 600, "frames in which sight flaps")
			})
		}
	}
}

func (f *flapping) requireNoSecret(c *clientEnd) {
	if c.Replica() == nil {
		return
	}
	for e := range c.Replica().All {
		x := c.Replica().Row(e.ID.Index, rowPlace)
		require.NotEqual(f.t, uint32(0xBF800000), x[0], "the place of a hidden one") // -1
		for _, row := range []int{rowMarked, rowTagged} {
			if lanes := c.Replica().Row(e.ID.Index, row); lanes != nil {
				require.NotEqual(f.t, uint64(markerHead), (uint64(lanes[1])<<32|uint64(lanes[0]))>>16)
			}
		}
	}
}

// requireSettled compares everything the client holds with everything it may see.
func (f *flapping) requireSettled(c *clientEnd, leaving interest.Leaving) {
	f.t.Helper()
	store, held := f.server.Store(), 0
	for id := range store.All {
		e := c.Replica().Entity(id.Index)
		if !f.server.Visible(1, id) {
			require.False(f.t, leaving == interest.Despawn && e.Alive, "%v", id)
			if e.Alive {
				require.Equal(f.t, id, e.ID)
				held++
			}
			continue
		}
		held++
		require.True(f.t, e.Alive && e.ID == id, "%v", id)
		require.Equal(f.t, store.Row(id, rowPlace), c.Replica().Row(id.Index, rowPlace))
		number := store.Row(id, rowTagged)
		lanes := slices.Clone(store.Row(id, rowMarked))
		if named := (wire.NetworkID{Index: lanes[2], Generation: lanes[3]}); !f.server.Visible(1, named) {
			lanes[2], lanes[3] = 0, 0
		}
		if !f.open[id] {
			lanes, number = nil, nil
		}
		require.Equal(f.t, number, c.Replica().Row(id.Index, rowTagged), "%v", id)
		require.Equal(f.t, lanes, c.Replica().Row(id.Index, rowMarked), "%v", id)
	}
	require.Equal(f.t, held, c.Replica().Len(), "no entity that is dead")
	stats, ok := f.server.ClientStats(1)
	require.True(f.t, ok)
	require.True(f.t, stats.Synced)
}

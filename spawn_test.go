package netcode_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/internal/alloctest"
	"github.com/arche-netcode/netcode/snapshot"
)

// alone is a server that nobody captures for; tick runs a frame with a network tick.
func alone(t testing.TB) (s *netcode.Server, tick func()) {
	s, err := netcode.NewServer(protocol(), netcode.Config{Random: random(3)})
	require.NoError(t, err)
	now := time.Second
	s.BeginFrame(now)
	return s, func() {
		for due := false; !due; due = s.TickDue() {
			now += frameTime
			s.BeginFrame(now)
		}
		s.Send()
	}
}

// An entity without a world is to clients like any other.
func TestSpawnPutDespawn(t *testing.T) {
	r := newRig(t, protocol(), netcode.Config{})
	c := r.joined(protocol(), netcode.Config{})
	r.server.game = func(*snapshot.Store) { r.server.Publish() }
	captured := foreign(r.t, r.server.Store())
	id := r.server.Spawn()
	require.NotEqual(t, captured, id)
	require.False(t, r.server.Store().Alive(id), "not before the next capture")
	require.NoError(t, netcode.Put(r.server.Server, id, &position{X: 4}))
	require.NoError(t, netcode.Put(r.server.Server, id, &health{Points: 9}))
	r.sees(c, id, 4)
	require.NoError(t, netcode.Put(r.server.Server, id, &position{X: 5}))
	require.NoError(t, netcode.Remove[health](r.server.Server, id))
	r.sees(c, id, 5)
	require.Equal(t, 1, c.Replica().Entity(id.Index).Mask.Count())
	require.True(t, r.server.Despawn(id))
	require.False(t, r.server.Despawn(id), "once")
	r.until(func() bool { return !c.Replica().Entity(id.Index).Alive })
	require.ErrorIs(t, netcode.Put(r.server.Server, id, &position{}), netcode.ErrNotSpawned)
	require.Empty(t, r.server.errors)
}

// foreign spawns an entity of somebody else between Begin and Commit.
func foreign(t testing.TB, store *snapshot.Store) netcode.NetworkID {
	store.Begin(store.Tick() + 1)
	defer store.Commit()
	id := store.Spawn()
	require.False(t, id.IsZero())
	return id
}

func TestPutRefuses(t *testing.T) {
	type homing struct {
		At netcode.NetworkID `net:"entity"`
	}
	p := protocol()
	netcode.Replicate[follows](p)
	netcode.Replicate[homing](p)
	s, err := netcode.NewServer(p, netcode.Config{Random: random(3)})
	require.NoError(t, err)
	other := foreign(t, s.Store())
	id := s.Spawn()
	require.ErrorIs(t, netcode.Put(s, other, &position{}), netcode.ErrNotSpawned)
	require.ErrorIs(t, netcode.Remove[position](s, other), netcode.ErrNotSpawned)
	require.False(t, s.Despawn(other))
	require.ErrorIs(t, netcode.Put(s, netcode.NetworkID{}, &position{}), netcode.ErrNotSpawned)
	require.ErrorIs(t, netcode.Put(s, netcode.NetworkID{Index: math.MaxUint32, Generation: 1}, &position{}), netcode.ErrNotSpawned)
	require.ErrorIs(t, netcode.Put(s, id, &chat{}), netcode.ErrNoComponent)
	require.ErrorIs(t, netcode.Put[position](s, id, nil), netcode.ErrNoValue)
	require.ErrorIs(t, netcode.Put[chat](s, id, nil), netcode.ErrNoComponent)
	require.ErrorIs(t, netcode.Put(s, id, &follows{}), netcode.ErrHoldsHandles)
	err = netcode.Put(s, id, &position{Y: float32(math.NaN())})
	require.Equal(t, "netcode: field Y of position is not finite", err.Error())
	require.NoError(t, netcode.Put(s, id, &homing{At: other}))
	s.Store().Begin(7)
	s.Publish()
	s.Store().Commit()
	require.Equal(t, []uint32{other.Index, other.Generation}, s.Store().Row(id, 2))
	require.Equal(t, 1, s.Store().Mask(id).Count(), "what was refused is not there")
	require.True(t, s.Store().Alive(other), "what others spawned is left alone")
}

// Any commands between any captures come to what a map says.
func TestPutAgainstAMap(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s, tick := alone(t)
		model := map[netcode.NetworkID]map[int]uint32{}
		var all []netcode.NetworkID
		for range rapid.IntRange(1, 25).Draw(rt, "ticks") {
			for range rapid.IntRange(0, 6).Draw(rt, "commands") {
				if what := rapid.IntRange(0, 5).Draw(rt, "what"); what == 0 || len(all) == 0 {
					id := s.Spawn()
					require.NotContains(rt, model, id)
					model[id], all = map[int]uint32{}, append(all, id)
					continue
				} else if id := rapid.SampledFrom(all).Draw(rt, "id"); what == 1 {
					require.Equal(rt, model[id] != nil, s.Despawn(id))
					model[id] = nil
				} else if n := rapid.Uint16().Draw(rt, "n"); what == 2 {
					require.Equal(rt, model[id] == nil, netcode.Remove[health](s, id) != nil)
					delete(model[id], 0)
				} else if err := netcode.Put(s, id, &health{Points: n}); model[id] != nil {
					require.NoError(rt, err)
					model[id][0] = uint32(n)
				} else {
					require.ErrorIs(rt, err, netcode.ErrNotSpawned)
				}
			}
			tick()
			for _, id := range all {
				require.Equal(rt, model[id] != nil, s.Store().Alive(id))
				n, has := model[id][0]
				require.Equal(rt, has, s.Store().Mask(id).Has(0))
				if has {
					require.Equal(rt, []uint32{n}, s.Store().Row(id, 0))
				}
			}
		}
	})
}

func TestPutAllocatesNothing(t *testing.T) {
	s, tick := alone(t)
	id, n := s.Spawn(), uint16(0)
	run := func() {
		n++
		if netcode.Put(s, id, &health{Points: n}) != nil || netcode.Put(s, id, &position{X: float32(n)}) != nil {
			t.Fatal("cannot put")
		}
		tick()
	}
	for range 200 {
		run()
	}
	alloctest.Zero(t, 100, run)
	require.Equal(t, 2, s.Store().Changed())
}

package netcode_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/interest"
	"github.com/arche-netcode/netcode/internal/alloctest"
	"github.com/arche-netcode/netcode/internal/rig"
	"github.com/arche-netcode/netcode/snapshot"
)

// alone is a server that nobody captures for; tick runs a frame with a network tick.
func alone(t testing.TB) (s *netcode.Server, tick func()) {
	s, err := netcode.NewServer(protocol(), netcode.Config{Random: rig.Random(3)})
	require.NoError(t, err)
	now := time.Second
	s.BeginFrame(now)
	return s, func() {
		for due := false; !due; due = s.TickDue() {
			now += rig.FrameTime
			s.BeginFrame(now)
		}
		s.Send()
	}
}

// An entity without a world is to clients like any other.
func TestSpawnPutDespawn(t *testing.T) {
	r := rig.New(t, protocol(), netcode.Config{})
	c := r.Joined(protocol(), netcode.Config{})
	r.Server.Game = func(*snapshot.Store) { r.Server.Publish() }
	captured := foreign(r.T, r.Server.Store())
	id := r.Server.Spawn()
	require.NotEqual(t, captured, id)
	require.False(t, r.Server.Store().Alive(id), "not before the next capture")
	require.NoError(t, netcode.Put(r.Server.Server, id, &position{X: 4}))
	require.NoError(t, netcode.Put(r.Server.Server, id, &health{Points: 9}))
	r.Sees(c, id, 4)
	require.NoError(t, netcode.Put(r.Server.Server, id, &position{X: 5}))
	require.NoError(t, netcode.Remove[health](r.Server.Server, id))
	r.Sees(c, id, 5)
	require.Equal(t, 1, c.Replica().Entity(id.Index).Mask.Count())
	require.True(t, r.Server.Despawn(id))
	require.False(t, r.Server.Despawn(id), "once")
	r.Until(func() bool { return !c.Replica().Entity(id.Index).Alive })
	require.ErrorIs(t, netcode.Put(r.Server.Server, id, &position{}), netcode.ErrNotSpawned)
	require.Empty(t, r.Server.Errors)
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
	s, err := netcode.NewServer(p, netcode.Config{Random: rig.Random(3)})
	require.NoError(t, err)
	other := foreign(t, s.Store())
	id := s.Spawn()
	require.ErrorIs(t, netcode.Put(s, other, &position{}), netcode.ErrNotSpawned)
	require.ErrorIs(t, netcode.Remove[position](s, other), netcode.ErrNotSpawned)
	require.False(t, s.Despawn(other))
	require.ErrorIs(t, netcode.Put(s, netcode.NetworkID{}, &position{}), netcode.ErrNotSpawned)
	require.ErrorIs(t, netcode.Put(s, netcode.NetworkID{Index: math.MaxUint32, Generation: 1}, &position{}), netcode.ErrNotSpawned)
	require.ErrorIs(t, netcode.Put(s, id, &chat{}), netcode.ErrNoComponent)
	require.ErrorContains(t, netcode.Put[position](s, id, nil), "no component: Put of nil")
	require.ErrorIs(t, netcode.Put[chat](s, id, nil), netcode.ErrNoComponent)
	require.ErrorContains(t, netcode.Put(s, id, &follows{}), "the component holds handles of a world")
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

type (
	paced struct{ N uint32 }
	fixed struct{ N uint32 }
)

// pacing is a server that nobody captures for, of a protocol with the options of capture.
func pacing(t *testing.T, more ...func(*netcode.Protocol)) (s *netcode.Server, tick func()) {
	p := protocol()
	netcode.Replicate[paced](p, netcode.Every(5))
	netcode.Replicate[fixed](p, netcode.Once())
	for _, f := range more {
		f(p)
	}
	s, err := netcode.NewServer(p, netcode.Config{Random: rig.Random(3)})
	require.NoError(t, err)
	now := time.Second
	s.BeginFrame(now)
	return s, func() {
		for due := false; !due; due = s.TickDue() {
			now += rig.FrameTime
			s.BeginFrame(now)
		}
		s.Send()
	}
}

// value is the only lane of a component, -1 where the entity lacks it.
func value[T any](s *netcode.Server, id netcode.NetworkID) int {
	lanes := s.Store().Row(id, interest.RowOf[T](s.Store().Schema()))
	if lanes == nil {
		return -1
	}
	return int(lanes[0])
}

func TestPutKeepsToThePaceOfCaptures(t *testing.T) {
	s, tick := pacing(t)
	id := s.Spawn()
	put := func(n uint32) {
		require.NoError(t, netcode.Put(s, id, &paced{n}))
		require.NoError(t, netcode.Put(s, id, &fixed{n}))
		require.NoError(t, netcode.Put(s, id, &health{Points: uint16(n)}))
	}
	put(1)
	put(2)
	tick()
	require.Equal(t, 2, value[paced](s, id))
	require.Equal(t, 2, value[fixed](s, id), "before the first capture it may change")
	changes, before := 0, 2
	for n := range uint32(50) {
		put(10 + n)
		tick()
		require.Equal(t, 2, value[fixed](s, id), "never again")
		require.EqualValues(t, 10+n, value[health](s, id))
		if now := value[paced](s, id); now != before {
			changes, before = changes+1, now
			require.EqualValues(t, 10+n, now, "the newest value has the turn")
		}
	}
	require.Equal(t, 10, changes)
	put(99)
	for range 5 {
		tick()
	}
	require.Equal(t, 99, value[paced](s, id), "the last value before rest travels too")

	require.NoError(t, netcode.Remove[fixed](s, id))
	put(7)
	require.NoError(t, netcode.Remove[paced](s, id))
	for range 6 {
		tick()
		require.Equal(t, -1, value[paced](s, id), "what waited went with it")
	}
	require.Equal(t, 7, value[fixed](s, id), "it was added anew")
}

func TestPutKeepsToTheRateOfItsEntity(t *testing.T) {
	s, tick := pacing(t)
	slow, normal := s.Spawn(), s.Spawn()
	require.NoError(t, netcode.Put(s, slow, &components.Rate{Every: 4}))
	changes, last := 0, -1
	for n := range uint16(41) {
		require.NoError(t, netcode.Put(s, slow, &health{Points: 1 + n}))
		require.NoError(t, netcode.Put(s, normal, &health{Points: 1 + n}))
		tick()
		require.EqualValues(t, 1+n, value[health](s, normal))
		if now := value[health](s, slow); now != last {
			changes, last = changes+1, now
		}
	}
	require.Equal(t, 11, changes, "when it was added, and each fourth tick")
	require.NoError(t, netcode.Remove[components.Rate](s, slow))
	require.NoError(t, netcode.Put(s, slow, &health{Points: 500}))
	tick()
	require.Equal(t, 500, value[health](s, slow))
	require.True(t, s.Despawn(slow))
	tick()
}

func TestRowsThatWaitForTheirTurnAllocateNothing(t *testing.T) {
	s, tick := pacing(t)
	id, n := s.Spawn(), uint32(0)
	run := func() {
		n++
		if netcode.Put(s, id, &paced{n}) != nil || netcode.Put(s, id, &components.Group{ID: 1 + n%2}) != nil {
			t.Fatal("cannot put")
		}
		tick()
	}
	for range 300 {
		run()
	}
	alloctest.Zero(t, 100, run)
}

// Where frames are longer than ticks, so that ticks are left out, the value that is newest at a turn travels, as of what capture finds.
func TestPutKeepsPaceWhereTicksAreLeftOut(t *testing.T) {
	p := protocol()
	netcode.Replicate[paced](p, netcode.Every(3))
	s, err := netcode.NewServer(p, netcode.Config{Random: rig.Random(3), TickRate: 60})
	require.NoError(t, err)
	now := time.Second
	s.BeginFrame(now)
	ids := []netcode.NetworkID{s.Spawn(), s.Spawn(), s.Spawn()}
	for n := range uint32(30) {
		for _, id := range ids {
			require.NoError(t, netcode.Put(s, id, &paced{n}))
		}
		now += 50 * time.Millisecond // three ticks
		s.BeginFrame(now)
		s.Send()
		for _, id := range ids {
			require.EqualValues(t, n, value[paced](s, id), "frame %d", n)
		}
	}
}

// A component that is put anew in the tick in which it was removed is new, however often it is put.
func TestPutAnewIsNotHeldBack(t *testing.T) {
	s, tick := pacing(t)
	id := s.Spawn()
	require.NoError(t, netcode.Put(s, id, &fixed{1}))
	tick()
	require.NoError(t, netcode.Remove[fixed](s, id))
	require.NoError(t, netcode.Put(s, id, &fixed{2}))
	require.NoError(t, netcode.Put(s, id, &fixed{3}))
	tick()
	require.Equal(t, 3, value[fixed](s, id))
	require.NoError(t, netcode.Put(s, id, &fixed{4}))
	tick()
	require.Equal(t, 3, value[fixed](s, id), "once is once")
}

// The values that are put to members of a group together travel together too.
func TestPutToMembersOfAGroupTravelsTogether(t *testing.T) {
	s, tick := pacing(t)
	var ids []netcode.NetworkID
	for range 6 {
		id := s.Spawn()
		require.NoError(t, netcode.Put(s, id, &components.Group{ID: 3}))
		ids = append(ids, id)
	}
	for n := range uint32(20) {
		for _, id := range ids {
			require.NoError(t, netcode.Put(s, id, &paced{1 + n}))
		}
		tick()
		for _, id := range ids {
			require.Equal(t, value[paced](s, ids[0]), value[paced](s, id), "round %d", n)
		}
	}
	require.Greater(t, value[paced](s, ids[0]), 10)
}

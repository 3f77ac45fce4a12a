package netcode_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/interest"
	"github.com/arche-netcode/netcode/internal/alloctest"
	"github.com/arche-netcode/netcode/snapshot"
)

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
	s, err := netcode.NewServer(p, netcode.Config{Random: random(3)})
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

func TestPutControls(t *testing.T) {
	for name, register := range map[string]func(*netcode.Protocol){
		"alone": func(*netcode.Protocol) {},
		"registered": func(p *netcode.Protocol) {
			netcode.Replicate[components.Owner](p)
			netcode.Replicate[components.Group](p)
			netcode.Replicate[components.Priority](p)
			netcode.Replicate[components.Rate](p)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, tick := pacing(t, register)
			id := s.Spawn()
			require.NoError(t, netcode.Put(s, id, &components.Owner{Client: 2}))
			require.NoError(t, netcode.Put(s, id, &components.Group{ID: 9}))
			require.NoError(t, netcode.Put(s, id, &components.Priority{Weight: 2}))
			tick()
			require.EqualValues(t, 2, s.Owner(id))
			require.Equal(t, []uint32{id.Index}, s.Store().Members(9))
			require.EqualValues(t, 2*snapshot.NormalWeight, s.Store().Priority(id))

			var unstorable *netcode.UnstorableError
			require.ErrorAs(t, netcode.Put(s, id, &components.Priority{Weight: 256}), &unstorable)
			require.ErrorAs(t, netcode.Put(s, id, &components.Priority{Weight: float32(math.NaN())}), &unstorable)
			require.ErrorIs(t, netcode.Put[components.Owner](s, id, nil), netcode.ErrNoValue)
			require.ErrorIs(t, netcode.Put(s, netcode.NetworkID{}, &components.Owner{}), netcode.ErrNotSpawned)
			require.NoError(t, netcode.Remove[components.Owner](s, id))
			require.NoError(t, netcode.Remove[components.Group](s, id))
			require.NoError(t, netcode.Remove[components.Priority](s, id))
			tick()
			require.Zero(t, s.Owner(id))
			require.Empty(t, s.Store().Members(9))
			require.EqualValues(t, snapshot.NormalWeight, s.Store().Priority(id))
		})
	}
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
	s, err := netcode.NewServer(p, netcode.Config{Random: random(3), TickRate: 60})
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

// What is put anew in the tick in which it was taken away is new, however often it is put.
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

// What is put to members of a group together travels together too.
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

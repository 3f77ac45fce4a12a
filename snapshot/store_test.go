package snapshot

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// EachAt against a list of the living that is copied at each tick.
func TestEachAtListsThoseThatLivedThen(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const window = 64
		s := NewStore(format.NewSchema(nil), Config{Window: window})
		was := map[tick.Tick][]wire.NetworkID{}
		for now := tick.Tick(1); now <= 90; now++ {
			s.Begin(now)
			for range rapid.IntRange(0, 2).Draw(t, "births") {
				s.Spawn()
			}
			for id := range s.All {
				if rapid.IntRange(0, 3).Draw(t, "dies") == 0 {
					s.Despawn(id)
				}
			}
			s.Commit()
			for id := range s.All {
				was[now] = append(was[now], id)
			}
		}
		for now := tick.Tick(0); now <= 92; now++ {
			var got []wire.NetworkID
			known := s.EachAt(now, func(id wire.NetworkID) bool { got = append(got, id); return true })
			require.Equal(t, now >= 90-window && now <= 90, known, "tick %d", now)
			if known {
				require.Equal(t, was[now], got, "tick %d", now)
			}
			if len(got) > 0 {
				seen := 0
				s.EachAt(now, func(wire.NetworkID) bool { seen++; return false })
				require.Equal(t, 1, seen)
			}
		}
	})
}

func TestChangesAreThoseOfTheNewestCapture(t *testing.T) {
	s := NewStore(simSchema(t), Config{})
	require.Empty(t, slices.Collect(s.Changes))
	var ids []wire.NetworkID
	s.Begin(1)
	for range 200 {
		ids = append(ids, s.Spawn())
	}
	s.Commit()
	require.Equal(t, ids, slices.Collect(s.Changes))
	s.Begin(2)
	s.Set(ids[150], rowHealth, []uint32{1})
	s.Set(ids[3], rowHealth, []uint32{1})
	s.Set(ids[4], rowHealth, []uint32{1})
	s.Despawn(ids[4])
	s.Commit()
	require.Equal(t, []wire.NetworkID{ids[3], ids[150]}, slices.Collect(s.Changes))
	s.Begin(3)
	s.Set(ids[3], rowHealth, []uint32{1})
	s.Remove(ids[150], rowHealth)
	s.Commit()
	require.Equal(t, []wire.NetworkID{ids[150]}, slices.Collect(s.Changes))
	for id := range s.Changes {
		require.Equal(t, ids[150], id)
		break
	}
	s.Begin(4)
	s.Commit()
	require.Empty(t, slices.Collect(s.Changes))
}

// Ids that are reserved and adopted are as unique as those of Spawn, whatever the order.
func TestReservedIDsAreNobodyElses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := NewStore(format.NewSchema(nil), Config{})
		given := map[wire.NetworkID]bool{}
		var living, reserved []wire.NetworkID
		fresh := func(id wire.NetworkID) wire.NetworkID {
			require.False(t, given[id], "%s was given out before", id)
			require.NotZero(t, id.Generation)
			given[id] = true
			return id
		}
		for now := tick.Tick(1); now < 20; now++ {
			for range rapid.IntRange(0, 3).Draw(t, "reserve") {
				reserved = append(reserved, fresh(s.Reserve()))
			}
			require.False(t, s.Open())
			s.Begin(now)
			require.True(t, s.Open())
			for range rapid.IntRange(0, 6).Draw(t, "steps") {
				switch rapid.IntRange(0, 3).Draw(t, "what") {
				case 0:
					living = append(living, fresh(s.Spawn()))
				case 1:
					if len(reserved) > 0 {
						s.Adopt(reserved[0])
						living, reserved = append(living, reserved[0]), reserved[1:]
					}
				case 2:
					reserved = append(reserved, fresh(s.Reserve()))
				case 3:
					if len(living) > 0 {
						s.Despawn(living[0])
						living = living[1:]
					}
				}
			}
			s.Commit()
			require.Equal(t, len(living), s.Len())
			for _, id := range living {
				require.True(t, s.Alive(id))
			}
			for _, id := range reserved {
				require.False(t, s.Alive(id))
			}
		}
	})
}

// TestGrowthIsCounted: what there was room for from the beginning is no growth, nor is an index that is used again.
func TestGrowthIsCounted(t *testing.T) {
	s := NewStore(simSchema(t), Config{Entities: 100})
	now := tick.Tick(1)
	turn := func(spawn int, despawn []wire.NetworkID) (born []wire.NetworkID) {
		s.Begin(now)
		for _, id := range despawn {
			s.Despawn(id)
		}
		for range spawn {
			born = append(born, s.Spawn())
		}
		s.Commit()
		now++
		return born
	}
	first := turn(100, nil)
	require.Zero(t, s.Grown())
	turn(1, nil)
	require.EqualValues(t, 1, s.Grown())
	turn(0, first)
	turn(20, nil)
	require.EqualValues(t, 1, s.Grown(), "there is room for some more now")
	turn(1000, nil)
	require.Greater(t, s.Grown(), uint64(1))
}

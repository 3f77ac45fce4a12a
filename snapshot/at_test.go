package snapshot

import (
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

package snapshot

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

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

package netecs

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/wire"
)

// TestARunThatIsLikeTheOneBefore is about clients to which the same entities come each tick, and then another thing: what the run before knew of them
// is not good for that.
func TestARunThatIsLikeTheOneBefore(t *testing.T) {
	const settled, turns = 6, 12
	whole := func(wire.NetworkID) bool { return true }
	cases := map[string]func(s *stretchServer, c *stretchClient){
		"nothing else": func(*stretchServer, *stretchClient) {},
		"all are others, at the same places": func(s *stretchServer, _ *stretchClient) {
			s.store.Begin(s.store.Tick() + 1)
			for _, id := range s.ids {
				s.store.Despawn(id)
			}
			s.ids = s.ids[:0]
			s.store.Commit()
			s.view.Observe()
		},
		"all have another row": func(s *stretchServer, _ *stretchClient) {
			s.store.Begin(s.store.Tick() + 1)
			for _, id := range s.ids {
				s.set(id, 3, 1000)
			}
			s.store.Commit()
			s.view.Observe()
		},
		"one is put back": func(s *stretchServer, c *stretchClient) { c.scribble(s.ids[3], 0, 1) },
		"one has come":    func(s *stretchServer, _ *stretchClient) { s.most++ },
		"nobody connects again": func(s *stretchServer, c *stretchClient) {
			c.apply.Clear()
			c.apply.Follow(c.replica)
		},
		"a run of nothing": func(_ *stretchServer, c *stretchClient) { c.run() },
		"the game moved them": func(s *stretchServer, c *stretchClient) {
			c.shuffle(s.ids, s.random)
		},
	}
	for name, other := range cases {
		for _, n := range []int{4, 9, 300} {
			s := newStretchServerOf(t, 4, n)
			fast, slow := newStretchClient(s, false, false), newStretchClient(s, true, false)
			for turn := range turns {
				if turn == settled {
					require.True(t, fast.apply.writing.lone, "%s, %d: nothing was like before", name, n)
					other(s, fast)
					if name == "one is put back" || name == "nobody connects again" || name == "a run of nothing" {
						other(s, slow)
					}
				}
				payloads := s.flowTurn(1000, []int{0, 1, 2})
				for _, p := range payloads {
					require.NoError(t, fast.replica.Read(p))
					require.NoError(t, slow.replica.Read(p))
				}
				fast.run()
				slow.run()
				require.Equal(t, DigestStore(s.store, s.schema, whole), Digest(&fast.world, s.schema), "%s, %d, turn %d", name, n, turn)
				require.Equal(t, slow.apply.Stats(), fast.apply.Stats(), "%s, %d, turn %d", name, n, turn)
				require.ElementsMatch(t, slow.changes, fast.changes, "%s, %d, turn %d", name, n, turn)
			}
			require.Equal(t, 1, len(fast.apply.legs))
			require.True(t, fast.apply.writing.lone, "%s, %d: nothing is like before", name, n)
		}
	}
}

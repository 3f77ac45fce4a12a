package netecs

import (
	"math/rand/v2"
	"testing"

	"github.com/mlange-42/arche/ecs"
	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/wire"
)

// TestWhatIsLeftOutIsComparedWhenItIsWritten holds a client whose scans leave out what is about to be overwritten against one that
// does not, where a game writes what is not its own: values, and here and there what makes the scan be made up for.
func TestWhatIsLeftOutIsComparedWhenItIsWritten(t *testing.T) {
	spared, found, madeUp := 0, 0, 0
	for seed := range uint64(30) {
		s := newStretchServer(t, seed)
		random := rand.New(rand.NewPCG(seed, 6))
		fast, slow := newStretchClient(s, false, false), newStretchClient(s, true, false)
		both := []*stretchClient{fast, slow}
		for turn := range 60 {
			often := []int{2, 1000}[random.IntN(2)]
			payloads := s.calmTurn(1+int(seed)*2, often)
			for range random.IntN(4) * random.IntN(2) {
				id, what, n := s.ids[random.IntN(len(s.ids))], random.IntN(5), random.IntN(2)
				if turn > 0 && random.IntN(30) == 0 {
					what = 6 + random.IntN(4)
				}
				for _, c := range both {
					c.scribble(id, what, n)
				}
			}
			for _, c := range both {
				for _, p := range payloads {
					require.NoError(t, c.replica.Read(p))
				}
				c.run()
			}
			require.Equal(t, slow.apply.Stats(), fast.apply.Stats(), "seed %d, turn %d", seed, turn)
			require.ElementsMatch(t, slow.reported(), fast.reported(), "seed %d, turn %d", seed, turn)
			require.Equal(t, slow.changes, fast.changes, "seed %d, turn %d", seed, turn)
			require.Equal(t, Digest(&slow.world, s.schema), Digest(&fast.world, s.schema), "seed %d, turn %d", seed, turn)
			fast.sameShadow(t, slow)
		}
		spared, found, madeUp = spared+fast.spared, found+fast.found, madeUp+fast.madeUp
		require.Zero(t, slow.spared)
	}
	require.NotZero(t, spared, "no scan left anything out")
	require.NotZero(t, found, "nothing was put back that a scan had left out")
	require.NotZero(t, madeUp, "no scan was made up for")
}

// calmTurn is a tick in which entities have new values and nothing else happens.
func (s *stretchServer) calmTurn(entities, often int) (payloads [][]byte) {
	s.store.Begin(s.store.Tick() + 1)
	for len(s.ids) < entities {
		s.ids = append(s.ids, s.store.Spawn())
	}
	for _, id := range s.ids {
		for row := range 4 {
			s.set(id, row, often)
		}
	}
	s.store.Commit()
	s.view.Observe()
	for s.view.Pending() {
		buf := make([]byte, 900)
		s.seq++
		payloads = append(payloads, buf[:s.view.Write(buf, s.seq)])
	}
	return payloads
}

// reported is the problems without what their order of a run decides: which component of an entity was found first.
func (c *stretchClient) reported() (list []Problem) {
	for _, p := range c.problems {
		list = append(list, Problem{Kind: p.Kind, Entity: p.Entity, Local: p.Local})
	}
	return list
}

// scribble is mischief that writes, and some that is worse.
func (c *stretchClient) scribble(id wire.NetworkID, what, n int) {
	e, ok := c.apply.Entity(id)
	w := &c.world
	if !ok {
		return
	}
	switch what {
	case 0:
		if at := componentOf[stretchPlace](w, e, ecs.ComponentID[stretchPlace](w)); at != nil {
			at.X = float32(n)
		}
	case 1:
		if turn := componentOf[stretchTurn](w, e, ecs.ComponentID[stretchTurn](w)); turn != nil {
			turn.Q[n] = -1
		}
	case 2:
		if heat := componentOf[stretchHeat](w, e, ecs.ComponentID[stretchHeat](w)); heat != nil {
			heat.C, heat.D = heat.D, heat.C
		}
	case 3, 4:
		if look := componentOf[stretchLook](w, e, ecs.ComponentID[stretchLook](w)); look != nil {
			look.V, look.Local = look.V+float32(what-3), look.Local+1
		}
	default:
		c.mischief(id, what)
	}
}

// sameShadow holds the shadows of two clients against each other: who was told of a write must not be told again.
func (c *stretchClient) sameShadow(t *testing.T, other *stretchClient) {
	require.Equal(t, len(other.apply.watch.tables), len(c.apply.watch.tables))
	for i, table := range c.apply.watch.tables {
		require.Equal(t, other.apply.watch.tables[i].length, table.length)
		for k := range table.columns {
			at := &table.columns[k]
			require.Equal(t, other.apply.watch.tables[i].columns[k].shadow[:table.length*at.size], at.shadow[:table.length*at.size])
		}
	}
}

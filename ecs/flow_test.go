package netecs

import (
	"math/rand/v2"
	"testing"

	"github.com/mlange-42/arche/ecs"
	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/internal/alloctest"
	"github.com/arche-netcode/netcode/wire"
)

// flowRows are the rows of the entities of these tests: of all lengths, and one whose memory is more than what travels.
var flowRows = [...]int{0, 1, 2, 3, 5, 6}

// flowTurn is a tick in which entities have new values, of which often says how many there are, and nothing else happens.
func (s *stretchServer) flowTurn(often int, rows []int) (payloads [][]byte) {
	s.store.Begin(s.store.Tick() + 1)
	for len(s.ids) < s.most {
		s.ids = append(s.ids, s.store.Spawn())
	}
	for _, id := range s.ids {
		for _, row := range rows {
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

// shuffle adds a component to all entities, in any order, so that their rows are all over a table and have that to themselves.
func (c *stretchClient) shuffle(ids []wire.NetworkID, random *rand.Rand) {
	own := ecs.ComponentID[stretchOwn](&c.world)
	for _, k := range random.Perm(len(ids)) {
		if e, ok := c.apply.Entity(ids[k]); ok && !c.world.Has(e, own) {
			c.world.Add(e, own)
		}
	}
}

// disturb is what a game does to the world around an entity.
func (c *stretchClient) disturb(id wire.NetworkID, what int) {
	e, ok := c.apply.Entity(id)
	if !ok {
		return
	}
	w := &c.world
	other, replicated := ecs.ComponentID[stretchOther](w), ecs.ComponentID[components.Replicated](w)
	switch what {
	case 0: // the archetype grows, and shrinks to what it was
		all := w.Ids(e)
		var made []ecs.Entity
		for range 700 {
			made = append(made, w.NewEntity(all...))
		}
		for i := range made {
			w.RemoveEntity(made[len(made)-1-i])
		}
	case 1: // somebody of the game's own among them
		w.NewEntity(w.Ids(e)...)
	case 2: // one goes, and another comes that says it is the same
		copied := *replicatedOf(w, e, replicated)
		w.RemoveEntity(e)
		*replicatedOf(w, w.NewEntity(replicated, other), replicated) = copied
	case 3: // there and back
		w.Add(e, other)
		w.Remove(e, other)
	case 4:
		*replicatedOf(w, e, replicated) = components.Replicated{}
	case 5:
		w.NewEntity(other)
	}
}

// TestAFlowIsARun holds a client whose runs write without asking for more than whether something else happened against one whose
// runs look at everything and write entity by entity, where hardly anything but values comes: worlds, shadows, changes, problems and
// counters, for rows one behind the other and all over a table, with a game that writes and disturbs.
func TestAFlowIsARun(t *testing.T) {
	flowed, amended, disturbed, mixed, parted := 0, 0, 0, 0, 0
	for seed := range uint64(24) {
		random := rand.New(rand.NewPCG(seed, 7))
		s := newStretchServerOf(t, seed, 1+random.IntN([]int{5, 70, 700}[seed%3]))
		fast, slow := newStretchClient(s, false, false), newStretchClient(s, true, false)
		both := []*stretchClient{fast, slow}
		for turn := range 40 {
			rows := flowRows[:]
			if turn > 0 && random.IntN(3) == 0 {
				rows = rows[:random.IntN(len(rows))] // the others stay what they were
			}
			payloads := s.flowTurn([]int{2, 1000}[random.IntN(2)], rows)
			if turn == 2 && seed%4 > 1 {
				order := random.Uint64()
				for _, c := range both {
					c.shuffle(s.ids, rand.New(rand.NewPCG(order, 0)))
				}
			}
			for range random.IntN(4) * random.IntN(2) {
				id, what, n := s.ids[random.IntN(len(s.ids))], random.IntN(5), random.IntN(2)
				for _, c := range both {
					c.scribble(id, what, n)
				}
			}
			if turn > 3 && random.IntN(8) == 0 {
				id, what := s.ids[[]int{0, len(s.ids) - 1, random.IntN(len(s.ids))}[random.IntN(3)]], []int{0, 1, 3, 5, 2, 4}[random.IntN(4+2*int(seed&1))]
				for _, c := range both {
					c.disturb(id, what)
				}
				disturbed++
			}
			if seed%6 == 4 && random.IntN(3) == 0 {
				random.Shuffle(len(payloads), func(i, j int) { payloads[i], payloads[j] = payloads[j], payloads[i] })
			}
			for _, p := range payloads {
				if lost := seed%6 == 5 && random.IntN(10) == 0; !lost {
					require.NoError(t, fast.replica.Read(p))
					require.NoError(t, slow.replica.Read(p))
				}
			}
			if seed%6 == 5 && random.IntN(3) == 0 {
				continue // two ticks are applied together
			}
			fast.run()
			slow.run()
			require.Equal(t, slow.apply.Stats(), fast.apply.Stats(), "seed %d, turn %d", seed, turn)
			require.ElementsMatch(t, slow.reported(), fast.reported(), "seed %d, turn %d", seed, turn)
			require.ElementsMatch(t, slow.changes, fast.changes, "seed %d, turn %d", seed, turn)
			require.Equal(t, Digest(&slow.world, s.schema), Digest(&fast.world, s.schema), "seed %d, turn %d", seed, turn)
			fast.sameShadow(t, slow)
		}
		require.Zero(t, slow.flowed+slow.mixed)
		flowed, amended, mixed, parted = flowed+fast.flowed, amended+fast.amended, mixed+fast.mixed, parted+fast.parted
	}
	require.Greater(t, flowed, 200, "of 960 runs")
	require.NotZero(t, amended, "nothing was put back by a run without a scan")
	require.NotZero(t, disturbed)
	require.NotZero(t, mixed, "nothing was written by its slots")
	require.NotZero(t, parted, "of all that was written by slots everything changed")
}

// TestAFlowNoticesWhoCame is about an entity of the game's own that says it is one of ours, where nothing else happened.
func TestAFlowNoticesWhoCame(t *testing.T) {
	s := newStretchServerOf(t, 1, 40)
	c := newStretchClient(s, false, false)
	replicated, other := ecs.ComponentID[components.Replicated](&c.world), ecs.ComponentID[stretchOther](&c.world)
	for turn := range 6 {
		if turn == 5 {
			e, _ := c.apply.Entity(s.ids[7])
			copied := *replicatedOf(&c.world, e, replicated)
			*replicatedOf(&c.world, c.world.NewEntity(replicated, other), replicated) = copied
		}
		for _, p := range s.flowTurn(1000, flowRows[:]) {
			require.NoError(t, c.replica.Read(p))
		}
		c.run()
	}
	require.NotZero(t, c.flowed)
	require.Len(t, c.problems, 1)
	require.Equal(t, CopiedReplicated, c.problems[0].Kind)
}

// TestAFlowAllocatesNothing is about runs in which only values come, a part of which stay the same, in order and shuffled.
func TestAFlowAllocatesNothing(t *testing.T) {
	for _, shuffled := range []bool{false, true} {
		s := newStretchServerOf(t, 2, 600)
		c := newStretchClient(s, false, false)
		turn := func() {
			for _, p := range s.flowTurn(2, flowRows[:]) {
				require.NoError(t, c.replica.Read(p))
			}
		}
		for i := range 30 {
			turn()
			if shuffled && i == 3 {
				c.shuffle(s.ids, s.random)
			}
			c.run()
		}
		flowed, allocs := c.flowed, alloctest.Start(t)
		for range 10 {
			turn()
			scans := c.apply.watch.run
			allocs.Count(c.apply.Run)
			require.Equal(t, scans, c.apply.watch.run)
		}
		allocs.Zero("shuffled %v", shuffled)
		allocs.Stop()
		require.NotZero(t, flowed)
	}
}

// TestNobodyWritesIsAFlow is a run in which nothing came: it changes nothing, and says so.
func TestNobodyWritesIsAFlow(t *testing.T) {
	s := newStretchServerOf(t, 3, 20)
	c := newStretchClient(s, false, false)
	for range 3 {
		for _, p := range s.flowTurn(1000, flowRows[:]) {
			require.NoError(t, c.replica.Read(p))
		}
		c.run()
	}
	stats, scans := c.apply.Stats(), c.apply.watch.run
	c.run()
	require.Equal(t, stats, c.apply.Stats())
	require.Equal(t, scans, c.apply.watch.run, "it looked at everything")
	c.scribble(s.ids[3], 0, 1)
	c.run()
	stats.Restored++
	require.Equal(t, stats, c.apply.Stats())
	require.Greater(t, c.apply.watch.run, scans)
}

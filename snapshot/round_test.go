package snapshot

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/internal/alloctest"
	"github.com/arche-netcode/netcode/wire"
)

type roundPlace struct{ X, Y, Z float32 }
type roundTurn struct{ Q [4]float32 }
type roundSpeed struct{ X, Y, Z float32 }

// roundSchema is that of bodies of 40 bytes.
func roundSchema(t testing.TB) *Schema {
	return NewSchema([]*wire.Plan{compile[roundPlace](t), compile[roundTurn](t), compile[roundSpeed](t)})
}

// roundStore has bodies of which some move in each tick.
func roundStore(t testing.TB, cfg Config, bodies int) (*Store, []wire.NetworkID) {
	s := NewStore(roundSchema(t), cfg)
	s.Begin(1)
	ids := make([]wire.NetworkID, bodies)
	for i := range ids {
		ids[i] = s.Spawn()
		moveBody(s, ids[i], uint32(i))
	}
	s.Commit()
	return s, ids
}

func moveBody(s *Store, id wire.NetworkID, v uint32) {
	s.Set(id, 0, []uint32{v, v + 1, v + 2})
	s.Set(id, 1, []uint32{v, v + 1, v + 2, v + 3})
	s.Set(id, 2, []uint32{v, v + 1, v + 2})
}

// roundsShared is how many packets were copied for another client.
func (s *Store) roundsShared() (n uint64) {
	n = s.desk.rounds.copied
	for _, d := range s.desks {
		n += d.rounds.copied
	}
	return n
}

// roundGame is a store with views that acknowledge what they are sent.
type roundGame struct {
	t     testing.TB
	cfg   Config
	store *Store
	ids   []wire.NetworkID
	views []*View
	seqs  []uint64
	buf   []byte
	step  uint32
}

func newRoundGame(t testing.TB, bodies, clients int) *roundGame {
	g := &roundGame{t: t, cfg: Config{Whole: true, Payload: 1181, SentPackets: 2048, Entities: bodies}}
	g.store, g.ids = roundStore(t, g.cfg, bodies)
	for range clients {
		g.views = append(g.views, NewView(g.store, g.cfg))
	}
	g.seqs, g.buf = make([]uint64, clients), make([]byte, 1181)
	return g
}

// tick moves every so manieth body and writes all packets, which each client gets and acknowledges.
func (g *roundGame) tick(moves func(i int) bool, got func(client int, payload []byte)) {
	g.store.Begin(g.store.Tick() + 1)
	g.step += 10
	for i, id := range g.ids {
		if moves(i) {
			moveBody(g.store, id, uint32(i)+g.step)
		}
	}
	g.store.Commit()
	for i := range g.views {
		g.write(i, got)
	}
}

func (g *roundGame) write(i int, got func(client int, payload []byte)) {
	v := g.views[i]
	v.Observe()
	first := g.seqs[i]
	for v.Pending() {
		g.seqs[i]++
		n := v.Write(g.buf, g.seqs[i])
		if n == 0 {
			g.t.Fatal("nothing was written of what waits")
		}
		if got != nil {
			got(i, g.buf[:n])
		}
	}
	for first < g.seqs[i] {
		first++
		v.Acked(first)
	}
}

func TestPacketsOfARoundAreOfOneSize(t *testing.T) {
	for _, test := range []struct{ bodies, every, calls int }{{1000, 1, 1}, {1000, 2, 7}, {1000, 10, 2}, {10000, 10, 9}} {
		g := newRoundGame(t, test.bodies, 1)
		moving := map[int]bool{}
		for _, i := range rand.New(rand.NewPCG(7, 1)).Perm(test.bodies)[:test.bodies/test.every] {
			moving[i] = true
		}
		for range 3 {
			calls, longest, last := 0, 0, 0
			g.tick(func(i int) bool { return moving[i] }, func(_ int, payload []byte) {
				if n := len(payload); n != last {
					if n > last || last < longest {
						calls++ // the kernel takes packets of one size, and a shorter one behind them
					}
					last, longest = n, n
				}
			})
			require.LessOrEqual(t, calls, test.calls, "%+v", test)
		}
	}
}

func TestWholeRowsAreReadAsTheyWere(t *testing.T) {
	g := newRoundGame(t, 700, 3)
	var replicas []*Replica
	for range g.views {
		replicas = append(replicas, NewReplica(g.store.Schema(), g.cfg, 1))
	}
	r := rand.New(rand.NewPCG(3, 4))
	for range 60 {
		share := []int{1, 2, 10}[r.IntN(3)]
		g.tick(func(int) bool { return r.IntN(share) == 0 }, func(i int, payload []byte) {
			err := replicas[i].Read(payload)
			require.NoError(t, err)
		})
	}
	for i, id := range g.ids {
		for row := range 3 {
			want := g.store.Row(id, row)
			for _, replica := range replicas {
				require.Equal(t, want, replica.Row(id.Index, row), "row %d of body %d", row, i)
			}
		}
	}
	require.NotZero(t, g.store.roundsShared())
	require.EqualValues(t, 700, g.views[0].Stats().Spawns)
	require.Zero(t, g.views[0].Stats().Deltas)
}

func TestWholeAllocatesNothing(t *testing.T) {
	g := newRoundGame(t, 500, 4)
	k := 0
	run := func() {
		k++
		g.tick(func(i int) bool { return (i+k)%3 != 0 }, nil)
	}
	for range 300 {
		run()
	}
	alloctest.Zero(t, 50, run)
}

// TestAWholeRowThatWasShownIsOwedADespawn holds for what was sent by copy.
func TestAWholeRowThatWasShownIsOwedADespawn(t *testing.T) {
	g := newRoundGame(t, 60, 2)
	g.tick(func(int) bool { return true }, nil)
	g.views[1].Hide(g.ids[7])
	g.store.Begin(g.store.Tick() + 1)
	g.store.Despawn(g.ids[9])
	g.store.Commit()
	for i, want := range []uint64{1, 2} {
		g.write(i, nil)
		require.Equal(t, want, g.views[i].Stats().Despawns)
		require.True(t, g.views[i].Synced())
	}
	require.NotZero(t, g.store.roundsShared())
}

// TestWhatCameIntoSightBetweenPacketsIsNotCopied: its life begins with the next tick, though the round has it.
func TestWhatCameIntoSightBetweenPacketsIsNotCopied(t *testing.T) {
	g := newRoundGame(t, 120, 2)
	g.write(0, nil)
	v := g.views[1]
	replica := NewReplica(g.store.Schema(), g.cfg, 1)
	read := func(n int) {
		if n > 0 {
			require.NoError(t, replica.Read(g.buf[:n]))
		}
	}
	v.Observe()
	read(v.Write(g.buf, 1))
	v.Hide(g.ids[101])
	v.Show(g.ids[101])
	for seq := uint64(2); seq < 10; seq++ {
		read(v.Write(g.buf, seq))
	}
	require.NotNil(t, replica.Row(g.ids[100].Index, 0))
	require.Nil(t, replica.Row(g.ids[101].Index, 0))
	g.tick(func(int) bool { return false }, func(i int, payload []byte) {
		if i == 1 {
			read(len(payload))
		}
	})
	require.NotNil(t, replica.Row(g.ids[101].Index, 0))
}

func TestHiddenComponentsAreNotCopied(t *testing.T) {
	g := newRoundGame(t, 40, 2)
	g.views[1].SetRows(g.ids[5], Mask(0).With(0))
	replica := NewReplica(g.store.Schema(), g.cfg, 1)
	g.tick(func(int) bool { return true }, func(i int, payload []byte) {
		if i == 1 {
			require.NoError(t, replica.Read(payload))
		}
	})
	require.NotNil(t, replica.Row(g.ids[5].Index, 0))
	require.Nil(t, replica.Row(g.ids[5].Index, 1))
	require.NotNil(t, replica.Row(g.ids[4].Index, 1))
}

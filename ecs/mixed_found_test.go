package netecs

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/wire"
)

// Two tables whose rows lie in another order than they come; of the second more and more begin to move, so that its piece is
// found out again and again. That of the first, which was found before in the same run, stays what it was.
func TestAPieceThatWasFoundStays(t *testing.T) {
	const firsts, seconds, step = 20, 100, 10
	s := newStretchServerOf(t, 1, firsts+seconds)
	c := newStretchClient(s, false, false)
	all := func(wire.NetworkID) bool { return true }
	for turn := range 40 {
		s.store.Begin(s.store.Tick() + 1)
		for len(s.ids) < firsts+seconds {
			id := s.store.Spawn()
			s.ids = append(s.ids, id)
			s.set(id, 0, 1000)
			s.set(id, 1+min(1, (len(s.ids)-1)/firsts), 1000) // another row of the first than of the others
		}
		for k, id := range s.ids {
			if k >= firsts && turn > 2 && k >= firsts+(turn/2)*step {
				break
			}
			s.set(id, 0, 1000)
		}
		s.store.Commit()
		s.view.Observe()
		for s.view.Pending() {
			buf := make([]byte, 900)
			s.seq++
			require.NoError(t, c.replica.Read(buf[:s.view.Write(buf, s.seq)]))
		}
		if turn == 2 {
			for from := 0; from < len(s.ids); from += step { // pieces of the table, each shuffled
				c.shuffle(s.ids[from:from+step], rand.New(rand.NewPCG(3, 0)))
			}
		}
		require.NotPanics(t, c.run, "turn %d", turn)
		require.Equal(t, DigestStore(s.store, s.schema, all), Digest(&c.world, s.schema), "turn %d", turn)
	}
}

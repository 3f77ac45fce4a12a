package snapshot

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/tick"
)

// anyWaits is a list of entities of some words, up to a mark that may end within the last of them.
func anyWaits(random *rand.Rand) (m *sharedList, c *listMark) {
	m = &sharedList{}
	for range 1 + random.IntN(4) {
		a := wordWaits{word: random.Uint32N(3), asked: random.Uint64()}
		a.wait = a.asked & (random.Uint64() | random.Uint64())
		a.even = a.wait & (random.Uint64() | random.Uint64() | -(random.Uint64() & 1))
		m.waits = append(m.waits, a)
	}
	c = &listMark{waits: 1 + random.IntN(len(m.waits))}
	c.wait = m.waits[c.waits-1]
	if part := random.Uint64(); random.IntN(2) == 0 {
		c.wait.asked, c.wait.wait, c.wait.even = c.wait.asked&part, c.wait.wait&part, c.wait.even&part
	}
	return m, c
}

// TestWhoWaitsIsComparedWordByWord: of one cohort, of several or of none, and with despawns that are owed.
func TestWhoWaitsIsComparedWordByWord(t *testing.T) {
	random := rand.New(rand.NewPCG(16, 6))
	count := map[bool]int{}
	for range 20000 {
		m, c := anyWaits(random)
		v := &View{unsent: make(bitset, 3), owed: make(bitset, 3), owes: random.IntN(3) == 0}
		var alike leaning
		for alike.n = random.IntN(3); alike.all[0] == nil && alike.n > 0; {
			for i := range alike.n {
				alike.all[i] = &cohort{of: bitset{random.Uint64() | random.Uint64(), ^uint64(0), random.Uint64()}}
			}
		}
		for i := range c.waits {
			a := c.waitsOf(m, i)
			v.unsent[a.word] |= a.wait
		}
		if random.IntN(2) == 0 {
			v.unsent[random.IntN(3)] ^= 1 << random.IntN(64)
		}
		if v.owes {
			v.owed[random.IntN(3)] = random.Uint64() & random.Uint64() & random.Uint64()
		}
		wantSame, wantAlone := true, uint64(0)
		for i := range c.waits {
			a := c.waitsOf(m, i)
			wantSame = wantSame && v.unsent[a.word]&^v.owed[a.word]&a.asked == a.wait
			wantAlone |= alike.without(a)
		}
		same, alone := (&packetWriter{v: v}).waitAlike(m, c, &alike)
		require.Equal(t, wantSame, same)
		if same {
			require.Equal(t, wantAlone, alone)
		}
		count[same]++
	}
	require.Greater(t, min(count[true], count[false]), 2000)
}

// TestEachRecordIsComparedWithItsOwnT: one that leans on something else than most is told apart, wherever it stands.
func TestEachRecordIsComparedWithItsOwnT(t *testing.T) {
	random := rand.New(rand.NewPCG(16, 7))
	s := NewStore(runSchema(t), Config{Window: 64})
	s.tick = 100
	for range 2000 {
		v := &View{store: s, slots: make([]slot, 192), went: make([]tick.Tick, 192)}
		p := packetWriter{v: v, s: 100, listed: 90}
		m := &sharedList{lean: 88, alike: &alike{}}
		for w := range uint32(3) {
			a := wordWaits{word: w, wait: random.Uint64() & random.Uint64()}
			a.even = a.wait & random.Uint64()
			for k := range uint32(64) {
				if a.wait>>k&1 == 0 {
					continue
				}
				q := &v.slots[w<<6+k]
				if *q = (slot{base: 90, mask: 1, lean: 2}); a.even>>k&1 == 0 {
					q.lean = uint16(3 + random.IntN(9))
					m.uneven = append(m.uneven, q.base-tick.Tick(q.lean))
				}
				m.entries = append(m.entries, sentEntry{index: w<<6 + k, mask: 1})
			}
			m.waits = append(m.waits, a)
		}
		c := &listMark{waits: 3, wait: m.waits[2]}
		require.True(t, p.eachComesTo(m, c, &leaning{}))
		if len(m.entries) > 0 {
			v.slots[m.entries[random.IntN(len(m.entries))].index].lean++
			require.False(t, p.eachComesTo(m, c, &leaning{}))
		}
	}
}

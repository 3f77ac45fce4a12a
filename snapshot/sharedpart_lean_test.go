package snapshot

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// What a list leans on goes with a part of it that another list begins with: a client that leans on nothing beside T, where
// the others lean on T', copies none of it.
func TestAPartOfAListTellsWhatItLeansOn(t *testing.T) {
	play := func(shared bool) ([]byte, uint64) {
		cfg := Config{Window: 16, Entities: 80, Payload: 1200}
		s := NewStore(simSchema(t), cfg)
		if !shared {
			s.desk.lists.next = math.MaxInt64
		}
		var views []*View
		for range 3 {
			v := NewView(s, cfg)
			v.cohorts.least = 1
			views = append(views, v)
		}
		var ids []wire.NetworkID
		seqs, b := make([]uint64, 3), make([]byte, 1200)
		for now := tick.Tick(1); now <= 20; now++ {
			s.Begin(now)
			for i := range 80 {
				if now == 1 {
					ids = append(ids, s.Spawn())
				}
				s.Set(ids[i], rowPosition, []uint32{uint32(int(now)+i) % 16, uint32(i & 3)})
			}
			s.Commit()
			for i, v := range views {
				seqs[i]++
				v.Observe()
			}
			if now == 20 { // the second and the third lack the last one; to the third T' is too old
				views[1].Hide(ids[79])
				views[2].Hide(ids[79])
				n := 0
				for i := range views[2].cohorts.all {
					c := &views[2].cohorts.all[i]
					if c.n > 0 && c.base == 19 {
						c.lean, c.near, n = 15, 0, n+c.n
					}
				}
				if shared {
					require.GreaterOrEqual(t, n, 64, "members of a cohort")
				} else {
					for k := range views[2].slots[:79] {
						q := views[2].alone(uint32(k))
						q.lean, q.near = 15, 0
					}
				}
			}
			for i, v := range views {
				n := v.Write(b, seqs[i])
				require.Positive(t, n)
				if now < 20 {
					v.Acked(seqs[i])
				} else if i == 2 {
					return b[:n], s.desk.lists.parts
				}
			}
		}
		return nil, 0
	}
	want, _ := play(false)
	got, parts := play(true)
	require.NotZero(t, parts)
	require.Equal(t, want, got)
}

// Of whose records T' is another than that of most is told with a part of a list for these alone: those that follow are the
// list's that goes on.
func TestAPartOfAListTellsWhoLeansOnSomethingElse(t *testing.T) {
	of := make([]sentEntry, 4)
	m := &sharedList{
		listed: []uint32{0, 1, 2, 3}, waits: []wordWaits{{asked: 15, wait: 15, even: 5}}, lean: 7, uneven: []tick.Tick{5, 6}, alike: &alike{entries: of},
		marks: []listMark{
			{at: 2, entries: 2, waits: 1, wait: wordWaits{asked: 3, wait: 3, even: 1}, uneven: 1},
			{at: 4, entries: 4, waits: 1, wait: wordWaits{asked: 15, wait: 15, even: 5}, uneven: 2},
		},
	}
	k := listKeeper{list: &sharedList{alike: &alike{}}}
	k.takePart(&packetWriter{}, m, 0)
	require.Equal(t, []tick.Tick{5}, k.list.uneven)
	require.Equal(t, []wordWaits{{asked: 3, wait: 3, even: 1}}, k.list.waits)
	require.Equal(t, of[:2], k.list.entries)
}

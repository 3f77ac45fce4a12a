package snapshot

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// Of a list some records may lean on another T' than the most: those that move in every second tick, on the one two ticks before T. A client to whom one of
// these was sent again in between leans on the tick before T with all, and copies nothing of them; the others copy all of it.
func TestAListTellsWhatTheFewLeanOn(t *testing.T) {
	const many, few, last, lost = 128, 64, 24, 20
	play := func(shared bool) (payloads [][]byte, lists, parts uint64) {
		cfg := Config{Window: 16, Entities: many + few, Payload: 1200}
		s := NewStore(runSchema(t), cfg)
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
		for now := tick.Tick(1); now <= last; now++ {
			s.Begin(now)
			for i := range many + few {
				if now == 1 {
					ids = append(ids, s.Spawn())
				}
				if i < many || now%2 == 0 {
					f := float32(now)
					s.Set(ids[i], 0, []uint32{math.Float32bits(f * f * float32(i)), math.Float32bits(f), 0})
				}
			}
			s.Commit()
			for i, v := range views {
				v.Observe()
				switch {
				case now == last-3 && i == 2: // what it got a tick ago was lost
					v.Acked(uint64(now) - 2)
					v.Lost(lost)
					require.True(t, v.unsent.has(many))
				case now > 2 && (now-2 != lost || i < 2):
					v.Acked(uint64(now) - 2)
				}
			}
			before := s.ListsShared()
			for _, v := range views {
				b := make([]byte, 1<<14)
				v.payload = len(b)
				n := v.Write(b, uint64(now))
				require.Positive(t, n)
				require.False(t, v.Pending())
				if now >= last-3 {
					payloads = append(payloads, b[:n])
				}
			}
			if now == last {
				lists, parts = s.ListsShared()-before, s.desk.lists.parts
				of := func(v *View) (of [2]tick.Tick) {
					var room slot
					for k, index := range []uint32{0, many} {
						q := v.slot(index, &room)
						of[k] = s.leant(q, now-2, v.answers.near(now-2))
					}
					return of
				}
				require.Equal(t, [2]tick.Tick{now - 3, now - 4}, of(views[0]))
				require.Equal(t, of(views[0]), of(views[1]))
				require.Equal(t, [2]tick.Tick{now - 3, now - 3}, of(views[2]))
			}
		}
		return payloads, lists, parts
	}
	want, none, _ := play(false)
	require.Zero(t, none)
	got, lists, parts := play(true)
	require.Equal(t, want, got)
	require.EqualValues(t, 1, lists, "the second client copies all that the first got")
	require.NotZero(t, parts, "the third copies a part of it")
}

package snapshot

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/wire"
)

// Where a ring of the history is full, or the lanes of a stripe would not lie in one piece, rows are not replaced in one pass, and nothing is done: what is
// forgotten for them is another's business.
func TestRowsInOnePassNeedRoom(t *testing.T) {
	schema := format.NewSchema([]*quantize.Plan{compile[benchPosition](t), compile[benchRotation](t)})
	const many = 4 * pageRows
	for name, full := range map[string]func(h *history){
		"nothing is full": func(*history) {},
		"changes":         func(h *history) { h.oldest = h.next - uint64(len(h.entries)) },
		"lanes":           func(h *history) { h.firstLane = h.lane + stripeRows*5 - 1 - uint64(len(h.lanes)) },
		"in one piece":    func(h *history) { h.lane += -h.lane&uint64(len(h.lanes)-1) - stripeRows*4 + 1; h.firstLane = h.lane },
	} {
		t.Run(name, func(t *testing.T) {
			s := NewStore(schema, Config{Window: 8, Entities: many})
			var ids []wire.NetworkID
			for range 4 { // so that the rings have gone some way
				s.Begin(s.tick + 1)
				for i := range many {
					if s.tick == 1 {
						ids = append(ids, s.Spawn())
					}
					for row, n := range schema.Widths {
						s.Set(ids[i], row, []uint32{uint32(s.tick), 2, 3, 4}[:n])
					}
				}
				s.Commit()
			}
			s.Begin(s.tick + 1)
			h := &s.past
			full(h)
			for row, n := range schema.Widths {
				at := [...]uint64{h.next, h.oldest, h.lane, h.firstLane}
				changed, lanes, some := s.Changed(), []uint32(nil), []wire.NetworkID{ids[3], ids[7], ids[60]}
				for range some {
					lanes = append(lanes, []uint32{9, 9, 9, 9}[:n]...)
				}
				page := s.rows.pages[row][0]
				room := name == "nothing is full" || name == "lanes" && n == 3
				require.Equal(t, room, s.swapRows(some, row, 1<<3|1<<7|1<<60, page, lanes), "%d lanes", n)
				if !room {
					require.Equal(t, at, [...]uint64{h.next, h.oldest, h.lane, h.firstLane})
					require.Equal(t, changed, s.Changed())
					require.Equal(t, []uint32{4, 2, 3, 4}[:n], s.Row(ids[3], row))
				}
			}
		})
	}
}

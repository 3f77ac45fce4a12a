package nettest_test

import (
	"bytes"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"slices"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/record"
	"github.com/arche-netcode/netcode/snapshot"
)

// gameTape is a recording of a game, and what it must say.
type gameTape struct {
	file bytes.Buffer
	stop func() error                              // nil: nothing is recorded
	rows map[netcode.Tick]map[uint32]gameTapedRows // by tick and index
}

// gameTapedRows is an entity on tape: its life and a sum of its rows.
type gameTapedRows struct {
	generation uint32
	mask       snapshot.Mask
	sum        uint64
}

func sumOfRows(mask snapshot.Mask, row func(row int) []uint32) uint64 {
	sum := fnv.New64a()
	for m := mask; !m.IsZero(); m = m.Rest() {
		n := m.Lowest()
		_, _ = fmt.Fprint(sum, n, row(n))
	}
	return sum.Sum64()
}

// start begins to record.
func (t *gameTape) start(g *match) {
	stop, err := record.Start(g.net.Server.Server, &t.file)
	g.hold(err == nil, "Record:", err)
	t.stop, t.rows = stop, map[netcode.Tick]map[uint32]gameTapedRows{}
}

// remember takes in what the server has captured, each few ticks.
func (t *gameTape) remember(s *netcode.Server) {
	store := s.Store()
	if t.stop == nil || store.Tick()%5 != 0 {
		return
	}
	rows := map[uint32]gameTapedRows{}
	for id := range store.All {
		rows[id.Index] = gameTapedRows{id.Generation, store.Mask(id), sumOfRows(store.Mask(id), func(n int) []uint32 { return store.Row(id, n) })}
	}
	t.rows[store.Tick()] = rows
}

// replay reads the recording from its beginning to its end, and from places in it, and compares.
func (t *gameTape) replay(g *match) {
	if t.stop == nil {
		return
	}
	err := t.stop()
	g.hold(err == nil, "the recording ends:", err)
	t.stop = nil
	r, err := record.NewReader(bytes.NewReader(t.file.Bytes()))
	g.hold(err == nil, "the recording begins:", err)
	played := 0
	for {
		tick, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		g.hold(err == nil, "the recording goes on:", err)
		if rows, ok := t.rows[tick]; ok {
			t.compare(g, r, tick, rows)
			played++
		}
	}
	g.hold(played >= len(t.rows)-1, "of", len(t.rows), "ticks", played, "were played")
	ticks := slices.Sorted(maps.Keys(t.rows))
	for range 3 {
		tick := ticks[g.r.IntN(len(ticks)-1)]
		r, err := record.NewReader(bytes.NewReader(t.file.Bytes())) // it goes forward only
		g.hold(err == nil, "the recording begins:", err)
		err = r.Seek(tick)
		g.hold(err == nil, "seek", tick, err)
		for at := netcode.Tick(0); at != tick; { // Seek goes to the chunk that has it
			at, err = r.Next()
			g.hold(err == nil && at <= tick, "after the seek to", tick, "comes", at, err)
		}
		t.compare(g, r, tick, t.rows[tick])
	}
	g.met["ticks replayed"] += played
}

// compare holds the world of the recording to the server's.
func (t *gameTape) compare(g *match, r *record.Reader, tick netcode.Tick, want map[uint32]gameTapedRows) {
	for index := range uint32(g.indexes()) {
		generation, mask := r.Entity(index)
		is := gameTapedRows{generation: generation, mask: mask}
		if generation != 0 {
			is.sum = sumOfRows(mask, func(n int) []uint32 { return r.Row(index, n) })
		}
		was, alive := want[index]
		g.hold(is == was || !alive && generation == 0, "the recording has at index", index, "at tick", tick, is, "and it was", was)
	}
}

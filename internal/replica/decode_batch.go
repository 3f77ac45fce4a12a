package replica

import (
	"slices"

	"github.com/arche-netcode/netcode/delta"
	"github.com/arche-netcode/netcode/internal/plain"
	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// readBatch extrapolates the rows of several entities of a list before their records are read, one component after the
// other. It is the fast path of Replica.decodeListed, with the same result. It returns entities that it cannot handle
// to decodeListed.
type readBatch struct {
	from, to int // positions of its entities in the list

	mask  format.Mask // rows of each entity
	width int         // lanes of each entity
	base  []uint32    // lanes of all entities at R
	near  []uint32    // lanes of all entities at N; nil: there is no T′

	grouped format.Mask      // mask that groups was made for
	groups  []delta.RowGroup // each has the rows of one symbol
	reader  delta.RowReader
}

// ready returns the number of records of a list, from the i-th on, that are read in a batch.
func (g *readBatch) ready(r *Replica, s tick.Tick, l *readList, i int) int {
	if plain.On || l.near == tick.None || r.observer != nil {
		return 0
	}
	if i < g.from || i >= g.to {
		if l.at-i < leastRange {
			return 0
		}
		if g.gather(r, l, i); g.to == g.from {
			return 0
		}
		if g.grouped != g.mask {
			g.group(r)
		}
		for k := range g.groups {
			g.groups[k].Expect(g.to-g.from, g.width, g.base, g.near, int64(s-l.ref), int64(l.ref-l.near))
		}
	}
	return g.to - i
}

// gather starts a batch with the i-th entity. It adds the next entities of the page as long as they have the same rows
// and consecutive lanes, both at R and at N. If the first has no T′, none may have one.
func (g *readBatch) gather(r *Replica, l *readList, i int) {
	g.from, g.to, g.near = i, i, nil
	v := l.records.at(i)
	layout := r.layouts.of(v.mask)
	if !layout.batch {
		return
	}
	g.mask, g.width = v.mask, layout.lanes
	w := l.nearOf(v)
	g.base = r.history.block(l.ref).lanes[v.first:]
	first, nearFirst := v.first, int32(0)
	if w != nil {
		g.near, nearFirst = r.history.block(l.near).lanes[w.first:], w.first
	}
	for g.to++; g.to < min(l.at, i+delta.MaxExpected); g.to++ {
		v, at := l.records.at(g.to), int32((g.to-i)*g.width)
		if v.mask != g.mask || v.first != first+at {
			return
		}
		if next := l.nearAt + 1; g.near != nil && l.nears.order == nil && next < len(l.nears.versions) {
			w := &l.nears.versions[next]
			if w.index == v.index && w.generation == v.generation && w.mask == v.mask && w.first == nearFirst+at {
				l.nearAt = next
				continue
			}
		}
		if w := l.nearOf(v); (w != nil) != (g.near != nil) || w != nil && w.first != nearFirst+at {
			return
		}
	}
}

// group makes the groups for the mask.
func (g *readBatch) group(r *Replica) {
	layout := r.layouts.of(g.mask)
	g.grouped, g.groups = g.mask, g.groups[:0]
	for m := g.mask.Minus(r.schema.Tags); !m.IsZero(); {
		var deltas [format.SymbolRows]*delta.Delta
		var at [format.SymbolRows]int
		n := 0
		for ; !m.IsZero() && n < format.SymbolRows; n, m = n+1, m.Rest() {
			row := m.Lowest()
			deltas[n], at[n] = r.schema.Codes.Deltas[row], int(layout.at[row])
		}
		g.groups = slices.Grow(g.groups, 1)[:len(g.groups)+1]
		g.groups[len(g.groups)-1].Begin(r.schema.Codes.Which[n-1], deltas[:n], at[:n])
	}
}

// decode reads the records of n entities of the batch.
func (g *readBatch) decode(r *Replica, b *wire.BitReader, l *readList, i, n int) error {
	first, size := (i-g.from)*g.width, n*g.width
	added, lanes := r.addRecords(n, g.mask, l.ref, g.width)
	base, near := g.base[first:][:size], []uint32(nil)
	if g.near != nil {
		near = g.near[first:][:size]
	}
	copy(lanes, base)
	for k := range added {
		v := l.records.at(i + k)
		added[k].index, added[k].generation = v.index, v.generation
	}
	g.reader.Begin(b)
	ok := g.reader.Entities(g.groups, i-g.from, n, g.width, lanes, base, near)
	g.reader.End(b)
	if !ok {
		return r.malformed()
	}
	return nil
}

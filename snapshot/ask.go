package snapshot

import (
	"math/bits"

	"github.com/arche-netcode/netcode/wire"
)

// What a row was as of T' was written a tick ago or more, and is in no cache; where a few of many entities move, each row as it is now is a line of its own.
// While the bodies of some entities are coded, the rows of the next ones are asked for (docs/adr/0022). What comes of it does not depend on whether that
// was done, nor on whose rows they were.

// askNow asks for what sheaf.gather will read of a row of some entities as it is, and askPast for what it was: one before a column is coded and one behind
// it, since a core has so many lines of memory under way at once and no more.
func (s *Store) askNow(row int, indexes []uint32) {
	s.rows.ask(row, int(s.schema.widths[row]), indexes)
}

func (s *Store) askPast(row int, way *way, indexes []uint32) {
	h, n := &s.past, int(s.schema.widths[row])
	first, last := indexes[0]/stripeRows, indexes[len(indexes)-1]/stripeRows
	if int(first) >= len(h.rows[row].stripes) {
		return
	}
	newest, below := h.rows[row].stripes[first].newest, uint64(1)<<(indexes[0]%stripeRows)-1
	stripes := uint64(last-first)%wire.MaxStrands + 1
	h.ask(newest+uint64(way.base), stripes, below, n, len(indexes))
	h.ask(newest+uint64(way.before), stripes, below, n, len(indexes))
}

// ask asks for so many rows of n lanes, from a change on and behind those that are in a set of its: what changed in a tick lies one behind the other. So do the
// changes themselves, which lead there: those of the rows behind these are asked for as well, about as many.
func (h *history) ask(number, changes, below uint64, n, rows int) {
	if number < h.oldest || number >= h.next {
		return
	}
	at, end := number&uint64(len(h.changes)-1), uint64(len(h.changes))
	wire.FetchOf(h.changes[min(at+changes, end):min(at+2*changes, end)])
	c := &h.changes[at]
	lanes := h.lanes[(c.lane+uint64(bits.OnesCount64(c.there&below)*(ageLanes+n)))&uint64(len(h.lanes)-1):]
	wire.FetchLanes(lanes[:min(rows*(ageLanes+n), len(lanes))])
}

// ask asks for a row of some entities.
func (c *columns) ask(row, n int, indexes []uint32) {
	pages, first, in := c.pages[row], indexes[0]/pageRows, int(indexes[0]%pageRows)
	together := indexes[len(indexes)-1]-indexes[0] == uint32(len(indexes)-1) // most likely
	if !together || in+len(indexes) > pageRows || int(first) >= len(pages) || pages[first] == nil {
		wire.FetchPaged(pages, pageShift, n, indexes)
		return
	}
	wire.FetchLanes(pages[first][in*n : (in+len(indexes))*n])
}

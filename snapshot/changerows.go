package snapshot

import "github.com/arche-netcode/netcode/wire"

// Rows of one component that have another value come many at a time. What is
// known of an entity lies in a dozen lines of memory that nobody has looked at
// since the tick before: taken a step at a time for all rows, such lines are
// under way at once, where one row after the other waits for each of them.

// Common is the rows that all of some entities have, none when one of them does
// not live.
func (s *Store) Common(ids []wire.NetworkID) Mask {
	all := ^Mask(0)
	for _, id := range ids {
		if int(id.Index) >= len(s.gens) || s.gens[id.Index] != id.Generation || !s.alive.has(id.Index) {
			return 0
		}
		all &= s.rows.masks[id.Index]
	}
	return all
}

// Rows is the newest lanes of a row of many entities, one behind the other. It is
// to be one that they have, as Common says.
func (s *Store) Rows(ids []wire.NetworkID, row int, lanes []uint32) {
	n, pages := int(s.schema.widths[row]), s.rows.pages[row] // which were made, since the entities have the row
	if n != 3 && n != 4 {
		for k, id := range ids {
			copy(lanes[k*n:(k+1)*n], s.rows.row(id.Index, row))
		}
		return
	}
	heads, any := s.past.rows[row], uint64(0)
	lanes = lanes[:len(ids)*n]
	for k, id := range ids {
		copyFew(lanes[k*n:], pages[id.Index/pageRows][int(id.Index%pageRows)*n:], n)
		if int(id.Index) < len(heads) {
			any |= heads[id.Index].newest
		}
	}
	s.fetched = any
}

// copyFew copies three or four lanes, as most rows have.
func copyFew(to, from []uint32, n int) {
	*(*[3]uint32)(to) = [3]uint32(from)
	to[n-1] = from[n-1]
}

// ReplaceRows is Replace for many entities, each of which is named once: old is
// what Rows has just given, and lanes the new values.
func (s *Store) ReplaceRows(ids []wire.NetworkID, row int, old, lanes []uint32) {
	if !s.open || len(ids) == 0 {
		return
	}
	if n := int(s.schema.widths[row]); n != 3 && n != 4 || !s.past.holds(len(ids), n) || !s.heads(ids, row) {
		for k, id := range ids {
			s.Replace(id, row, s.rows.row(id.Index, row), lanes[k*n:(k+1)*n])
		}
		return
	}
	s.replaceFew(ids, row, old, lanes)
}

// replaceFew is ReplaceRows for a row of three or four lanes, of which all have
// heads and fit into the history.
func (s *Store) replaceFew(ids []wire.NetworkID, row int, old, lanes []uint32) {
	n, now, h := int(s.schema.widths[row]), s.tick, &s.past
	heads, pages := h.rows[row], s.rows.pages[row]
	number, lane := h.next, h.lane
	kept := h.lanes[lane&uint64(len(h.lanes)-1):]
	for k, id := range ids {
		was, is := old[k*n:(k+1)*n], lanes[k*n:(k+1)*n]
		if (was[0]^is[0])|(was[1]^is[1])|(was[2]^is[2])|(was[n-1]^is[n-1]) == 0 {
			continue
		}
		if head := &heads[id.Index]; head.since != now {
			copyFew(kept, was, n)
			h.at(number).write(number, head.newest, now, head.since, lane, thingOf(id.Index, row))
			head.since, head.newest = now, number
			number, lane, kept = number+1, lane+uint64(n), kept[n:]
		}
		copyFew(pages[id.Index/pageRows][int(id.Index%pageRows)*n:], is, n)
		s.touch(id.Index)
		s.count++
	}
	h.next, h.lane = number, lane
}

// heads reports whether a row of all of some entities has been kept before.
func (s *Store) heads(ids []wire.NetworkID, row int) bool {
	most := uint32(0)
	for _, id := range ids {
		most = max(most, id.Index)
	}
	return int(most) < len(s.past.rows[row])
}

// holds reports whether as many rows of n lanes can be noted without making room.
func (h *history) holds(rows, n int) bool {
	at, size := int(h.lane&uint64(len(h.lanes)-1)), rows*n
	return h.next+uint64(rows)-h.oldest <= uint64(len(h.changes)) &&
		at+size <= len(h.lanes) && h.lane+uint64(size)-h.firstLane <= uint64(len(h.lanes))
}

package snapshot

import (
	"math/bits"
	"slices"

	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// Set stores the lanes of a row and reports whether they differ from before. It adds a row that the entity did not have. Lanes are
// copied.
func (s *Store) Set(id wire.NetworkID, row int, lanes []uint32) (changed bool) {
	if !s.open || !s.Alive(id) {
		return false
	}
	place := s.rows.row(id.Index, row)
	had := s.rows.masks[id.Index].Has(row)
	if had && slices.Equal(place, lanes) {
		return false
	}
	s.keepRow(id.Index, row, had, place)
	if !had {
		s.reshape(id.Index)
		s.rows.masks[id.Index] = s.rows.masks[id.Index].With(row)
		s.groups.grew(s, id.Index)
	}
	if s.schema.Refs.Has(row) {
		s.refs.change(s.schema.Plan(row), id.Index, had, place, lanes)
	}
	copy(place, lanes)
	if s.count++; had && s.schema.Refs.Has(row) {
		s.refs.retarget(id.Index)
	} else {
		s.touch(id.Index)
	}
	return true
}

// Replace does what Set does, for a row that the entity has and that names no entities. old is the slice that Row returned for it.
func (s *Store) Replace(id wire.NetworkID, row int, old, lanes []uint32) (changed bool) {
	differ := uint32(0)
	lanes = lanes[:len(old)]
	for i, v := range old {
		differ |= v ^ lanes[i]
	}
	if differ == 0 || !s.open {
		return false
	}
	s.keepRow(id.Index, row, true, old)
	for i, v := range lanes {
		old[i] = v
	}
	s.touch(id.Index)
	s.count++
	return true
}

// Remove takes a row away from an entity. Absence is a version like any other.
func (s *Store) Remove(id wire.NetworkID, row int) {
	if !s.open || !s.Alive(id) || !s.rows.masks[id.Index].Has(row) {
		return
	}
	s.loseRow(id.Index, row)
	s.reshape(id.Index)
	s.rows.masks[id.Index] = s.rows.masks[id.Index].Without(row)
	s.touch(id.Index)
	s.count++
}

// loseRow writes a row that is removed into the history and the reverse index.
func (s *Store) loseRow(index uint32, row int) {
	place := s.rows.row(index, row)
	if s.schema.Refs.Has(row) {
		s.refs.change(s.schema.Plan(row), index, true, place, nil)
	}
	s.keepRow(index, row, true, place)
}

// keepRow writes the old value of a row into the history, once a tick.
func (s *Store) keepRow(index uint32, row int, had bool, lanes []uint32) {
	if s.past.note(row, index, had, lanes, cap(s.rows.masks)) && s.schema.Refs.Has(row) {
		s.refs.note(index, row, had, lanes)
	}
}

// reshape writes the old mask and generation of an entity into the history, once a tick.
func (s *Store) reshape(index uint32) {
	if s.shapedAt[index] != s.tick {
		mask := s.rows.masks[index]
		s.reshaped = append(s.reshaped, index)
		s.maskBefore[index] = mask
		s.past.noteEntity(index, s.alive.has(index), mask, s.gens[index], cap(s.rows.masks))
		s.shapedAt[index], s.pageShapedAt[index/format.PageEntities] = s.tick, s.tick
	}
}

// sinceOf returns the tick of the newest change of a row.
func (s *Store) sinceOf(index uint32, row int) tick.Tick { return s.past.sinceOf(row, index) }

// RowAt returns the lanes of a row as of tick t, nil if the entity lacked it. The slice is the store's own: read it before the next
// Begin. The errors are:
//   - [ErrNoRow]: the schema has no such row
//   - [ErrNotYet]: t is later than the newest tick
//   - [ErrEvicted]: t is before the history, which has W ticks
//   - [ErrNotAlive]: the entity was not alive at t
func (s *Store) RowAt(id wire.NetworkID, row int, t tick.Tick) ([]uint32, error) {
	if uint(row) >= uint(s.schema.Rows()) {
		return nil, ErrNoRow
	}
	mask, err := s.maskAt(id, t)
	if err != nil || !mask.Has(row) {
		return nil, err
	}
	lanes := s.past.rowAt(row, id.Index, t, s.rows.row(id.Index, row))
	if lanes == nil {
		return nil, ErrEvicted
	}
	return lanes, nil
}

// MaskAt returns the rows of an entity as of tick t, without those of distance bands. Its errors are those of RowAt.
func (s *Store) MaskAt(id wire.NetworkID, t tick.Tick) (Mask, error) {
	mask, err := s.maskAt(id, t)
	return mask.Minus(s.schema.Coarse), err
}

// maskAt does what MaskAt does, with the rows of distance bands.
func (s *Store) maskAt(id wire.NetworkID, t tick.Tick) (Mask, error) {
	switch {
	case t > s.tick:
		return Mask{}, ErrNotYet
	case t < s.past.horizon || t <= tick.None:
		return Mask{}, ErrEvicted
	case uint(id.Index) >= uint(len(s.gens)) || id.Generation == 0:
		return Mask{}, ErrNotAlive
	}
	if s.shapedAt[id.Index] <= t {
		if !s.Alive(id) {
			return Mask{}, ErrNotAlive
		}
		return s.rows.masks[id.Index], nil
	}
	rows, generation, lived := s.past.entityAt(id.Index, t)
	if !lived || generation != id.Generation {
		return Mask{}, ErrNotAlive
	}
	return rows, nil
}

// HistoryEvicted returns the number of changes of rows that were forgotten before they were W ticks old, because Config.HistoryBytes
// was too small for them.
func (s *Store) HistoryEvicted() uint64 { return s.past.evicted }

// Common returns the rows that all of some entities have. It returns none if one of them is not alive.
func (s *Store) Common(ids []wire.NetworkID) Mask {
	all := AllRows()
	for _, id := range ids {
		if uint(id.Index) >= uint(len(s.gens)) || s.gens[id.Index] != id.Generation || !s.alive.has(id.Index) {
			return Mask{}
		}
		all = all.Intersect(s.rows.masks[id.Index])
	}
	return all
}

// ReplaceRows does what Replace does for a row of many entities that have it (see Common). Each entity is named once. lanes is the new
// values, in the order of ids.
func (s *Store) ReplaceRows(ids []wire.NetworkID, row int, lanes []uint32) {
	n := int(s.schema.Widths[row])
	for s.open && len(ids) > 0 {
		k, run := 1, true
		for ; k < len(ids) && ids[k].Index/format.PageEntities == ids[0].Index/format.PageEntities; k++ {
			run = run && ids[k].Index == ids[k-1].Index+1
		}
		s.replacePage(ids[:k], row, lanes[:k*n], run)
		ids, lanes = ids[k:], lanes[k*n:]
	}
}

// replacePage does what ReplaceRows does for entities of one page. run: their indexes follow each other.
func (s *Store) replacePage(ids []wire.NetworkID, row int, lanes []uint32, run bool) {
	n, page, first := int(s.schema.Widths[row]), ids[0].Index/format.PageEntities, ids[0].Index%format.PageEntities
	all, rows := s.rows.page(page, row), uint64(0)
	if at := all[int(first)*n:]; run {
		rows = s.schema.Compare[row].DifferingLanes(at, lanes, len(ids)) << first
	} else {
		for k, id := range ids {
			differ, to := uint32(0), lanes[k*n:][:n]
			for i, v := range all[int(id.Index%format.PageEntities)*n:][:n] {
				differ |= v ^ to[i]
			}
			if differ != 0 {
				rows |= bitOf(id.Index)
			}
		}
	}
	if rows == 0 {
		return
	}
	s.past.noteRows(row, page, rows, all, cap(s.rows.masks))
	if run {
		copy(all[int(first)*n:], lanes)
	} else {
		for k, id := range ids {
			to := all[int(id.Index%format.PageEntities)*n:][:n]
			for i, v := range lanes[k*n:][:n] {
				to[i] = v
			}
		}
	}
	s.touchRows(page, rows)
	s.count += bits.OnesCount64(rows)
}

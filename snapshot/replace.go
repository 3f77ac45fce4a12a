package snapshot

import (
	"slices"

	"github.com/arche-netcode/netcode/internal/plain"
	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// Set records a row's lanes and reports whether they differ from before. A row
// that the entity did not have is added. Lanes are copied.
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

// Replace is Set for a row that Row has just given, as its old lanes, and that
// names no entities.
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

// loseRow notes that a row goes away.
func (s *Store) loseRow(index uint32, row int) {
	place := s.rows.row(index, row)
	if s.schema.Refs.Has(row) {
		s.refs.change(s.schema.Plan(row), index, true, place, nil)
	}
	s.keepRow(index, row, true, place)
}

// keepRow writes down what a row was before this tick, once a tick.
func (s *Store) keepRow(index uint32, row int, had bool, lanes []uint32) {
	if s.past.note(row, index, had, lanes, cap(s.rows.masks)) && s.schema.Refs.Has(row) {
		s.refs.note(index, row, had, lanes)
	}
}

// reshape writes down what an entity was before this tick, once a tick.
func (s *Store) reshape(index uint32) {
	s.shapes++
	if s.shape[index] != s.tick {
		mask := s.rows.masks[index]
		s.reshaped = append(s.reshaped, index)
		s.was[index] = mask
		s.past.noteEntity(index, s.alive.has(index), mask, s.gens[index], cap(s.rows.masks))
		s.shape[index], s.shaped[index/format.PageEntities] = s.tick, s.tick
	}
}

// sinceOf is the tick of which a row is as it is now.
func (s *Store) sinceOf(index uint32, row int) tick.Tick { return s.past.sinceOf(row, index) }

// RowAt is the lanes that a row had as of tick t, nil when the entity lacked
// it. The slice is the store's own: read it before the next Begin. Errors:
// [ErrNoRow] when row is not one of the schema's, [ErrNotYet] when t is later
// than the newest tick, [ErrEvicted] when it is before the history, which reaches
// W ticks back, and [ErrNotAlive] when the entity did not live at t.
func (s *Store) RowAt(id wire.NetworkID, row int, t tick.Tick) ([]uint32, error) {
	if uint(row) >= uint(s.schema.Rows()) {
		return nil, ErrNoRow
	}
	mask, err := s.maskAt(id, t)
	if err != nil || !mask.Has(row) {
		return nil, err
	}
	if s.sinceOf(id.Index, row) <= t {
		return s.rows.row(id.Index, row), nil
	}
	lanes := s.past.rowAt(row, id.Index, t)
	if lanes == nil {
		return nil, ErrEvicted
	}
	return lanes, nil
}

// MaskAt is the rows that an entity had as of tick t, without those of distance bands. Errors as of RowAt.
func (s *Store) MaskAt(id wire.NetworkID, t tick.Tick) (Mask, error) {
	mask, err := s.maskAt(id, t)
	return mask.Minus(s.schema.Coarse), err
}

// maskAt is MaskAt with all rows.
func (s *Store) maskAt(id wire.NetworkID, t tick.Tick) (Mask, error) {
	switch {
	case t > s.tick:
		return Mask{}, ErrNotYet
	case t < s.past.horizon || t <= tick.None:
		return Mask{}, ErrEvicted
	case uint(id.Index) >= uint(len(s.gens)) || id.Generation == 0:
		return Mask{}, ErrNotAlive
	}
	if s.shape[id.Index] <= t {
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

// HistoryEvicted returns the number of changes of rows that were forgotten before they were W ticks old, because Config.HistoryBytes was
// too small for them.
func (s *Store) HistoryEvicted() uint64 { return s.past.evicted }

// Common returns the rows that all of some entities have, none when one of them does not live.
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

// ReplaceRows replaces a row of many entities that have it, as Common tells. Each entity is named once. Lanes are the new values,
// one entity's behind the other's.
func (s *Store) ReplaceRows(ids []wire.NetworkID, row int, lanes []uint32) {
	if !plain.On {
		s.replaceBatch(ids, row, lanes)
		return
	}
	n := int(s.schema.Widths[row])
	for k, id := range ids {
		s.Replace(id, row, s.rows.row(id.Index, row), lanes[k*n:(k+1)*n])
	}
}

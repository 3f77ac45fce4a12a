package snapshot

import (
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// rowAsOf returns a row as of tick t, or nil if the history does not have it. The slice is the store's own.
func (s *Store) rowAsOf(index uint32, row int, t tick.Tick) []uint32 {
	return s.past.rowAt(row, index, t, s.rows.get(index, row))
}

// AckedRow returns a row of the newest record that the client has acknowledged of an entity, and the tick of that record. It returns
// false if there is no such row. lanes is nil if the row is older than the server's history; it is the store's own.
func (v *View) AckedRow(id wire.NetworkID, row int) (lanes []uint32, t tick.Tick, ok bool) {
	if !v.Held(id) {
		return nil, tick.None, false
	}
	if t = v.ack(id.Index).base; t == tick.None || !v.shown(id.Index, v.maskOf(id.Index)).Has(row) {
		return nil, tick.None, false
	}
	return v.store.rowAsOf(id.Index, row, t), t, true
}

package snapshot

import (
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// lives is the attended entities, those with state beside their rows, as collections have.
type lives struct {
	attended bitset
	ended    []wire.NetworkID // attended entities that ended; see Ended
}

// Attend makes the store and its views report the life of an entity, which is alive or reserved. Ended lists it when it has ended, and
// [View.Met] when a client has acknowledged it. Package collections uses it.
func (s *Store) Attend(id wire.NetworkID) {
	s.lives.attended = s.lives.attended.grownTo(int(id.Index) + 1)
	s.lives.attended.set(id.Index)
}

// unattend notes that an entity has ended.
func (s *Store) unattend(id wire.NetworkID) {
	if s.lives.attended.has(id.Index) {
		s.lives.attended.unset(id.Index)
		s.lives.ended = append(s.lives.ended, id)
	}
}

// Ended returns the attended entities that ended since ClearEnded, in order. They are not attended any more. The slice is the store's
// own.
func (s *Store) Ended() []wire.NetworkID { return s.lives.ended }

// ClearEnded empties the list of Ended.
func (s *Store) ClearEnded() { s.lives.ended = s.lives.ended[:0] }

// noteMet notes the first acknowledgement of an attended entity in its present lifetime. See Met.
func (v *View) noteMet(index uint32) {
	if v.store.lives.attended.has(index) {
		v.met = append(v.met, wire.NetworkID{Index: index, Generation: v.life(index).generation})
	}
}

// Met returns the attended entities ([Store.Attend]) that the client acknowledged for the first time in their present lifetime, since
// ClearMet. A resync makes an entity appear once more. The slice is the view's own. Package collections uses it.
func (v *View) Met() []wire.NetworkID { return v.met }

// ClearMet empties the list of Met.
func (v *View) ClearMet() { v.met = v.met[:0] }

// Life returns the first tick of the entity's present lifetime at the client, and whether the client sees the entity. Two lifetimes of
// which anything was sent have different ticks. Package collections uses it.
func (v *View) Life(id wire.NetworkID) (since tick.Tick, visible bool) {
	if !v.Visible(id) {
		return tick.None, false
	}
	return v.life(id.Index).firstTick, true
}

// Share notes that the client reads the store's own world. It has everything that it sees, and nothing is sent to it.
func (v *View) Share() {
	v.shares = true
	for id := range v.store.All {
		if v.Visible(id) {
			v.noteMet(id.Index)
		}
	}
}

// Held reports whether the client has acknowledged an entity in its present lifetime.
func (v *View) Held(id wire.NetworkID) bool {
	return v.Visible(id) && (v.shares || v.ack(id.Index).base != tick.None)
}

// Sent reports whether a record of an entity was sent in its present lifetime.
func (v *View) Sent(id wire.NetworkID) bool {
	return v.Visible(id) && v.ack(id.Index).went >= v.life(id.Index).firstTick
}

package snapshot

import (
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// An entity that Urge named ranks higher by so many prices of a record and so many ticks of its own weight. It then goes before
// what is sent in its turn, also when it has just been sent, and behind what has waited for several turns. It pays the
// price all the same, so that over time it is sent as often as its weight says.
const (
	urgedPrices = 4
	urgedTicks  = 64
)

// urged is the entities that go first under a short budget, since something else waits for their state.
type urged struct {
	of   bitset
	list []uint32    // their indexes
	want []tick.Tick // by index: the tick of which a record is wanted, or of a later one
}

// Urge has an entity sent earlier than its priority alone would, until a record of tick t or a later one goes out. It is for
// who has sent something that waits at the client for that state.
func (v *View) Urge(id wire.NetworkID, t tick.Tick) {
	if !v.Visible(id) || !v.unsent.has(id.Index) || v.wentAt(id.Index) >= t {
		return
	}
	u := &v.urged
	u.of, u.want = u.of.grownTo(len(v.slots)), grown(u.want, len(v.slots), cap(v.slots))
	u.want[id.Index] = t
	if !u.of.has(id.Index) {
		u.of.set(id.Index)
		u.list = append(u.list, id.Index)
	}
}

// settle takes out who was sent, or is not visible any more.
func (u *urged) settle(v *View) {
	kept := u.list[:0]
	for _, index := range u.list {
		if v.visible.has(index) && v.wentAt(index) < u.want[index] {
			kept = append(kept, index)
		} else {
			u.of.unset(index)
		}
	}
	u.list = kept
}

// urgency is by how much an entity ranks higher than its score.
func (v *View) urgency(index uint32) int64 {
	if !v.urged.of.has(index) {
		return 0
	}
	return urgedPrices*v.plan.price + urgedTicks*v.weight(index)
}

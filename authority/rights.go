package authority

import (
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// heldRights is the rights of one client, as the server told them: one for each entity that the client may write, might write, or wrote
// a short time ago. Its size is that of what the client holds, however often rights change.
type heldRights struct {
	list   []heldRight      // A free place has generation 0.
	free   []int32          // Free places of list.
	newest map[uint32]int32 // By network index: the place of its newest entity. For lookup only.
	number uint32           // The newest number that was told. A session is told far less than 2^32 rights.
}

// notTold is heldRight.granted until the client is told.
const notTold = 1<<32 - 1

// heldRight is the right of a client to one entity.
type heldRight struct {
	id    wire.NetworkID
	older int32 // The place of an earlier entity of this index; -1: none.

	told     snapshot.Mask // Rows that the client was told it may write.
	anew     snapshot.Mask // Of told: rows whose right was taken and given back, or that the server corrected. No write of them counts until the client is told.
	ever     snapshot.Mask // Rows that it was told since the place is in use.
	since    []uint32      // By place of a row among the written ones: the number from which its writes count.
	accepted [][]uint32    // Likewise: the value that the server accepted last, as it stores it; empty: none since the right began.
	first    uint32        // Numbers of the rights to this entity: the first,
	number   uint32        // and the newest; 0: none.
	granted  uint32        // The number with which it was told what the game granted last: Release of who was told less gives up nothing.
	listed   bool          // The entity is in session.wrote.
	lostAt   tick.Tick     // The tick in which it lost rows last.
	wrote    snapshot.Mask // Rows that the server's game wrote, to be reported.
	reported snapshot.Mask // Rows for which that was reported.
}

// find returns the right to an entity, or nil.
func (r *heldRights) find(id wire.NetworkID) *heldRight {
	for i := r.at(id.Index); i >= 0; i = r.list[i].older {
		if r.list[i].id == id {
			return &r.list[i]
		}
	}
	return nil
}

// at returns the place of the newest entity of an index, -1 if there is none.
func (r *heldRights) at(index uint32) int32 {
	if i, ok := r.newest[index]; ok {
		return i
	}
	return -1
}

// under returns the right to which the id of a client's record belongs: its generation is the number of a right.
func (r *heldRights) under(id wire.NetworkID) *heldRight {
	for i := r.at(id.Index); i >= 0; i = r.list[i].older {
		if h := &r.list[i]; h.first <= id.Generation && id.Generation <= h.number {
			return h
		}
	}
	return nil
}

// hold returns the right to an entity that the client might write. The pointer is good until the next call.
func (r *heldRights) hold(id wire.NetworkID) *heldRight {
	if h := r.find(id); h != nil {
		return h
	}
	var i int32
	if n := len(r.free); n > 0 {
		i, r.free = r.free[n-1], r.free[:n-1]
	} else {
		i, r.list = int32(len(r.list)), append(r.list, heldRight{})
	}
	h := &r.list[i]
	clear(h.since)
	for i := range h.accepted {
		h.accepted[i] = h.accepted[i][:0]
	}
	*h = heldRight{id: id, older: r.at(id.Index), since: h.since, accepted: h.accepted, first: 1}
	r.newest[id.Index] = i
	return h
}

// drop forgets the right at a place.
func (r *heldRights) drop(i int32) {
	h := &r.list[i]
	if at := r.at(h.id.Index); at != i {
		for r.list[at].older != i {
			at = r.list[at].older
		}
		r.list[at].older = h.older
	} else if h.older >= 0 {
		r.newest[h.id.Index] = h.older
	} else {
		delete(r.newest, h.id.Index)
	}
	h.id = wire.NetworkID{}
	r.free = append(r.free, i)
}

// tell notes that the client was told a right. number is 0 without rows.
func (r *heldRights) tell(h *heldRight, rows, anew snapshot.Mask, number uint32, w *writers) {
	if number != 0 {
		if h.number == 0 {
			h.first = number
		}
		h.number, r.number = number, number
		h.granted = min(h.granted, number)
	}
	if h.since == nil {
		n := w.owner.Union(w.named).Count()
		h.since, h.accepted = make([]uint32, n), make([][]uint32, n)
	}
	for ; !anew.IsZero(); anew = anew.Rest() {
		place := w.place[anew.Lowest()]
		h.since[place], h.accepted[place] = number, h.accepted[place][:0]
	}
	h.told, h.anew, h.ever = rows, snapshot.Mask{}, h.ever.Union(rows)
}

// mayHaveWritten validates a record of a client. Its id must be the number of a right that the client was told, to rows that it had
// under that entity. This holds for a record without rows too, because it takes memory.
func (r *heldRights) mayHaveWritten(id wire.NetworkID, rows snapshot.Mask) bool {
	h := r.under(id)
	return h != nil && rows.Within(h.ever)
}

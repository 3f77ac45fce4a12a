package interest

import (
	"cmp"
	"slices"

	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/wire"
)

// Room names a place, a team, a match, or any other set of entities and clients. A room need not be created.
type Room uint32

// Rooms shows a client the entities with which it shares a room. Entities and clients may be in several rooms. Nobody sees an
// entity without a room; a client without a room sees nothing. Use [NewRooms]: the zero value is not ready.
type Rooms struct {
	ticking
	rooms   map[Room][]wire.NetworkID // the entities of each room, ascending
	of      map[wire.NetworkID][]Room // the rooms of an entity, ascending
	clients map[wire.ClientID]*visitor
	news    recent // entities that changed their rooms
}

// visitor is the state of one client.
type visitor struct {
	rooms []Room // ascending
	news  recent // entities of rooms that the client entered or left
}

// NewRooms returns a policy of rooms, all empty.
func NewRooms() *Rooms {
	return &Rooms{rooms: map[Room][]wire.NetworkID{}, of: map[wire.NetworkID][]Room{}, clients: map[wire.ClientID]*visitor{}}
}

// insert adds v to an ascending list that lacks it.
func insert[T any](list []T, v T, compare func(a, b T) int) (_ []T, added bool) {
	at, found := slices.BinarySearchFunc(list, v, compare)
	if found {
		return list, false
	}
	return slices.Insert(list, at, v), true
}

// without takes v out of an ascending list.
func without[T any](list []T, v T, compare func(a, b T) int) (_ []T, had bool) {
	at, found := slices.BinarySearchFunc(list, v, compare)
	if !found {
		return list, false
	}
	return slices.Delete(list, at, at+1), true
}

func compareIDs(a, b wire.NetworkID) int {
	return cmp.Or(cmp.Compare(a.Index, b.Index), cmp.Compare(a.Generation, b.Generation))
}

// Add puts an entity into a room; it stays in its other rooms. The entity may be spawned later. Add returns false if the entity is
// dead.
func (r *Rooms) Add(id wire.NetworkID, to Room) bool {
	if id.Index >= snapshot.MaxEntities || id.Generation == 0 || r.past(id) {
		return false
	}
	rooms, added := insert(r.of[id], to, cmp.Compare[Room])
	if added {
		r.of[id] = rooms
		r.rooms[to], _ = insert(r.rooms[to], id, compareIDs)
		r.news.add(id.Index)
	}
	return true
}

// Remove takes an entity out of a room. It returns false if the entity was not in it.
func (r *Rooms) Remove(id wire.NetworkID, from Room) bool {
	rooms, had := without(r.of[id], from, cmp.Compare[Room])
	if had {
		r.of[id] = rooms
		r.takeOut(id, from)
	}
	return had
}

// Enter puts a client into a room; it stays in its other rooms. The client may connect later.
func (r *Rooms) Enter(client wire.ClientID, to Room) {
	v := r.clients[client]
	if v == nil {
		v = &visitor{}
		r.clients[client] = v
	}
	v.rooms, _ = insert(v.rooms, to, cmp.Compare[Room])
	v.note(r.rooms[to])
}

// Exit takes a client out of a room. It returns false if the client was not in it.
func (r *Rooms) Exit(client wire.ClientID, from Room) (was bool) {
	if v := r.clients[client]; v != nil {
		v.rooms, was = without(v.rooms, from, cmp.Compare[Room])
		v.note(r.rooms[from])
	}
	return was
}

// note notes that the sight of all entities of a room may have changed.
func (v *visitor) note(entities []wire.NetworkID) {
	for _, id := range entities {
		v.news.add(id.Index)
	}
}

func (r *Rooms) takeOut(id wire.NetworkID, from Room) {
	r.news.add(id.Index)
	if r.rooms[from], _ = without(r.rooms[from], id, compareIDs); len(r.rooms[from]) == 0 {
		delete(r.rooms, from)
	}
}

// forget takes an entity out of all its rooms.
func (r *Rooms) forget(id wire.NetworkID) {
	for _, name := range r.of[id] {
		r.takeOut(id, name)
	}
	delete(r.of, id)
}

// Prepare implements [Policy]. It takes dead entities out of their rooms.
func (r *Rooms) Prepare(s *snapshot.Store, all bool) {
	if !r.begin(s) {
		return
	}
	r.news.turn()
	for _, v := range r.clients {
		v.news.turn()
	}
	for _, id := range s.Deaths() {
		r.forget(id)
	}
	if all {
		for id := range r.of {
			if s.Past(id) {
				r.forget(id)
			}
		}
	}
}

// Changed implements [Policy].
func (r *Rooms) Changed(client wire.ClientID, again *Again) {
	r.news.addTo(again)
	if v := r.clients[client]; v != nil {
		v.news.addTo(again)
	}
}

// Sees implements [Policy].
func (r *Rooms) Sees(client wire.ClientID, id wire.NetworkID, _ snapshot.Mask) (rows snapshot.Mask, weight uint16) {
	if v := r.clients[client]; v != nil {
		for _, name := range r.of[id] {
			if _, shares := slices.BinarySearch(v.rooms, name); shares {
				return snapshot.AllRows(), 0
			}
		}
	}
	return rows, 0
}

// Leave implements [Policy]. The client leaves its rooms.
func (r *Rooms) Leave(client wire.ClientID) { delete(r.clients, client) }

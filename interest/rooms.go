package interest

import (
	"slices"

	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/wire"
)

// Room names a place, a team, a match, or any other set of entities and clients. A room need not be created.
type Room uint32

// Rooms shows a client the entities with which it shares a room. Entities and clients may be in several rooms. Nobody sees an
// entity without a room; a client without a room sees nothing. Use [NewRooms]: the zero value is not ready.
type Rooms struct {
	namedEntities
	rooms   map[Room]*room
	of      [][]Room // by index: the rooms of an entity, ascending
	clients perClient[visitor]
	changes uint64 // counts all changes of rooms
}

type room struct {
	entities []uint32 // indexes, ascending
	clients  int
	changed  uint64 // number of the newest change
}

// visitor is the state of one client.
type visitor struct {
	rooms []Room // ascending
	set   Set
	built uint64 // number of the newest change that the set contains
	moved bool   // the client entered or left a room since then
}

// NewRooms returns a policy of rooms, all empty.
func NewRooms() *Rooms { return &Rooms{rooms: map[Room]*room{}} }

// Add puts an entity into a room; it stays in its other rooms. The entity may be newer than the last capture. Add returns false
// if the entity is dead.
func (r *Rooms) Add(id wire.NetworkID, to Room) bool {
	ok, taken := r.claim(id)
	if taken {
		r.forget(id.Index)
	}
	if !ok {
		return false
	}
	for int(id.Index) >= len(r.of) {
		r.of = append(r.of, nil)
	}
	at, found := slices.BinarySearch(r.of[id.Index], to)
	if found {
		return true
	}
	r.of[id.Index] = slices.Insert(r.of[id.Index], at, to)
	place := r.open(to)
	at, _ = slices.BinarySearch(place.entities, id.Index)
	place.entities = slices.Insert(place.entities, at, id.Index)
	return true
}

// Remove takes an entity out of a room. It returns false if the entity was not in it.
func (r *Rooms) Remove(id wire.NetworkID, from Room) bool {
	if !r.holds(id) || uint(id.Index) >= uint(len(r.of)) {
		return false
	}
	at, found := slices.BinarySearch(r.of[id.Index], from)
	if found {
		r.of[id.Index] = slices.Delete(r.of[id.Index], at, at+1)
		r.takeOut(id.Index, from)
	}
	return found
}

// Enter puts a client into a room; it stays in its other rooms. The client may connect later.
func (r *Rooms) Enter(client wire.ClientID, to Room) {
	v := r.clients.open(client)
	if at, found := slices.BinarySearch(v.rooms, to); !found {
		v.rooms = slices.Insert(v.rooms, at, to)
		v.moved = true
		r.open(to).clients++
	}
}

// Exit takes a client out of a room. It returns false if the client was not in it.
func (r *Rooms) Exit(client wire.ClientID, from Room) bool {
	v := r.clients.get(client)
	if v == nil {
		return false
	}
	at, found := slices.BinarySearch(v.rooms, from)
	if found {
		v.rooms = slices.Delete(v.rooms, at, at+1)
		v.moved = true
		r.rooms[from].clients--
		r.close(from)
	}
	return found
}

// open returns a room that is about to change, and stamps it with a new change number.
func (r *Rooms) open(name Room) *room {
	place := r.rooms[name]
	if place == nil {
		place = &room{}
		r.rooms[name] = place
	}
	r.changes++
	place.changed = r.changes
	return place
}

// close deletes a room if it is empty.
func (r *Rooms) close(name Room) {
	if place := r.rooms[name]; place.clients == 0 && len(place.entities) == 0 {
		delete(r.rooms, name)
	}
}

func (r *Rooms) takeOut(index uint32, from Room) {
	place := r.open(from)
	if at, found := slices.BinarySearch(place.entities, index); found {
		place.entities = slices.Delete(place.entities, at, at+1)
	}
	r.close(from)
}

// forget takes an entity out of all its rooms.
func (r *Rooms) forget(index uint32) {
	if int(index) >= len(r.of) {
		return
	}
	for _, name := range r.of[index] {
		r.takeOut(index, name)
	}
	r.of[index] = r.of[index][:0]
}

// Prepare implements [Policy]. It takes dead entities out of their rooms.
func (r *Rooms) Prepare(s *snapshot.Store) {
	r.settle(s, r.forget)
}

// Sees implements [Policy].
func (r *Rooms) Sees(client wire.ClientID) Set {
	v := r.clients.get(client)
	if v == nil {
		return nil
	}
	changed := v.moved
	for _, name := range v.rooms {
		changed = changed || r.rooms[name].changed > v.built
	}
	if !changed {
		return v.set
	}
	v.moved, v.built = false, r.changes
	v.set.reset(len(v.set))
	for _, name := range v.rooms {
		for _, index := range r.rooms[name].entities {
			v.set.add(index)
		}
	}
	return v.set
}

// Refine implements [Policy].
func (r *Rooms) Refine(wire.ClientID, View, Set, Set) {}

// Leave implements [Policy]. The client leaves its rooms.
func (r *Rooms) Leave(client wire.ClientID) {
	v := r.clients.get(client)
	if v == nil {
		return
	}
	for _, name := range v.rooms {
		r.rooms[name].clients--
		r.close(name)
	}
	r.clients.drop(client)
}

// perClient stores one T for each client, sorted by client, so that iteration has the same order everywhere.
type perClient[T any] struct {
	clients []wire.ClientID
	of      []*T
	spare   []*T // values of retired clients, in their zero state
}

// get returns the client's value, nil if it has none.
func (r *perClient[T]) get(client wire.ClientID) *T {
	if at, found := slices.BinarySearch(r.clients, client); found {
		return r.of[at]
	}
	return nil
}

// open returns the client's value, and makes one if it has none.
func (r *perClient[T]) open(client wire.ClientID) *T {
	at, found := slices.BinarySearch(r.clients, client)
	if found {
		return r.of[at]
	}
	var of *T
	if last := len(r.spare) - 1; last >= 0 {
		of, r.spare = r.spare[last], r.spare[:last]
	} else {
		of = new(T)
	}
	r.clients = slices.Insert(r.clients, at, client)
	r.of = slices.Insert(r.of, at, of)
	return of
}

// retire drops the client's value and stores it for reuse. The value must be equal to a new one.
func (r *perClient[T]) retire(client wire.ClientID) {
	if of := r.get(client); of != nil {
		r.spare = append(r.spare, of)
		r.drop(client)
	}
}

func (r *perClient[T]) drop(client wire.ClientID) {
	if at, found := slices.BinarySearch(r.clients, client); found {
		r.clients = slices.Delete(r.clients, at, at+1)
		r.of = slices.Delete(r.of, at, at+1)
	}
}

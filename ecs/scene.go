package netecs

import (
	"reflect"

	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/internal/replica"
	"github.com/arche-netcode/netcode/internal/world"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/wire"
)

// A client that loads the same level as its server has entities with the same components.SceneID. When such an entity
// of the server arrives, Apply uses the client's entity and creates none.

// scene finds the entities of a client's world by their components.SceneID.
type scene struct {
	row      int // row of SceneID in the schema; -1: it is not registered
	run      uint32
	filled   bool
	entities map[uint32]Entity // entities that are not replicated, as of the run; looked up only
}

func newScene(schema *snapshot.Schema) scene {
	return scene{row: schema.RowOf(reflect.TypeFor[components.SceneID]())}
}

// sceneEntity returns the entity of the client's world with the SceneID of a new entity of the server, if there is one.
func (s *scene) sceneEntity(a *Apply, now replica.Entity) (e Entity, ok bool) {
	if s.row < 0 || !now.Mask.Has(s.row) {
		return e, false
	}
	number := a.replica.Row(now.ID.Index, s.row)[0]
	if number == 0 {
		return e, false
	}
	if !s.filled || s.run != a.run {
		s.fill(a)
	}
	if e, ok = s.entities[number]; ok {
		delete(s.entities, number)
	}
	return e, ok
}

// fill lists the entities of a world that have a SceneID and are not replicated. If two have the same SceneID, it uses
// the older one.
func (s *scene) fill(a *Apply) {
	w := a.tracker.world
	if s.entities == nil {
		s.entities = map[uint32]Entity{}
	}
	clear(s.entities)
	s.run, s.filled = a.run, true
	id := a.tracker.ids[s.row]
	with := world.All(id).Without(a.tracker.replicated)
	for query := world.Select(w, &with); query.Next(); {
		e := query.Entity()
		number := componentOf[components.SceneID](w, e, id).ID
		if number == 0 {
			continue
		}
		other, twice := s.entities[number]
		if twice {
			later := e
			if e.ID() < other.ID() {
				later = other
			}
			a.tracker.noteStrange(DuplicateSceneID, later)
		}
		if !twice || e.ID() < other.ID() {
			s.entities[number] = e
		}
	}
}

// sceneCheck reports a replicated entity of a server that has the SceneID of another one.
type sceneCheck struct {
	row int                       // row of SceneID in the schema; -1: it is not registered
	of  map[uint32]wire.NetworkID // looked up only
}

// checkBirths checks the entities that a capture spawned.
func (s *sceneCheck) checkBirths(c *Capture) {
	for _, id := range c.store.Births() {
		lanes := c.store.Row(id, s.row)
		if lanes == nil || lanes[0] == 0 {
			continue
		}
		other, known := s.of[lanes[0]]
		if known && other != id {
			if row := c.store.Row(other, s.row); row != nil && row[0] == lanes[0] {
				c.tracker.note(Problem{Kind: DuplicateSceneID, Entity: id})
				continue
			}
		}
		if s.of == nil {
			s.of = map[uint32]wire.NetworkID{}
		}
		s.of[lanes[0]] = id
	}
}

// Restored describes the entities that Restore creates, for example of a saved game. Each entity is identified by its
// place, from 0 to Len-1.
type Restored struct {
	Len  int                       // the number of entities
	Rows func(i int) snapshot.Mask // the components of an entity
	// Row appends the lanes of a row of entity i. The entity at a place is written as the id that name returns for it.
	Row func(dst []uint32, i, row int, name func(place int) wire.NetworkID) []uint32
	// Made is called for each entity when all exist, with a Replicated and zero components, before their values are
	// written.
	Made func(i int, e Entity)
	// ID returns the network id of entity i, for fields that contain network ids. It is called after Made.
	ID func(i int) wire.NetworkID
}

// Restore creates entities with a Replicated in a server's world, which must not be locked. Entity fields and targets
// of relations refer to the entities that it created.
func Restore(w *World, schema *snapshot.Schema, r *Restored) []Entity {
	b := bind(w, schema)
	entities := make([]Entity, r.Len)
	var ids []world.ID
	for i := range entities {
		ids = append(ids[:0], b.replicated)
		for rows := r.Rows(i); !rows.IsZero(); rows = rows.Rest() {
			ids = append(ids, b.ids[rows.Lowest()])
		}
		entities[i] = world.Spawn(w, nil, ids...)
	}
	for i, e := range entities {
		r.Made(i, e)
	}
	var lanes, handles []uint32
	byHandle := func(place int) wire.NetworkID {
		h := handleOf(entities[place])
		return wire.NetworkID{Index: h.number, Generation: h.generation}
	}
	for i, e := range entities {
		for rows := r.Rows(i); !rows.IsZero(); rows = rows.Rest() {
			row := rows.Lowest()
			plan := schema.Plan(row)
			lanes = r.Row(lanes[:0], i, row, r.ID)
			if target, ok := plan.Target(); ok || len(plan.Handles()) > 0 {
				handles = r.Row(handles[:0], i, row, byHandle)
				for _, at := range plan.Handles() {
					lanes[at], lanes[at+1] = handles[at], handles[at+1]
				}
				if ok {
					restoreTarget(w, e, b.ids[row], entities, r, i, row, target)
				}
			}
			if plan.Lanes() > 0 {
				write(w, e, column{id: b.ids[row], plan: plan, size: int(plan.Size())}, lanes)
			}
		}
	}
	return entities
}

// restoreTarget sets the target of a relation, if it has one.
func restoreTarget(w *World, e Entity, id world.ID, entities []Entity, r *Restored, i, row, lane int) {
	places := r.Row(nil, i, row, func(place int) wire.NetworkID { return wire.NetworkID{Index: uint32(place), Generation: 1} })
	if places[lane+1] != 0 {
		world.SetTarget(w, e, id, entities[places[lane]])
	}
}

package netecs

import (
	"reflect"
	"strings"

	"github.com/mlange-42/arche/ecs"

	"github.com/arche-netcode/netcode/components"
)

const (
	unreplicatedEach = 32 // captures from one look to the next
	unreplicatedSets = 16 // component sets that are told of at most
)

// unreplicated finds entities of a server's world that have replicated components and no Replicated, in two looks, one after the
// other. It is a filter, so that a look costs one comparison of masks for each component set of the world.
type unreplicated struct {
	rows       ecs.Mask // the components of the schema
	replicated ecs.ID
	wait       int               // captures until the next look
	known      map[ecs.Mask]bool // component sets that are not looked for any more; looked up only
	told       int               // of these, those that were told of
	seen       []unreplicatedSet // those that the look before found
	query      ecs.Query         // a field, since the address of a local would escape
}

// unreplicatedSet is a component set, with an entity that has it.
type unreplicatedSet struct {
	mask   ecs.Mask
	entity ecs.Entity
}

func newUnreplicated(b *binding) unreplicated {
	return unreplicated{
		rows: ecs.All(b.ids...), replicated: b.replicated, wait: unreplicatedEach, known: map[ecs.Mask]bool{},
	}
}

// Matches implements ecs.Filter.
func (u *unreplicated) Matches(mask *ecs.Mask) bool {
	return mask.ContainsAny(&u.rows) && !mask.Get(u.replicated) && !u.known[*mask]
}

// look counts captures, and looks at the world in each 32nd.
func (u *unreplicated) look(w *tracker) {
	if u.wait--; u.wait > 0 || u.told == unreplicatedSets {
		return
	}
	u.wait = unreplicatedEach
	u.query = w.world.Query(u)
	if u.query.Count() == 0 {
		u.query.Close()
		u.seen = u.seen[:0]
		return
	}
	var last ecs.Mask // the empty mask, which does not match
	for u.query.Next() {
		if mask := u.query.Mask(); mask != last {
			u.find(w, mask, u.query.Entity())
			last = mask
		}
	}
}

// find takes in that an entity has a component set. If another look found one that still has it, it is told.
func (u *unreplicated) find(w *tracker, mask ecs.Mask, e ecs.Entity) {
	for i := range u.seen {
		s := &u.seen[i]
		if s.mask != mask {
			continue
		}
		if !w.world.Alive(s.entity) || w.world.Mask(s.entity) != mask {
			s.entity = e
		} else if !u.known[mask] {
			u.known[mask] = true
			u.tell(w, s)
		}
		return
	}
	u.seen = append(u.seen, unreplicatedSet{mask, e})
}

// tell reports a component set, unless it has a LocalOnly.
func (u *unreplicated) tell(w *tracker, s *unreplicatedSet) {
	for _, id := range ecs.ComponentIDs(w.world) { // LocalOnly need not be registered with the world
		if info, ok := ecs.ComponentInfo(w.world, id); ok && s.mask.Get(id) && info.Type == reflect.TypeFor[components.LocalOnly]() {
			return
		}
	}
	if u.told == unreplicatedSets {
		return
	}
	u.told++
	var names []string
	for row, id := range w.ids {
		if s.mask.Get(id) {
			names = append(names, w.schema.Plan(row).Name())
		}
	}
	w.note(Problem{Kind: Unreplicated, Local: s.entity, Detail: strings.Join(names, ", ")})
}

// forgetSeen forgets the entities of a world that was reset. A component set is told of once all the same.
func (u *unreplicated) forgetSeen() { u.seen = u.seen[:0] }

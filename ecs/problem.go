package netecs

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/internal/world"
	"github.com/arche-netcode/netcode/wire"
)

// ProblemKind is the kind of a [Problem].
type ProblemKind uint8

const (
	// NotFinite: a captured field was NaN or infinite. Its last good value is
	// kept until the field is finite again.
	NotFinite ProblemKind = iota + 1
	// OutOfRange: a captured field was outside the range of its net tag. The nearest value in range is sent.
	OutOfRange
	// CopiedReplicated: a Replicated was copied from an entity that still has it. On the server the copy gets a network
	// id of its own. On a client, ids come from the server, so the copy's Replicated is zeroed.
	CopiedReplicated
	// StaleReplicated: a Replicated refers to an entity that no longer exists or never existed. It is treated like a
	// copy.
	StaleReplicated
	// ForeignReplicated: a Replicated belongs to another server or client, which does not work on this world. The
	// entity is left alone and does not replicate here.
	ForeignReplicated
	// OverwrittenReplicated: game code overwrote the Replicated of a replicated entity. It is restored.
	OverwrittenReplicated
	// WorldReset: World.Reset was called. A capture despawns everything and starts again. An apply spawns
	// everything again.
	WorldReset
	// WorldLocked: an open query locked the world when a tick was captured or applied. A capture continues. An apply
	// waits until the query is closed. It is reported once until the world is unlocked again.
	WorldLocked
	// StoreFull: Config.MaxEntities entities are alive, so this entity does not replicate. Each capture tries it again.
	StoreFull
	// LocalWriteRestored: client code wrote a replicated component without authority over it. The server's value is restored.
	LocalWriteRestored
	// LocallyRemovedEntity: client code removed a replicated entity. It stays removed.
	LocallyRemovedEntity
	// LocallyRemovedComponent: client code removed a replicated component or the Replicated. A component stays removed
	// until the server removes and adds it. An entity without its Replicated belongs to the game from then on.
	LocallyRemovedComponent
	// LocallyAddedComponent: client code added a replicated component to an entity of the server. It is local to this
	// client. If the server adds the component too, the server's value replaces the local one.
	LocallyAddedComponent
	// SecondRelation: the server added a relation component to an entity that has another one here. Arche allows an
	// entity one relation, so the component is not added. On Ark it does not occur.
	SecondRelation
	// RelationCycle: relations of one component form a cycle. None of them has a target until one of them changes. A client
	// reports it only if the server has the cycle, not while half of an exchange is still to arrive.
	RelationCycle
	// NoRotation: a captured quaternion was zero, most likely since it was never set. Its last good value is kept, or
	// no rotation if there is none.
	NoRotation
	// DuplicateSceneID: an entity has the same components.SceneID as another entity of its world. At a client the older
	// one is used for the server's entity, and this one stays local. At a server both are sent, and the client uses its
	// own entity for the one that arrives first.
	DuplicateSceneID
	// Unreplicated: an entity of a server's world has had replicated components and no Replicated for 32 captures or
	// more, so that no client gets it. It is reported once for each set of components, for at most 16 sets. A
	// components.LocalOnly on the entity suppresses the report.
	Unreplicated
	// LocalReplicated: client code gave an entity a Replicated. Only a server can spawn replicated entities, so the
	// entity stays on this client.
	LocalReplicated
)

// kindOf returns the kind of problem for a fault of a field.
func kindOf(reason wire.FaultReason) ProblemKind {
	switch reason {
	case wire.NotFinite:
		return NotFinite
	case wire.NoRotation:
		return NoRotation
	}
	return OutOfRange
}

// words describes each kind. The subject is an entity, a component of an entity, or nothing. The Detail replaces %s, or
// is appended to the text.
func (k ProblemKind) words() string {
	switch k {
	case NotFinite:
		return "is not a finite number: the last good value is kept"
	case OutOfRange:
		return "is out of range%s: the nearest value in range is sent"
	case CopiedReplicated:
		return "has a Replicated that was copied from another entity"
	case StaleReplicated:
		return "has a Replicated that names no living entity"
	case ForeignReplicated:
		return "has a Replicated of another server or client: it is left alone"
	case OverwrittenReplicated:
		return "had its Replicated overwritten: it is put back"
	case WorldReset:
		return "the world was reset: replication starts again"
	case WorldLocked:
		return "the world is locked by an open query that was not closed: until it is, no entity or component can be added or removed"
	case StoreFull:
		return "is not replicated: as many entities are alive as Config.MaxEntities allows%s: raise it on the server and the clients, or remove entities"
	case LocalWriteRestored:
		return "was written on a client without authority: the server's value is put back; " +
			"if steps of a simulation write it, call predict.Register for it; if this client is to write it, register it with authority.WrittenBy; then only the entity's owner (OwnerWrites), or the client that the server names (NamedWrites), may write it"
	case LocallyRemovedEntity:
		return "was removed on this client: it stays away"
	case LocallyRemovedComponent:
		return "was removed on this client: it stays away"
	case LocallyAddedComponent:
		return "was added on this client: the server does not learn of it, and replaces it when it adds its own"
	case SecondRelation:
		return "is a second relation of its entity: it is left out"
	case RelationCycle:
		return "leads in a circle of relations back to its entity: it has no target"
	case NoRotation:
		return "is a rotation of length 0: the last good value is kept"
	case DuplicateSceneID:
		return "has the components.SceneID of another entity: give each its own number"
	case Unreplicated:
		return "has replicated components%s and no components.Replicated, so no client gets it: " +
			"add components.Replicated{} to it, or components.LocalOnly{} if it is meant to stay in this world"
	case LocalReplicated:
		return "was given a components.Replicated on this client: nobody else learns of it, only the server spawns entities"
	}
	return "has an unknown problem"
}

// Problem is reported once per entity and cause, not once per tick.
type Problem struct {
	// Kind is the kind of the problem.
	Kind ProblemKind
	// Entity is the network id, or zero.
	Entity wire.NetworkID
	// Local is the entity in this world, or zero. It was alive when the problem was found.
	Local Entity
	// Component is the wire name of the component. It is empty if the problem concerns the whole entity.
	Component string
	// Field is the path of the field inside the component, if known.
	Field string
	// Detail depends on the Kind: the value and the bounds for OutOfRange, the limit for StoreFull, the names of the
	// components for Unreplicated. It may be empty.
	Detail string
}

// String returns the problem as a sentence without a full stop.
func (p Problem) String() string {
	var b strings.Builder
	if p.Component != "" {
		b.WriteString(p.Component)
		if p.Field != "" {
			b.WriteString("." + p.Field)
		}
		b.WriteString(" of ")
	}
	if !p.Entity.IsZero() {
		fmt.Fprintf(&b, "entity %s ", p.Entity)
	} else if !p.Local.IsZero() {
		fmt.Fprintf(&b, "local entity %d.%d ", p.Local.ID(), world.Generation(p.Local))
	}
	before, behind, _ := strings.Cut(p.Kind.words(), "%s")
	b.WriteString(before)
	if p.Detail != "" {
		b.WriteString(" (" + p.Detail + ")")
	}
	b.WriteString(behind)
	return b.String()
}

// Error makes a Problem usable where errors are reported.
func (p Problem) Error() string { return p.String() }

// reports queues problems while the world is locked, and reports them afterwards: the receiver may change the world.
type reports struct {
	report   func(Problem)
	problems []Problem
	strange  []uint32 // by entity number: 1 + generation of the last entity that noteStrange reported
}

// note queues a problem.
func (r *reports) note(p Problem) {
	if r.report != nil {
		r.problems = append(r.problems, p)
	}
}

// noteStrange queues a problem of an entity without an id, once per entity.
func (r *reports) noteStrange(kind ProblemKind, e Entity) {
	r.strange = grown(r.strange, int(e.ID()))
	if reported := &r.strange[e.ID()]; *reported != world.Generation(e)+1 {
		*reported = world.Generation(e) + 1
		r.note(Problem{Kind: kind, Local: e})
	}
}

// flush reports the queued problems. This package must not lock the world during the call.
func (r *reports) flush() {
	for i := 0; i < len(r.problems); i++ {
		r.report(r.problems[i])
	}
	r.problems = r.problems[:0]
}

const (
	unreplicatedEach = 32 // captures from one check to the next
	unreplicatedSets = 16 // at most so many component sets are reported
)

// unreplicated finds entities of a server's world that have replicated components and no Replicated in two checks, one
// after the other. It is an world.Matcher, so that a check costs one comparison of masks for each component set of the
// world.
type unreplicated struct {
	rows       world.Mask // components of the schema
	replicated world.ID
	wait       int                 // captures until the next check
	known      map[world.Mask]bool // component sets that were handled; looked up only
	reported   int                 // number of sets reported
	seen       []unreplicatedSet   // sets that an earlier check found
	query      world.Query         // a field, since the address of a local variable would escape
}

// unreplicatedSet is a component set, and an entity that has it.
type unreplicatedSet struct {
	mask   world.Mask
	entity Entity
}

func newUnreplicated(b *binding) unreplicated {
	return unreplicated{
		rows: world.All(b.ids...), replicated: b.replicated, wait: unreplicatedEach, known: map[world.Mask]bool{},
	}
}

// Matches implements world.Matcher.
func (u *unreplicated) Matches(mask *world.Mask) bool {
	return mask.ContainsAny(&u.rows) && !mask.Get(u.replicated) && !u.known[*mask]
}

// check checks the world, in each 32nd capture.
func (u *unreplicated) check(tr *tracker) {
	u.wait = unreplicatedEach
	u.query = world.Select(tr.world, u)
	var last world.Mask // the empty mask, which does not match
	for u.query.Next() {
		if mask := u.query.Mask(); mask != last {
			u.find(tr, mask, u.query.Entity())
			last = mask
		}
	}
	if last.IsZero() { // none now
		u.seen = u.seen[:0]
	}
}

// find notes that an entity has a component set. If an earlier check found an entity that still has the set, find
// reports the set.
func (u *unreplicated) find(tr *tracker, mask world.Mask, e Entity) {
	for i := range u.seen {
		s := &u.seen[i]
		if s.mask != mask {
			continue
		}
		if !tr.world.Alive(s.entity) || world.MaskOf(tr.world, s.entity) != mask {
			s.entity = e
		} else if !u.known[mask] {
			u.known[mask] = true
			u.reportSet(tr, s)
		}
		return
	}
	u.seen = append(u.seen, unreplicatedSet{mask, e})
}

// reportSet reports a component set, unless it contains a LocalOnly.
func (u *unreplicated) reportSet(tr *tracker, s *unreplicatedSet) {
	for _, id := range world.IDs(tr.world) { // LocalOnly need not be registered with the world
		if s.mask.Get(id) && world.TypeOf(tr.world, id) == reflect.TypeFor[components.LocalOnly]() {
			return
		}
	}
	if u.reported == unreplicatedSets {
		return
	}
	u.reported++
	var names []string
	for row, id := range tr.ids {
		if s.mask.Get(id) {
			names = append(names, tr.schema.Plan(row).Name())
		}
	}
	tr.note(Problem{Kind: Unreplicated, Local: s.entity, Detail: strings.Join(names, ", ")})
}

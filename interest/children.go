package interest

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/wire"
)

// Parent returns the entity that another one is a part of: the tank of a turret, the bag of an item. ok is false if there is none. It
// goes by nothing but the rows of that entity: it is asked again only when one of those has changed, and by [Children.RefreshAll].
type Parent func(s *snapshot.Store, id wire.NetworkID) (parent wire.NetworkID, ok bool)

// ParentOf reads parents out of a replicated component: the target of an Arche relation, or else the only entity field. It panics if
// the protocol does not replicate T, and if T has no such field, or several: [ParentField] names one.
func ParentOf[T any](schema *snapshot.Schema) Parent {
	row := RowOf[T](schema)
	plan := schema.Plan(row)
	if lane, ok := plan.Target(); ok {
		return parentAt(row, lane)
	}
	refs := plan.Refs()
	if len(refs) != 1 {
		panic(fmt.Sprintf("interest: ParentOf[%v]: it is no relation and has %d entity fields, where one is needed: "+
			"use ParentField with the name of one", reflect.TypeFor[T](), len(refs)))
	}
	return parentAt(row, refs[0])
}

// ParentField reads parents out of an entity field of a replicated component, given by its path, as "Seat" or "Mount.Base". It panics
// if the protocol does not replicate T, and if T has no such field.
func ParentField[T any](schema *snapshot.Schema, field string) Parent {
	row := RowOf[T](schema)
	plan := schema.Plan(row)
	var names []string
	for _, lane := range plan.Refs() {
		name := plan.Fields()[plan.Lane(lane).Field]
		if name == field {
			return parentAt(row, lane)
		}
		names = append(names, name)
	}
	panic(fmt.Sprintf("interest: ParentField[%v]: %q is not one of its entity fields: %s", reflect.TypeFor[T](), field, strings.Join(names, ", ")))
}

// parentAt reads the network id in a lane of a row.
func parentAt(row, lane int) Parent {
	return func(s *snapshot.Store, id wire.NetworkID) (parent wire.NetworkID, ok bool) {
		lanes := s.Row(id, row)
		if lanes == nil {
			return parent, false
		}
		parent = wire.NetworkID{Index: lanes[lane], Generation: lanes[lane+1]}
		return parent, !parent.IsZero()
	}
}

// Children shows the entities of another policy, their children, and the children of these. No bytes are sent for it. Entities that
// are each other's parents in a cycle are visible if one of them is.
type Children struct {
	lifetimes
	of      Policy
	parent  Parent
	store   *snapshot.Store
	parents []wire.NetworkID // by index; zero: none
	order   []uint32         // entities with a living parent that are in no cycle, each behind its parent
	cycles  []uint32         // the members of the cycles, one cycle behind the other
	ends    []int            // of each cycle in cycles
	changes uint64           // counts every change of order and cycles
	done    Set              // scratch of sort: entities that are in order or cycles, or have no parent
	path    Set              // scratch of sort: entities that were climbed from
	stack   []uint32         // scratch of sort
	clients perClient[family]
}

// family contains the entities that one client sees.
type family struct {
	base  Set // of the other policy, when set was made
	set   Set
	built uint64 // the number of changes that the set reflects
}

// NewChildren returns the policy that adds the children of another policy's entities.
func NewChildren(of Policy, parent Parent) *Children { return &Children{of: of, parent: parent} }

// RefreshAll asks for the parents of all entities again. Call it when the function's answers have changed.
func (c *Children) RefreshAll() {
	refreshAll(c.of)
	if c.store == nil {
		return
	}
	for index := range c.alive.All {
		c.ask(c.id(index))
	}
	c.sort()
}

// RefreshClient passes the call to the other policy: a parent is the same for all clients.
func (c *Children) RefreshClient(client wire.ClientID) { refreshClient(c.of, client) }

// Prepare implements [Policy]. It asks for the parents of the entities that have changed.
func (c *Children) Prepare(s *snapshot.Store) {
	c.of.Prepare(s)
	before := c.tick
	if !c.follow(s) {
		return
	}
	c.store = s
	for len(c.parents) < len(c.generations) {
		c.parents = append(c.parents, wire.NetworkID{})
	}
	changed := false
	for index := range c.renewed.All {
		c.parents[index] = wire.NetworkID{}
		changed = changed || len(c.order)+len(c.cycles) > 0 // it may have been a child or a parent
	}
	if s.Tick() == before+1 {
		for id := range s.Changes {
			changed = c.ask(id) || changed
		}
	} else { // of the captures between nothing is known
		for index := range c.alive.All {
			changed = c.ask(c.id(index)) || changed
		}
	}
	if changed {
		c.sort()
	}
}

// ask asks for the parent of an entity. It returns false if that is as before.
func (c *Children) ask(id wire.NetworkID) bool {
	parent, ok := c.parent(c.store, id)
	if !ok {
		parent = wire.NetworkID{}
	}
	changed := c.parents[id.Index] != parent
	c.parents[id.Index] = parent
	return changed
}

// sort lists the children, so that one pass over them finds all that are visible.
func (c *Children) sort() {
	c.changes++
	c.order, c.cycles, c.ends = c.order[:0], c.cycles[:0], c.ends[:0]
	c.done.reset(len(c.alive))
	c.path.reset(len(c.alive))
	for index := range c.alive.All {
		c.climb(index)
	}
}

// climb lists an entity behind its ancestors.
func (c *Children) climb(index uint32) {
	for !c.done.Has(index) && !c.path.Has(index) {
		parent := c.parents[index]
		if parent.IsZero() || !c.is(parent) {
			c.done.add(index)
			break
		}
		c.path.add(index)
		c.stack = append(c.stack, index)
		index = parent.Index
	}
	if !c.done.Has(index) { // it is on the stack: what is above it is its cycle
		from := slices.Index(c.stack, index)
		for _, member := range c.stack[from:] {
			c.done.add(member)
		}
		c.cycles = append(c.cycles, c.stack[from:]...)
		c.ends = append(c.ends, len(c.cycles))
		c.stack = c.stack[:from]
	}
	for i := len(c.stack) - 1; i >= 0; i-- {
		c.done.add(c.stack[i])
		c.order = append(c.order, c.stack[i])
	}
	c.stack = c.stack[:0]
}

// Sees implements [Policy].
func (c *Children) Sees(client wire.ClientID) Set {
	base := c.of.Sees(client)
	if len(c.order)+len(c.cycles) == 0 {
		return base
	}
	f := c.clients.open(client)
	if f.built == c.changes && f.base.equal(base) {
		return f.set
	}
	f.built = c.changes
	f.base.reset(0)
	f.base.addAll(base)
	f.set.reset(len(c.alive))
	f.set.addAll(base)
	from := 0
	for _, end := range c.ends {
		if cycle := c.cycles[from:end]; slices.ContainsFunc(cycle, f.set.Has) {
			for _, index := range cycle {
				f.set.add(index)
			}
		}
		from = end
	}
	for _, index := range c.order {
		if f.set.Has(c.parents[index].Index) {
			f.set.add(index)
		}
	}
	return f.set
}

// Refine implements [Policy].
func (c *Children) Refine(client wire.ClientID, v View, sees, shown Set) {
	c.of.Refine(client, v, sees, shown)
}

// Leave implements [Policy].
func (c *Children) Leave(client wire.ClientID) {
	c.clients.drop(client)
	c.of.Leave(client)
}

// Blind reports whether the other policy shows a client nothing for want of a viewpoint.
func (c *Children) Blind(client wire.ClientID) bool { return isBlind(c.of, client) }

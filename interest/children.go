package interest

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/wire"
)

// Parent returns the entity that another one is part of: the tank of a turret, the bag of an item. ok is false if there is none.
// The function must depend on the rows of that entity only. It is called again only when one of them has changed, and by
// [Children.RefreshAll].
type Parent func(s *snapshot.Store, id wire.NetworkID) (parent wire.NetworkID, ok bool)

// ParentOf returns a Parent that reads a replicated component: the target of an Arche relation, or else the only entity field. It
// panics if the protocol does not replicate T, and if T has no entity field or several. [ParentField] selects one of several.
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

// ParentField returns a Parent that reads an entity field of a replicated component. field is its path, such as "Seat" or
// "Mount.Base". It panics if the protocol does not replicate T or T has no such field.
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

// parentAt returns a Parent that reads the network id at a lane of a row.
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

// Children shows the entities of another policy and all their descendants. It sends no bytes. If entities form a cycle of
// parents, all of them are visible if one is.
type Children struct {
	lifetimes
	of      Policy
	parent  Parent
	store   *snapshot.Store
	parents []wire.NetworkID // by index; zero: none
	order   []uint32         // entities with a living parent, not in a cycle; a parent stands before its children
	cycles  []uint32         // members of all cycles, one cycle after the other
	ends    []int            // end of each cycle in cycles
	changes uint64           // counts every change of order and cycles
	done    Set              // scratch of sort: entities that are in order or cycles, or have no parent
	path    Set              // scratch of sort: entities that climb has visited
	stack   []uint32         // scratch of sort
	clients perClient[family]
}

// family is the set of entities that one client sees.
type family struct {
	base  Set // set of the inner policy when set was made
	set   Set
	built uint64 // value of changes when set was made
}

// NewChildren returns a policy that adds descendants to the entities of another policy.
func NewChildren(of Policy, parent Parent) *Children { return &Children{of: of, parent: parent} }

// RefreshAll calls the Parent function again for all entities. Call it when its results have changed.
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

// RefreshClient passes the call to the inner policy: a parent is the same for all clients.
func (c *Children) RefreshClient(client wire.ClientID) { refreshClient(c.of, client) }

// Prepare implements [Policy]. It calls the Parent function for changed entities.
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
		changed = changed || len(c.order)+len(c.cycles) > 0 // the entity may have been a child or a parent
	}
	if s.Tick() == before+1 {
		for id := range s.Changes {
			changed = c.ask(id) || changed
		}
	} else { // ticks were skipped: their changes are unknown
		for index := range c.alive.All {
			changed = c.ask(c.id(index)) || changed
		}
	}
	if changed {
		c.sort()
	}
}

// ask calls the Parent function for an entity and stores the result. It reports whether the parent changed.
func (c *Children) ask(id wire.NetworkID) bool {
	parent, ok := c.parent(c.store, id)
	if !ok {
		parent = wire.NetworkID{}
	}
	changed := c.parents[id.Index] != parent
	c.parents[id.Index] = parent
	return changed
}

// sort lists the children so that one pass finds all visible ones.
func (c *Children) sort() {
	c.changes++
	c.order, c.cycles, c.ends = c.order[:0], c.cycles[:0], c.ends[:0]
	c.done.reset(len(c.alive))
	c.path.reset(len(c.alive))
	for index := range c.alive.All {
		c.climb(index)
	}
}

// climb appends an entity to order, after its ancestors.
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
	if !c.done.Has(index) { // index is on the stack: the entities from it upwards form a cycle
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

// Blind reports whether the inner policy shows a client nothing because it has no viewpoint.
func (c *Children) Blind(client wire.ClientID) bool { return isBlind(c.of, client) }

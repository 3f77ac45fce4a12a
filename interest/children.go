package interest

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/wire"
)

// Parent returns the entity that another one is part of: the tank of a turret, the bag of an item. ok is false if there is none.
// The function must depend on the rows of that entity only. It is called again only when one of them has changed, and by
// [Interest.RefreshAll].
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

// Children shows the entities of another policy and all their descendants. A descendant is seen as its nearest ancestor that the
// policy shows. If entities form a cycle of parents, all of them are visible if one is.
type Children struct {
	parts
	now     ticking
	parent  Parent
	parents []wire.NetworkID // by index; zero: none
	// children (by index of the parent), next and prev (by index of a child) list the entities that name a parent, as indexes plus 1.
	children, next, prev []uint32
	news                 recent // entities with another parent, and those whose parent was born or died
}

// NewChildren returns a policy that adds descendants to the entities of another policy.
func NewChildren(of Policy, parent Parent) *Children {
	return &Children{parts: parts{of}, parent: parent}
}

// Prepare implements [Policy]. It calls the Parent function for changed entities.
func (c *Children) Prepare(s *snapshot.Store, all bool) {
	c.parts.Prepare(s, all)
	begins := c.now.begin(s)
	if begins {
		c.news.turn()
	}
	switch {
	case all:
		for id := range s.All {
			c.ask(id)
		}
	case begins:
		for _, id := range s.Deaths() {
			c.adopt(id.Index, wire.NetworkID{})
			c.noteChildren(id.Index)
		}
		for _, id := range s.Births() {
			c.noteChildren(id.Index)
		}
		for id := range s.Changes {
			c.ask(id)
		}
	}
}

// ask calls the Parent function for an entity.
func (c *Children) ask(id wire.NetworkID) {
	parent, ok := c.parent(c.now.store, id)
	if !ok || int(parent.Index) >= c.now.store.MaxEntities() {
		parent = wire.NetworkID{}
	}
	c.adopt(id.Index, parent)
}

// adopt sets the parent of an entity.
func (c *Children) adopt(index uint32, parent wire.NetworkID) {
	if n := int(max(index, parent.Index)) + 1; n > len(c.parents) {
		c.parents = append(c.parents, make([]wire.NetworkID, n-len(c.parents))...)
		c.children = append(c.children, make([]uint32, n-len(c.children))...)
		c.next = append(c.next, make([]uint32, n-len(c.next))...)
		c.prev = append(c.prev, make([]uint32, n-len(c.prev))...)
	}
	old := c.parents[index]
	if old == parent {
		return
	}
	if next, prev := c.next[index], c.prev[index]; !old.IsZero() {
		if next != 0 {
			c.prev[next-1] = prev
		}
		if prev != 0 {
			c.next[prev-1] = next
		} else {
			c.children[old.Index] = next
		}
	}
	if c.parents[index] = parent; !parent.IsZero() {
		first := &c.children[parent.Index]
		if *first != 0 {
			c.prev[*first-1] = index + 1
		}
		c.next[index], c.prev[index], *first = *first, 0, index+1
	}
	c.news.add(index)
}

func (c *Children) noteChildren(of uint32) {
	if int(of) < len(c.children) {
		for child := c.children[of]; child != 0; child = c.next[child-1] {
			c.news.add(child - 1)
		}
	}
}

// Changed implements [Policy]. With an entity its descendants may come into sight or leave it.
func (c *Children) Changed(client wire.ClientID, again *Again) {
	c.parts.Changed(client, again)
	c.news.addTo(again)
	for i := 0; i < len(again.list); i++ {
		if index := again.list[i]; int(index) < len(c.children) {
			for child := c.children[index]; child != 0; child = c.next[child-1] {
				again.Add(child - 1)
			}
		}
	}
}

// Sees implements [Policy].
func (c *Children) Sees(client wire.ClientID, id wire.NetworkID, was snapshot.Mask) (rows snapshot.Mask, weight uint16) {
	first := id
	for steps, most := 1, 1; ; steps++ {
		if rows, weight = c.parts[0].Sees(client, id, was); !rows.IsZero() || int(id.Index) >= len(c.parents) {
			return rows, weight
		}
		if id = c.parents[id.Index]; id == first || !c.now.store.Alive(id) { // first: all of a cycle were asked
			return rows, weight
		}
		if steps == most { // a cycle may begin further up
			first, steps, most = id, 0, 2*most
		}
	}
}

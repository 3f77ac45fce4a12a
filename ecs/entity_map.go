package netecs

import (
	"slices"

	"github.com/arche-netcode/netcode/internal/world"
	"github.com/arche-netcode/netcode/wire"
)

// nowhere is the table of an entity that has no slot.
const nowhere int32 = -1

// entityEntry is the entity of a network id in this world, and its slot in the shadow.
type entityEntry struct {
	generation uint32 // generation of the network id; 0: the index is not in use
	table      int32
	slot       int32
	entity     Entity
	stamp      uint64 // the last scan that found the entity in another slot
}

// entityMap maps network ids to entities and back. Both directions are slices, so that remote ids are never passed to
// Arche.
type entityMap struct {
	byIndex  []entityEntry
	byEntity []wire.NetworkID // by number of the Arche entity
	logs     bool             // assign and free add to touched; its reader empties it
	touched  []uint32         // numbers of entities that gained or lost an id, with repeats
}

// entry returns the entry of an id, or nil if the id is not in use.
func (p *entityMap) entry(id wire.NetworkID) *entityEntry {
	if uint(id.Index) >= uint(len(p.byIndex)) || id.Generation == 0 {
		return nil
	}
	if at := &p.byIndex[id.Index]; at.generation == id.Generation {
		return at
	}
	return nil
}

// idOf returns the id of an entity.
func (p *entityMap) idOf(e Entity) (wire.NetworkID, bool) {
	if int(e.ID()) >= len(p.byEntity) {
		return wire.NetworkID{}, false
	}
	id := p.byEntity[e.ID()]
	at := p.entry(id)
	return id, at != nil && at.entity == e
}

// assign gives an id to an entity. The id's index must be below snapshot.MaxEntities.
func (p *entityMap) assign(id wire.NetworkID, e Entity) *entityEntry {
	p.byIndex = grown(p.byIndex, int(id.Index))
	p.byEntity = grown(p.byEntity, int(e.ID()))
	p.byEntity[e.ID()] = id
	at := &p.byIndex[id.Index]
	if p.logs {
		p.touched = append(p.touched, e.ID())
		if at.generation != 0 {
			p.touched = append(p.touched, at.entity.ID())
		}
	}
	*at = entityEntry{generation: id.Generation, table: nowhere, slot: -1, entity: e}
	return at
}

// free frees an id's index.
func (p *entityMap) free(id wire.NetworkID) {
	if at := p.entry(id); at != nil {
		if p.logs {
			p.touched = append(p.touched, at.entity.ID())
		}
		*at = entityEntry{}
	}
}

// idOfHandle returns the id of the entity with a handle, or the zero id. The two numbers may have any value.
func (p *entityMap) idOfHandle(h handle) wire.NetworkID {
	if h.number == 0 || int64(h.number) >= int64(len(p.byEntity)) {
		return wire.NetworkID{}
	}
	id := p.byEntity[h.number]
	if at := p.entry(id); at == nil || handleOf(at.entity) != h {
		return wire.NetworkID{}
	}
	return id
}

// clear drops all ids. The memory stays.
func (p *entityMap) clear() {
	clear(p.byIndex)
	clear(p.byEntity)
	p.touched = p.touched[:0]
}

// grown returns s with at least index+1 elements.
func grown[T any](s []T, index int) []T {
	if index < len(s) {
		return s
	}
	if index < cap(s) {
		return s[:index+1]
	}
	next := make([]T, index+1, max(2*cap(s), index+1, 64))
	copy(next, s)
	return next
}

// pushed appends a value. It has room for 64 at least, as grown: a list that is short in most frames does not allocate in the one after a lost packet.
func pushed[T any](s []T, v T) []T {
	s = grown(s, len(s))
	s[len(s)-1] = v
	return s
}

// worldLife detects World.Reset. A reset drops every resource. So a world without the lifeMark, or with another
// one, was reset since the last check. Entity handles from before the reset are then invalid. Arche's Alive panics on
// them or returns the result for another entity.
type worldLife struct {
	resource world.ResourceID
	tag      uint32 // tag of its capture or apply
	captures bool   // its owner is a capture
	mine     *lifeMark
}

// lifeMark is the resource that all captures and applies of a world share.
type lifeMark struct {
	tags     []uint32 // tags of the captures and applies that joined, with repeats
	captures int      // the number of captures among them
}

// newLife joins the world's present life.
func newLife(w *World, tag uint32, captures bool) worldLife {
	l := worldLife{resource: world.ResourceOf[lifeMark](w), tag: tag, captures: captures}
	l.join(w)
	return l
}

// isCurrent reports whether the world's life is still the one that was joined.
func (l *worldLife) isCurrent(w *World) bool {
	mark, _ := w.Resources().Get(l.resource).(*lifeMark)
	return mark != nil && mark == l.mine
}

// join joins the world's present life: it adds the lifeMark to the world if there is none.
func (l *worldLife) join(w *World) {
	if !w.Resources().Has(l.resource) {
		w.Resources().Add(l.resource, &lifeMark{})
	}
	l.mine, _ = w.Resources().Get(l.resource).(*lifeMark)
	l.mine.tags = append(l.mine.tags, l.tag)
	if l.captures {
		l.mine.captures++
	}
}

// captured reports whether a capture has joined the world's present life.
func (l *worldLife) captured() bool { return l.mine.captures > 0 }

// manages reports whether a tag belongs to a capture or apply that has joined the world's present life.
func (l *worldLife) manages(tag uint32) bool { return slices.Contains(l.mine.tags, tag) }

// leave leaves the world's life.
func (l *worldLife) leave(w *World) {
	if !l.isCurrent(w) {
		return
	}
	if n := slices.Index(l.mine.tags, l.tag); n >= 0 {
		l.mine.tags = slices.Delete(l.mine.tags, n, n+1)
		if l.captures {
			l.mine.captures--
		}
	}
}

package netecs

import (
	"iter"
	"reflect"

	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/internal/replica"
	"github.com/arche-netcode/netcode/internal/world"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// HostView shows the world of a server to the player at the server, as an [Apply] and a [Smooth] show it to a client.
// An entity appears when it is captured and the player may see it. It disappears when it is removed or hidden.
//
// HostView does not change the world, except for the twins of interpolated components. They move from the second newest
// capture to the newest.
type HostView struct {
	world       *World
	capture     *Capture
	store       *snapshot.Store
	hooks       Hooks
	rows        []smoothRow
	blendInputs []quantize.BlendInput // scratch: input of the blend for each of rows
	kind        int                   // row of components.Kind in the schema, or -1
	states      []hostState           // by network index
	changes     []Change
	gone        []Change // entities that disappear in this run

	view   *snapshot.View
	tick   tick.Tick
	sights uint64
	add    []world.ID
	rem    []world.ID
}

// hostState is the entity that the player sees at a network index.
type hostState struct {
	id     wire.NetworkID
	entity Entity
	mask   snapshot.Mask // components that the player sees
	twins  uint64        // bit n: HostView added the twin of rows[n]
	seen   bool
}

// NewHostView prepares to show the world of a capture, with at most 64 interpolated components. It registers the twins with the
// world, which must not be locked.
func NewHostView(c *Capture, list []replica.Interpolation, hooks Hooks) *HostView {
	h := &HostView{
		world: c.tracker.world, capture: c, store: c.store, hooks: hooks, blendInputs: make([]quantize.BlendInput, len(list)),
		kind: c.tracker.schema.RowOf(reflect.TypeFor[components.Kind]()),
	}
	for _, in := range list {
		if in.Relation {
			continue // The world is the server's.
		}
		h.rows = append(h.rows, smoothRow{in, world.TypeID(h.world, in.Twin), in.Blend()})
	}
	return h
}

// Run shows the entities that view contains. A nil view contains nothing. part is the presented part of the way to the
// newest capture, from 0 to 1. Run reports whether there was a new capture, another view or a change of visibility.
// While the world is locked Run does nothing.
func (h *HostView) Run(view *snapshot.View, part float64) (looked bool) {
	if h.world.IsLocked() {
		return false
	}
	sights := uint64(0)
	if view != nil {
		sights = view.Sights()
	}
	if looked = h.view != view || h.tick != h.store.Tick() || h.sights != sights; looked {
		fresh := h.tick != h.store.Tick()
		h.view, h.tick, h.sights = view, h.store.Tick(), sights
		h.update(fresh)
	}
	if len(h.rows) > 0 {
		h.show(part)
	}
	return looked
}

// update finds the entities that appeared, disappeared or changed. fresh is true for a new capture.
func (h *HostView) update(fresh bool) {
	h.changes, h.gone = h.changes[:0], h.gone[:0]
	for index := range h.states {
		st := &h.states[index]
		if st.seen && !(h.store.Alive(st.id) && h.sees(st.id) && h.world.Alive(st.entity)) {
			h.gone = append(h.gone, Change{Entity: st.entity, ID: st.id})
			h.drop(st)
		}
	}
	if h.view != nil {
		for id := range h.store.All {
			h.addVisible(id)
		}
		if fresh {
			for id := range h.store.Changes {
				h.note(id)
			}
		}
	}
	h.callHooks()
}

// sees reports whether the player may see an entity.
func (h *HostView) sees(id wire.NetworkID) bool { return h.view != nil && h.view.Visible(id) }

// addVisible adds an entity that the player sees for the first time.
func (h *HostView) addVisible(id wire.NetworkID) {
	if uint(id.Index) < uint(len(h.states)) && h.states[id.Index].seen || !h.sees(id) {
		return
	}
	e, ok := h.capture.Entity(id) // the store may have entities that are not in the world
	if !ok || !h.world.Alive(e) {
		return
	}
	h.states = grown(h.states, int(id.Index)+1)
	mask := h.store.Mask(id).Intersect(h.view.Rows(id))
	h.states[id.Index] = hostState{id: id, entity: e, mask: mask, seen: true}
	h.changes = append(h.changes, Change{Entity: e, ID: id, Rows: mask, Added: mask, Spawned: true})
}

// note adds the changes of an entity that the player already sees.
func (h *HostView) note(id wire.NetworkID) {
	if uint(id.Index) >= uint(len(h.states)) || !h.states[id.Index].seen {
		return
	}
	st := &h.states[id.Index]
	mask := h.store.Mask(id).Intersect(h.view.Rows(id))
	c := Change{Entity: st.entity, ID: id, Rows: h.store.ChangedRows(id).Intersect(mask), Added: mask.Minus(st.mask), Removed: st.mask.Minus(mask)}
	c.Rows = c.Rows.Union(c.Added)
	if st.mask = mask; !c.Rows.Union(c.Removed).IsZero() && !h.isNew(id) {
		h.changes = append(h.changes, c)
	}
}

// isNew reports whether an entity appeared in this run. The new entities come first in changes, in the order of their
// indexes.
func (h *HostView) isNew(id wire.NetworkID) bool {
	low, high := 0, len(h.changes)
	for low < high {
		middle := (low + high) / 2
		switch c := &h.changes[middle]; {
		case c.Spawned && c.ID.Index < id.Index:
			low = middle + 1
		case c.Spawned && c.ID == id:
			return true
		default:
			high = middle
		}
	}
	return false
}

// drop removes the state of an entity, and its twins if it is still alive.
func (h *HostView) drop(st *hostState) {
	if st.twins != 0 && h.world.Alive(st.entity) {
		h.exchange(st, 0)
	}
	*st = hostState{}
}

// callHooks calls the hooks.
func (h *HostView) callHooks() {
	for i := range h.gone {
		if h.hooks.Despawned != nil {
			h.hooks.Despawned(h.gone[i].Entity, h.gone[i].ID)
		}
	}
	for i := 0; i < len(h.changes); i++ {
		if c := h.changes[i]; c.Spawned && h.hooks.Spawned != nil && h.world.Alive(c.Entity) {
			h.hooks.Spawned(c.Entity, c.ID)
		}
	}
}

// show writes the twins of all entities that the player sees.
func (h *HostView) show(part float64) {
	for index := range h.states {
		st := &h.states[index]
		if !st.seen || !h.world.Alive(st.entity) {
			continue
		}
		has := uint64(0)
		for n := range h.rows {
			if h.blendInput(st.id, n, part) {
				has |= 1 << n
			}
		}
		if has != st.twins {
			h.exchange(st, has)
		}
		for n := range h.rows {
			if has>>n&1 != 0 {
				mixTwin(h.world, st.entity, h.rows[n].id, h.rows[n].blend, &h.blendInputs[n])
			}
		}
	}
}

// blendInput sets the blend input of a row. It returns false if the entity lacks the row or the player may not see it.
func (h *HostView) blendInput(id wire.NetworkID, n int, part float64) bool {
	in := &h.rows[n].Interpolation
	if !h.store.Alive(id) || !h.store.Mask(id).Intersect(h.view.Rows(id)).Has(in.Row) {
		return false
	}
	to := h.store.Row(id, in.Row)
	h.blendInputs[n] = quantize.BlendInput{From: to, To: to}
	from, err := h.store.RowAt(id, in.Row, h.tick-1)
	if err != nil || from == nil || in.Teleport >= 0 && h.store.Since(id, in.Teleport) == h.tick {
		return true
	}
	h.blendInputs[n].From, h.blendInputs[n].Part = from, part
	return true
}

// exchange adds and removes twins, so that the entity has exactly those in has.
func (h *HostView) exchange(st *hostState, has uint64) {
	h.add, h.rem = h.add[:0], h.rem[:0]
	for n := range h.rows {
		switch id, now, was := h.rows[n].id, has>>n&1 != 0, st.twins>>n&1 != 0; {
		case now && !was && !world.Has(h.world, st.entity, id):
			h.add = append(h.add, id)
		case was && !now && world.Has(h.world, st.entity, id):
			h.rem = append(h.rem, id)
		}
	}
	if st.twins = has; len(h.add)+len(h.rem) > 0 {
		world.Exchange(h.world, st.entity, h.add, h.rem, nil)
	}
}

// Entity returns the entity of a network id, if the player sees it.
func (h *HostView) Entity(id wire.NetworkID) (Entity, bool) {
	if uint(id.Index) >= uint(len(h.states)) || !h.states[id.Index].seen || h.states[id.Index].id != id {
		return Entity{}, false
	}
	e := h.states[id.Index].entity
	return e, h.world.Alive(e)
}

// ID returns the network id of an entity that the player sees.
func (h *HostView) ID(e Entity) (wire.NetworkID, bool) {
	id, ok := h.capture.ID(e)
	if !ok {
		return wire.NetworkID{}, false
	}
	seen, ok := h.Entity(id)
	return id, ok && seen == e
}

// Kind returns the ID of the components.Kind of an entity that the player sees.
func (h *HostView) Kind(e Entity) (uint16, bool) {
	if _, ok := h.ID(e); !ok || h.kind < 0 {
		return 0, false
	}
	kind := componentOf[components.Kind](h.world, e, h.capture.tracker.ids[h.kind])
	if kind == nil {
		return 0, false
	}
	return kind.ID, true
}

// Changes yields the changes of the last Run that found something new, as [Apply.Changes] does. Entities that were
// removed since are not yielded.
func (h *HostView) Changes(yield func(Change) bool) {
	for i := 0; i < len(h.changes); i++ {
		if c := h.changes[i]; h.world.Alive(c.Entity) && !yield(c) {
			return
		}
	}
}

// ChangedOf is [Changed] for a host's player.
func ChangedOf[T any](h *HostView) iter.Seq2[Entity, *T] {
	return func(yield func(Entity, *T) bool) { eachChangedOf(h, yield) }
}

func eachChangedOf[T any](h *HostView, yield func(Entity, *T) bool) {
	row := h.capture.tracker.schema.RowOf(reflect.TypeFor[T]())
	if row < 0 {
		return
	}
	for c := range h.Changes {
		if !c.Rows.Has(row) {
			continue
		}
		if v := componentOf[T](h.world, c.Entity, h.capture.tracker.ids[row]); v != nil && !yield(c.Entity, v) {
			return
		}
	}
}

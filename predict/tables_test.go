package predict

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/internal/alloctest"
	"github.com/arche-netcode/netcode/internal/rowtest"
	ecs "github.com/arche-netcode/netcode/internal/world"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
)

type (
	tableTag  struct{}
	tableA    struct{ V uint32 }
	tableB    struct{ V [3]uint64 }
	tableC    struct{}
	tableLink generic.VTie
)

// After any changes, the order equals the result of a query, entity by entity, and reports each change.
func TestTheOrderIsWhatAQueryFinds(t *testing.T) { rapid.Check(t, orders) }

// FuzzOrder is TestTheOrderIsWhatAQueryFinds for a fuzzer.
func FuzzOrder(f *testing.F) { rowtest.Fuzz(f, rapid.MakeFuzz(orders)) }

func orders(t *rapid.T) {
	w := ecs.New()
	placed, tagged := ecs.ComponentID[place](w), ecs.ComponentID[tableTag](w)
	a, b, c, link := ecs.ComponentID[tableA](w), ecs.ComponentID[tableB](w), ecs.ComponentID[tableC](w), ecs.ComponentID[tableLink](w)
	h := &history{components: []component{{id: a, size: 4}, {id: b, size: 24}, {id: c}}}
	o := newOrder(w, h, placed, tagged)
	var all []ecs.Entity
	targets := []ecs.Entity{ecs.Spawn(w, nil), ecs.Spawn(w, nil)}
	before := map[int]ecs.Entity{}
	for range rapid.IntRange(1, 60).Draw(t, "operations") {
		one := func() ecs.Entity { return all[rapid.IntRange(0, len(all)-1).Draw(t, "which")] }
		switch op := rapid.IntRange(0, 5).Draw(t, "operation"); {
		case op == 0 || len(all) == 0:
			for range rapid.IntRange(1, 5).Draw(t, "count") {
				e := ecs.Spawn(w, nil, placed, tagged)
				placeOf(w, e, placed).number = int32(len(all)) + 1
				all = append(all, e)
			}
		case op == 1:
			if e := one(); w.Alive(e) {
				w.RemoveEntity(e)
			}
		case op == 2:
			id := rapid.SampledFrom([]ecs.ID{a, b, c, tagged}).Draw(t, "component")
			if e := one(); w.Alive(e) && ecs.Has(w, e, id) {
				ecs.Exchange(w, e, nil, []ecs.ID{id}, nil)
			} else if w.Alive(e) {
				ecs.Exchange(w, e, []ecs.ID{id}, nil, nil)
			}
		case op == 3:
			if e := one(); w.Alive(e) {
				if !ecs.Has(w, e, link) {
					ecs.Exchange(w, e, []ecs.ID{link}, nil, nil)
				}
				ecs.SetTarget(w, e, link, rapid.SampledFrom(targets).Draw(t, "target"))
			}
		}
		moved := o.refresh(w, len(all))
		now, n := map[int]ecs.Entity{}, 0
		for q := ecs.Select(w, ecs.All(placed, tagged)); q.Next(); n++ {
			slot := int((*place)(q.Get(placed)).number) - 1
			now[slot] = q.Entity()
			found := false
			for i := range o.list {
				for row, number := range placesAt(o.list[i].columns[0], o.list[i].rows) {
					if int(number)-1 != slot {
						continue
					}
					found = true
					mask := uint64(alive)
					for k, id := range []ecs.ID{a, b, c} {
						if q.Has(id) {
							mask |= 1 << k
							if size := h.components[k].size; size > 0 {
								require.Same(t, byteAt(q.Get(id)), &o.bytes(&o.list[i], 1+k, row, 1)[0])
							}
						}
					}
					require.Equal(t, mask, o.parts[i].mask)
				}
			}
			require.True(t, found && o.in[slot])
		}
		require.Equal(t, n, o.count)
		if len(now) != len(before) {
			require.True(t, moved)
		}
		before = now
		require.False(t, o.refresh(w, len(all)), "nothing moved since")
	}
}

// An exchange of entities within a table is noticed, though their number and components are the same.
func TestEntitiesThatChangePlacesAreNoticed(t *testing.T) {
	w := ecs.New()
	placed, tagged, a := ecs.ComponentID[place](w), ecs.ComponentID[tableTag](w), ecs.ComponentID[tableA](w)
	o := newOrder(w, &history{components: []component{{id: a, size: 4}}}, placed, tagged)
	var all []ecs.Entity
	for i := range 100 {
		e := ecs.Spawn(w, nil, placed, tagged, a)
		placeOf(w, e, placed).number = int32(i) + 1
		all = append(all, e)
	}
	require.True(t, o.refresh(w, 100))
	require.Equal(t, []run{{row: 0, slot: 0, count: 100}}, o.parts[0].runs)
	require.False(t, o.refresh(w, 100))
	ecs.Exchange(w, all[10], nil, []ecs.ID{a}, nil)
	ecs.Exchange(w, all[10], []ecs.ID{a}, nil, nil) // The last row takes its place, and it becomes the last row.
	require.True(t, o.refresh(w, 100))
	require.Equal(t, []run{{0, 0, 10}, {10, 99, 1}, {11, 11, 88}, {99, 10, 1}}, o.parts[0].runs)
	ids := []ecs.ID{a}
	alloctest.Zero(t, 10, func() {
		ecs.Exchange(w, all[10], nil, ids, nil)
		ecs.Exchange(w, all[10], ids, nil, nil)
		o.refresh(w, 100)
	})
}

// A tick is stored with its own components, also in the memory of an earlier tick with other components.
func TestAPlaceIsKeptAnew(t *testing.T) {
	w := ecs.New()
	placed, tagged, a, b := ecs.ComponentID[place](w), ecs.ComponentID[tableTag](w), ecs.ComponentID[tableA](w), ecs.ComponentID[tableB](w)
	h := &history{components: []component{{id: a, size: 4}, {id: b, size: 24}}}
	o := newOrder(w, h, placed, tagged)
	h.grow(3)
	var all []ecs.Entity
	for i := range 3 {
		e := ecs.Spawn(w, nil, placed, tagged, a)
		placeOf(w, e, placed).number = int32(i) + 1
		all = append(all, e)
	}
	for at := netcode.Tick(1); at < 4*Window; at++ {
		switch e := all[at%3]; {
		case at%(Window+5) != 0: // Everything equals the last tick.
		case ecs.Has(w, e, b):
			ecs.Exchange(w, e, nil, []ecs.ID{b}, nil)
		default:
			ecs.Exchange(w, e, []ecs.ID{b}, nil, nil)
		}
		o.refresh(w, 3)
		o.keep(h, at)
		for slot, e := range all {
			want := uint64(alive | 1)
			if ecs.Has(w, e, b) {
				want |= 2
			}
			require.Equal(t, want, h.mask(at, slot), "tick %d", at)
		}
		if at%7 == 0 {
			h.setMask(at, 1, 0) // As for an entity that leaves the simulation.
		}
	}
}

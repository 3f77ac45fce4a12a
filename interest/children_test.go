package interest

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/wire"
)

// A child is visible as long as its parent is, and its own children with it.
func TestChildrenAreVisibleWithTheirParent(t *testing.T) {
	explicit := NewExplicit()
	w := newWorld(t, NewChildren(explicit, ParentField[tie](testSchema(), "Other")), Despawn)
	w.join(1)
	var tank, turret, barrel, other wire.NetworkID
	w.step(func() {
		barrel, turret, tank, other = w.spawn(), w.spawn(), w.spawn(), w.spawn()
		w.tie(barrel, turret)
		w.tie(turret, tank)
	})
	w.requireSees(1)
	explicit.Show(1, tank)
	w.step(nil)
	w.requireSees(1, tank, turret, barrel)
	w.step(func() { w.tie(barrel, other) })
	w.requireSees(1, tank, turret)
	w.step(func() { w.tie(other, tank) })
	w.requireSees(1, tank, turret, barrel, other)
	w.step(func() { w.store.Remove(turret, rowTie) })
	w.requireSees(1, tank, barrel, other)
	explicit.Hide(1, tank)
	w.step(nil)
	w.requireSees(1)
	explicit.Show(1, other)
	w.step(func() { w.kill(tank) })
	w.requireSees(1, other, barrel)
}

// A parent that died is nobody's, also when another entity lives at its index.
func TestParentThatDied(t *testing.T) {
	explicit := NewExplicit()
	w := newWorld(t, NewChildren(explicit, ParentField[tie](testSchema(), "Other")), Despawn)
	w.join(1)
	var parent, child wire.NetworkID
	w.step(func() { parent, child = w.spawn(), w.spawn(); w.tie(child, parent); explicit.Show(1, parent) })
	w.requireSees(1, parent, child)
	w.step(func() { w.kill(parent) })
	w.requireSees(1)
	w.step(func() { explicit.Show(1, w.spawn()) })
	require.Equal(t, parent.Index, w.living[1].Index)
	w.requireSees(1, w.living[1])
}

func TestChildrenEqualTheirModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		explicit := NewExplicit()
		w := newWorld(t, NewChildren(explicit, ParentField[tie](testSchema(), "Other")), Despawn)
		w.join(1)
		w.join(2)
		parents := map[wire.NetworkID]wire.NetworkID{}
		change := func() {
			w.churn(rt)
			for range rapid.IntRange(0, 4).Draw(rt, "calls") {
				if len(w.living) == 0 {
					return
				}
				id, to := rapid.SampledFrom(w.living).Draw(rt, "id"), rapid.SampledFrom(w.living).Draw(rt, "to")
				client := wire.ClientID(rapid.IntRange(1, 2).Draw(rt, "client"))
				switch rapid.IntRange(0, 4).Draw(rt, "what") {
				case 0, 1:
					w.tie(id, to)
					parents[id] = to
				case 2:
					w.store.Remove(id, rowTie)
					delete(parents, id)
				case 3:
					explicit.Show(client, id)
				case 4:
					explicit.Hide(client, id)
				}
			}
		}
		for range rapid.IntRange(1, 30).Draw(rt, "ticks") {
			if rapid.IntRange(0, 9).Draw(rt, "missed") == 0 {
				w.capture(change)
			}
			w.step(change)
			for _, client := range w.clients {
				w.requireModel(client, func(id wire.NetworkID) bool {
					for range len(w.living) + 1 {
						if !w.store.Alive(id) {
							return false
						}
						if explicit.Shown(client, id) {
							return true
						}
						id = parents[id]
					}
					return false
				})
			}
		}
	})
}

type mountedOn generic.Tie

type none struct{ N uint8 }

type seat struct {
	In wire.NetworkID `net:"entity"`
}

func TestParentOf(t *testing.T) {
	var plans []*quantize.Plan
	for _, typ := range []reflect.Type{reflect.TypeFor[mountedOn](), reflect.TypeFor[none](), reflect.TypeFor[seat](), reflect.TypeFor[tie]()} {
		plan, err := quantize.Compile(typ, typ.Name())
		require.NoError(t, err)
		plans = append(plans, plan)
	}
	schema := format.NewSchema(plans)
	store := snapshot.NewStore(schema, snapshot.Config{})
	store.Begin(1)
	a, b := store.Spawn(), store.Spawn()
	store.Set(a, 0, []uint32{b.Index, b.Generation})
	store.Set(b, 2, []uint32{a.Index, a.Generation})
	store.Set(b, 3, []uint32{a.Index, a.Generation, 0, 0})
	store.Commit()
	for name, test := range map[string]struct {
		parent    Parent
		of, is    wire.NetworkID
		childless wire.NetworkID
	}{
		"the target of a relation": {ParentOf[mountedOn](schema), a, b, b},
		"the only field":           {ParentOf[seat](schema), b, a, a},
		"a field":                  {ParentField[tie](schema, "To"), b, a, a},
	} {
		got, ok := test.parent(store, test.of)
		require.True(t, ok, name)
		require.Equal(t, test.is, got, name)
		_, ok = test.parent(store, test.childless)
		require.False(t, ok, name)
	}
	_, ok := ParentField[tie](schema, "Other")(store, b)
	require.False(t, ok, "it names nobody")
	require.PanicsWithValue(t, "interest: ParentOf[interest.tie]: it is no relation and has 2 entity fields, where one is needed: "+
		"use ParentField with the name of one", func() { ParentOf[tie](schema) })
	require.PanicsWithValue(t, `interest: ParentField[interest.tie]: "From" is not one of its entity fields: To, Other`,
		func() { ParentField[tie](schema, "From") })
	require.Panics(t, func() { ParentOf[none](schema) })
	require.Panics(t, func() { ParentOf[int](schema) })
}

package interest_test

import (
	"fmt"
	"math"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/interest"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/wire"
)

type banded struct {
	X float32 `net:"min=-1000,max=1000,step=0.01"`
}

// bandedStore is a store of one component with bands beyond 10 and beyond 100, and one view of it.
type bandedStore struct {
	store *snapshot.Store
	view  *snapshot.View
	grid  *interest.Grid
	rules *interest.Interest
	plan  *quantize.Plan
}

func newBandedStore(t *testing.T, of interest.Policy, position interest.Position, config interest.BandsConfig) *bandedStore {
	var plans []*quantize.Plan
	for i, scale := range []int{1, 4, 16} {
		plan, err := quantize.CompileCoarse(reflect.TypeFor[banded](), fmt.Sprintf("banded%d", i), scale)
		require.NoError(t, err)
		plans = append(plans, plan)
	}
	schema := format.NewSchema(plans)
	schema.SetBands(0, []format.Band{{Row: 1, Beyond: 10}, {Row: 2, Beyond: 100}})
	b := &bandedStore{store: snapshot.NewStore(schema, snapshot.Config{}), plan: plans[0]}
	b.view = snapshot.NewView(b.store, snapshot.Config{})
	if position == nil {
		position = interest.PositionOf(schema, func(p *banded) (x, y, z float32) { return p.X, 0, 0 })
	}
	b.grid = interest.NewGrid(interest.GridConfig{Position: position})
	config.Schema, config.Grid = schema, b.grid
	b.rules = interest.New(interest.NewBands(of, config), interest.Despawn)
	return b
}

// tick captures a change and lets the policy decide for client 1.
func (b *bandedStore) tick(change func()) {
	b.store.Begin(b.store.Tick() + 1)
	change()
	b.store.Commit()
	b.view.Observe()
	b.rules.Prepare(b.store)
	b.rules.Update(1, b.view)
}

func (b *bandedStore) put(id wire.NetworkID, x float32) {
	lanes := make([]uint32, 1)
	b.plan.Quantise(reflect.ValueOf(&banded{x}).UnsafePointer(), lanes)
	b.store.Set(id, 0, lanes)
}

// band returns the band of an entity at the client, after the ticks in which it is decided about; -1 where it has not one alone.
func (b *bandedStore) band(id wire.NetworkID, ticks int) int {
	for range ticks {
		b.tick(func() {})
	}
	if rows := b.view.Sight(id).Intersect(format.FromWords(7)); rows.Count() == 1 {
		return rows.Lowest()
	}
	return -1
}

func TestBandsFollowTheDistance(t *testing.T) {
	b := newBandedStore(t, interest.All(), nil, interest.BandsConfig{})
	var id wire.NetworkID
	b.tick(func() { id = b.store.Spawn(); b.put(id, 50) })
	require.Equal(t, 0, b.band(id, 8), "there is no viewpoint")
	b.grid.Look(1, 0, 0, 0)
	require.Equal(t, 1, b.band(id, 1), "a first viewpoint counts at once")
	for _, step := range []struct {
		x    float32
		want int
	}{{99, 1}, {101, 2}, {95, 2}, {91, 2}, {89, 1}, {99, 1}, {10, 1}, {9.5, 1}, {8.9, 0}, {9.9, 0}, {10.5, 1}, {500, 2}, {0, 0}} {
		b.tick(func() { b.put(id, step.x) })
		require.Equal(t, step.want, b.band(id, 8), "at %v", step.x)
		require.Equal(t, format.FromWords(1), b.view.Rows(id).Intersect(format.FromWords(7)), "the client may see one component")
		require.Equal(t, format.FromWords(1), b.store.Mask(id))
	}
	b.grid.Look(1, 50, 0, 0)
	require.Equal(t, 1, b.band(id, 1), "a viewpoint that jumps counts at once")
	b.grid.Look(1, float32(math.NaN()), 0, 0)
	require.Equal(t, 0, b.band(id, 1), "the viewpoint is taken away")
}

func TestBandsOfATeamFollowEachMate(t *testing.T) {
	b := newBandedStore(t, interest.All(), nil, interest.BandsConfig{})
	teams := interest.NewTeams(interest.NewBands(interest.All(), interest.BandsConfig{Schema: b.store.Schema(), Grid: b.grid}))
	b.rules = interest.New(teams, interest.Despawn)
	mate := snapshot.NewView(b.store, snapshot.Config{})
	var id wire.NetworkID
	step := func(change func()) {
		b.tick(change)
		mate.Observe()
		b.rules.Update(2, mate)
	}
	step(func() {
		id = b.store.Spawn()
		b.put(id, 50)
		teams.Join(1, 1)
		teams.Join(2, 1)
		b.grid.Look(1, 0, 0, 0)
		b.grid.Look(2, 0, 0, 0)
	})
	for range 9 { // The next tick is the turn of neither.
		step(func() {})
	}
	family := format.FromWords(7)
	require.Equal(t, snapshot.Mask{}.With(1), mate.Sight(id).Intersect(family))
	step(func() { b.grid.Look(1, 45, 0, 0) })
	require.Equal(t, snapshot.Mask{}.With(0), b.view.Sight(id).Intersect(family), "client 1 jumps near")
	require.Equal(t, snapshot.Mask{}.With(0), mate.Sight(id).Intersect(family), "its mate sees that in the same tick")
}

func TestBandsFollowAnEntityAndKeepItsLastPlace(t *testing.T) {
	b := newBandedStore(t, interest.All(), nil, interest.BandsConfig{Keep: 1})
	var eye, id wire.NetworkID
	b.tick(func() {
		eye, id = b.store.Spawn(), b.store.Spawn()
		b.put(eye, 0)
		b.put(id, 60)
	})
	b.grid.Follow(1, eye)
	require.Equal(t, 1, b.band(id, 1))
	b.tick(func() { b.put(eye, 55) })
	require.Equal(t, 0, b.band(id, 8))
	b.tick(func() { b.store.Despawn(eye) })
	require.Equal(t, 0, b.band(id, 8))
	b.tick(func() { b.put(id, 200) })
	require.Equal(t, 2, b.band(id, 8))
	b.tick(func() { b.store.Despawn(id) })
	b.tick(func() { id = b.store.Spawn(); b.put(id, 70) })
	require.Equal(t, 1, b.band(id, 0), "what comes into sight is measured at once")
}

// TestOwnersAndTheExactGetNoBand: an entity of the client, and one that Exact names, is as it is at any distance.
func TestOwnersAndTheExactGetNoBand(t *testing.T) {
	named := wire.NetworkID{}
	b := newBandedStore(t, interest.All(), nil, interest.BandsConfig{Exact: func(_ *snapshot.Store, client wire.ClientID, id wire.NetworkID) bool {
		return client == 1 && id == named
	}})
	b.grid.Look(1, 0, 0, 0)
	var own, other wire.NetworkID
	b.tick(func() {
		own, other = b.store.Spawn(), b.store.Spawn()
		b.put(own, 300)
		b.put(other, 300)
	})
	require.Equal(t, 2, b.band(own, 8))
	b.tick(func() { b.store.SetOwner(own, 1) })
	require.Equal(t, 0, b.band(own, 0), "a new owner counts at once")
	require.Equal(t, 2, b.band(other, 8))
	named = other
	b.rules.RefreshAll()
	require.Equal(t, 0, b.band(other, 1))
	b.tick(func() { b.store.SetOwner(own, 2) })
	require.Equal(t, 2, b.band(own, 0))
}

// TestALifetimeBeginsWithoutBands: until something is said about an entity, its components are sent as they are, and once.
func TestALifetimeBeginsWithoutBands(t *testing.T) {
	b := newBandedStore(t, interest.All(), nil, interest.BandsConfig{})
	b.store.Begin(1)
	id := b.store.Spawn()
	b.put(id, 500)
	b.store.Commit()
	b.view.Observe()
	sight := func() snapshot.Mask { return b.view.Sight(id).Intersect(format.FromWords(7)) }
	require.Equal(t, format.FromWords(1), sight())
	b.view.SetSight(id, format.FromWords(6))
	require.Equal(t, format.FromWords(2), sight(), "the finest of those that it may have")
	b.view.SetSight(id, format.FromWords(4))
	require.Equal(t, format.FromWords(4), sight())
	b.view.Hide(id)
	b.view.Show(id)
	require.Equal(t, format.FromWords(1), sight())
	b.view.See(id, format.Bit(0).Not())
	require.Zero(t, sight(), "the component is hidden in all bands")
	b.view.See(id, format.Bit(0))
	require.Equal(t, format.FromWords(1), sight())
}

// TestTheFinestBandCounts: of an entity that several policies show, the client gets the finest band of theirs.
func TestTheFinestBandCounts(t *testing.T) {
	b := newBandedStore(t, interest.All(), nil, interest.BandsConfig{})
	named := interest.NewExplicit()
	far := interest.NewBands(interest.All(), interest.BandsConfig{Schema: b.store.Schema(), Grid: b.grid})
	b.rules = interest.New(interest.Any(named, far), interest.Despawn)
	b.grid.Look(1, 0, 0, 0)
	var id wire.NetworkID
	b.tick(func() { id = b.store.Spawn(); b.put(id, 500) })
	require.Equal(t, 2, b.band(id, 0))
	named.Show(1, id)
	require.Equal(t, 0, b.band(id, 1))
	named.Hide(1, id)
	require.Equal(t, 2, b.band(id, 1))
}

// TestNowhereIsNear: an entity without a position has no band.
func TestNowhereIsNear(t *testing.T) {
	b := newBandedStore(t, interest.All(), func(*snapshot.Store, wire.NetworkID) (x, y, z float32, ok bool) { return 1000, 0, 0, false }, interest.BandsConfig{})
	b.grid.Look(1, 0, 0, 0)
	var id wire.NetworkID
	b.tick(func() { id = b.store.Spawn(); b.put(id, 500) })
	require.Equal(t, 0, b.band(id, 8))
}

func TestBandsConfigIsChecked(t *testing.T) {
	plain := format.NewSchema([]*quantize.Plan{mustCompile(t)})
	grid := interest.NewGrid(interest.GridConfig{Position: func(*snapshot.Store, wire.NetworkID) (x, y, z float32, ok bool) { return 0, 0, 0, true }})
	for want, c := range map[string]interest.BandsConfig{
		"needs Schema and Grid":  {Schema: plain},
		"Keep is above 0":        {Schema: plain, Grid: grid, Keep: 1.5},
		"no component has bands": {Schema: plain, Grid: grid},
	} {
		require.Contains(t, fmt.Sprint(panicOf(func() { interest.NewBands(interest.All(), c) })), want)
	}
}

func mustCompile(t *testing.T) *quantize.Plan {
	plan, err := quantize.Compile(reflect.TypeFor[banded](), "banded")
	require.NoError(t, err)
	return plan
}

func panicOf(f func()) (value any) {
	defer func() { value = recover() }()
	f()
	return nil
}

// TestSightBeginsWithoutHysteresis: what comes into sight again is in the band of its distance, whichever it had before.
func TestSightBeginsWithoutHysteresis(t *testing.T) {
	shown := interest.NewExplicit()
	b := newBandedStore(t, shown, nil, interest.BandsConfig{})
	b.grid.Look(1, 0, 0, 0)
	var id wire.NetworkID
	b.tick(func() { id = b.store.Spawn(); b.put(id, 101) })
	shown.Show(1, id)
	require.Equal(t, 2, b.band(id, 2))
	b.tick(func() { b.put(id, 95) })
	require.Equal(t, 2, b.band(id, 9), "it stays in the band")
	shown.Hide(1, id)
	require.Equal(t, -1, b.band(id, 2))
	shown.Show(1, id)
	require.Equal(t, 1, b.band(id, 2))
}

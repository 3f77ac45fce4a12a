package netecs_test

import (
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	netecs "github.com/arche-netcode/netcode/ecs"
	ecs "github.com/arche-netcode/netcode/internal/world"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/wire"
)

// shown is the state that a client should have of one entity of the server.
type shown struct {
	hidden bool
	taken  bool          // game code removed it, or its Replicated
	lost   snapshot.Mask // components that game code removed
	own    snapshot.Mask // components that game code added
	last   []any         // its components after the last run, nil before the first
	idle   bool          // game code has left it alone since
}

// gate drives a store, the client that follows it and game code there that does
// all it should not, and holds the client's world against what it should be.
type gate struct {
	*pair
	t    *rapid.T
	ids  []wire.NetworkID
	here map[wire.NetworkID]*shown
}

func (g *gate) draw(n int, label string) int { return rapid.IntRange(0, n-1).Draw(g.t, label) }

func (g *gate) any() wire.NetworkID {
	if len(g.ids) == 0 {
		return wire.NetworkID{}
	}
	return g.ids[g.draw(len(g.ids), "id")]
}

func (g *gate) comps() []ecs.ID {
	c := g.client
	return []ecs.ID{c.child, c.frozen, c.health, c.pos, c.rot, c.vel, c.seeker}
}

// set writes a row of the store.
func (g *gate) set(id wire.NetworkID, row int) {
	n := uint32(g.draw(50, "value"))
	switch row {
	case rowChildOf:
		g.hang(id, g.any())
	case rowFrozen:
		g.store.Set(id, row, nil)
	case rowSeeker:
		g.store.Set(id, row, lanesOf(g.any(), g.any(), wire.NetworkID{}))
	default:
		lanes := make([]uint32, g.schema.Plan(row).Lanes())
		lanes[0] = n
		if row == rowRotation {
			q := rotation{[4]float32{float32(n) / 50, 0, 0, 1}}
			g.schema.Plan(row).Quantise(reflect.ValueOf(&q).UnsafePointer(), lanes)
		}
		g.store.Set(id, row, lanes)
	}
}

// serve changes the store.
func (g *gate) serve() {
	id := g.any()
	switch k := g.draw(10, "serve"); {
	case k < 3 || id.IsZero():
		id = g.store.Spawn()
		g.ids, g.here[id] = append(g.ids, id), &shown{}
		for row := range g.schema.Rows() {
			if rapid.Bool().Draw(g.t, "has") {
				g.set(id, row)
			}
		}
	case k < 5:
		g.store.Despawn(id)
		delete(g.here, id)
		g.ids = slices.DeleteFunc(g.ids, func(x wire.NetworkID) bool { return x == id })
	default:
		row := g.draw(g.schema.Rows(), "row")
		s := g.here[id]
		if k == 5 {
			g.store.Remove(id, row)
		} else {
			g.set(id, row)
			s.idle = s.idle && !s.own.Has(row) // the server's now, if only by name
		}
	}
}

// see hides an entity from the client or shows it again. Its life there ends.
func (g *gate) see() {
	if id := g.any(); !id.IsZero() {
		s := g.here[id]
		if s.hidden {
			g.view.Show(id)
		} else {
			g.view.Hide(id)
		}
		*s = shown{hidden: !s.hidden}
		g.check(func() {})
	}
}

// meddle is game code on the client.
func (g *gate) meddle() {
	id := g.any()
	s := g.here[id]
	e, ok := g.apply.Entity(id)
	if !ok || s.hidden || s.taken {
		return
	}
	s.idle = false
	c, row := g.client, g.draw(g.schema.Rows(), "row")
	comp := g.comps()[row]
	switch has := ecs.Has(c.world, e, comp); g.draw(8, "meddle") {
	case 0:
		c.world.RemoveEntity(e)
		s.taken = true
	case 1:
		if g.draw(3, "strip") == 0 {
			ecs.Exchange(c.world, e, nil, []ecs.ID{c.rep}, nil)
			s.taken = true
		}
	case 2:
		switch {
		case has && s.own.Has(row):
			ecs.Exchange(c.world, e, nil, []ecs.ID{comp}, nil)
			s.own = s.own.Without(row)
		case has:
			ecs.Exchange(c.world, e, nil, []ecs.ID{comp}, nil)
			s.lost = s.lost.With(row)
		case s.lost.Has(row):
			ecs.Exchange(c.world, e, []ecs.ID{comp}, nil, nil)
			s.lost = s.lost.Without(row)
		case row != rowChildOf:
			ecs.Exchange(c.world, e, []ecs.ID{comp}, nil, nil)
			s.own = s.own.With(row)
		}
	case 3:
		if ecs.Has(c.world, e, c.local) {
			ecs.Exchange(c.world, e, nil, []ecs.ID{c.local}, nil)
		} else {
			ecs.Exchange(c.world, e, []ecs.ID{c.local}, nil, nil)
		}
	case 4, 5:
		if ecs.Has(c.world, e, c.seeker) {
			get[seeker](c, e, c.seeker).Target = e
		}
		if ecs.Has(c.world, e, c.pos) {
			c.position(e).Z = 77
		}
	case 6:
		if ecs.Has(c.world, e, c.child) {
			other, _ := g.apply.Entity(g.any())
			if other != e {
				ecs.SetTarget(c.world, e, c.child, other)
			}
		}
	case 7:
		ecs.Spawn(c.world, nil, c.rep, c.pos)
	}
}

// there is the client's entity of an id as the model has it.
func (g *gate) there(id wire.NetworkID) ecs.Entity {
	if s := g.here[id]; s == nil || s.hidden || s.taken {
		return ecs.Entity{}
	}
	return g.local(id)
}

// parentOf is the target that a relation should have.
func (g *gate) parentOf(id wire.NetworkID) ecs.Entity {
	up := func(id wire.NetworkID) (parent wire.NetworkID) {
		if lanes := g.store.Row(id, rowChildOf); lanes != nil {
			parent = wire.NetworkID{Index: lanes[1], Generation: lanes[2]}
		}
		if s := g.here[parent]; s == nil || s.hidden {
			return wire.NetworkID{}
		}
		return parent
	}
	seen := map[wire.NetworkID]bool{}
	for at := up(id); !at.IsZero() && !seen[at]; at = up(at) {
		seen[at] = true
	}
	if seen[id] {
		return ecs.Entity{}
	}
	return g.there(up(id))
}

// check plays a tick and compares every entity with what it should be, and what
// is told of it with what became of it.
func (g *gate) check(change func()) {
	applied := g.apply.Stats().Applied
	g.feed(change)
	for _, id := range g.ids { // a row that was removed and set, or set and removed, within a tick was never gone, or never there, to the client
		s := g.here[id]
		s.lost, s.own = s.lost.Intersect(g.store.Mask(id)), s.own.Minus(g.store.Mask(id))
	}
	told := map[wire.NetworkID]netecs.Change{}
	if g.apply.Stats().Applied != applied {
		told = changes(g.pair)
	}
	for _, id := range g.ids {
		g.compare(id)
		s, now := g.here[id], g.picture(id)
		c, changed := told[id]
		require.False(g.t, changed && now == nil, "%s is not there", id)
		if now != nil {
			require.Equal(g.t, s.last == nil, c.Spawned, "%s", id)
		}
		if s.last != nil && s.idle && now != nil {
			require.Equal(g.t, !reflect.DeepEqual(s.last, now), changed, "tick %d: %s, %v, %v", g.tick, id, s.last, now)
		}
		s.last, s.idle = now, true
	}
	require.False(g.t, g.client.world.IsLocked())
}

// picture is an entity's components on the client, nil when it is not there.
func (g *gate) picture(id wire.NetworkID) (values []any) {
	e := g.there(id)
	if e.IsZero() {
		return nil
	}
	values = []any{e}
	for row, comp := range g.comps() {
		if !ecs.Has(g.client.world, e, comp) {
			continue
		}
		values = append(values, row, reflect.NewAt(g.schema.Plan(row).Type(), ecs.Get(g.client.world, e, comp)).Elem().Interface())
		if row == rowChildOf {
			values = append(values, ecs.Target(g.client.world, e, comp))
		}
	}
	return values
}

func (g *gate) compare(id wire.NetworkID) {
	s, e := g.here[id], g.there(id)
	_, ok := g.apply.Entity(id)
	require.Equal(g.t, !s.hidden && !s.taken, ok, "%s", id)
	if !ok {
		return
	}
	for row, comp := range g.comps() {
		want := g.store.Mask(id).Minus(s.lost).Union(s.own).Has(row)
		require.Equal(g.t, want, ecs.Has(g.client.world, e, comp), "row %d of %s", row, id)
		if !want || s.own.Has(row) {
			continue
		}
		plan := g.schema.Plan(row)
		lanes := slices.Clone(g.store.Row(id, row))
		for _, lane := range plan.Handles() {
			target := g.there(wire.NetworkID{Index: lanes[lane], Generation: lanes[lane+1]})
			lanes[lane], lanes[lane+1] = target.ID(), ecs.Generation(target)
		}
		expected := reflect.New(plan.Type())
		plan.Dequantise(lanes, expected.UnsafePointer())
		field, equal := plan.Compare(expected.UnsafePointer(), ecs.Get(g.client.world, e, comp))
		require.True(g.t, equal, "tick %d: row %d of %s, field %s", g.tick, row, id, field)
		if row == rowChildOf {
			require.Equal(g.t, g.parentOf(id), ecs.Target(g.client.world, e, comp), "tick %d: parent of %s", g.tick, id)
		}
	}
}

func TestGateAgainstAModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		g := &gate{pair: newPair(t), t: rt, here: map[wire.NetworkID]*shown{}}
		for range 50 {
			switch g.draw(5, "step") {
			case 0:
				g.see()
			case 1, 2:
				g.meddle()
			default:
				g.check(func() {
					for range g.draw(4, "changes") {
						g.serve()
					}
				})
			}
		}
		g.check(func() {})
		kinds := g.client.kinds()
		require.NotContains(rt, kinds, netecs.WorldReset)
		require.NotContains(rt, kinds, netecs.StaleReplicated)
	})
}

package netecs_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/components"
	netecs "github.com/arche-netcode/netcode/ecs"
	"github.com/arche-netcode/netcode/internal/alloctest"
	ecs "github.com/arche-netcode/netcode/internal/world"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/wire"
)

// changes are those of the last run, without what their key says.
func changes(p *pair) map[wire.NetworkID]netecs.Change {
	all := map[wire.NetworkID]netecs.Change{}
	for c := range p.apply.Changes {
		if before, twice := all[c.ID]; twice || p.local(c.ID) != c.Entity {
			panic(fmt.Sprintf("%+v was told of before (%v, %+v), or is %v", c, twice, before, p.local(c.ID)))
		}
		for rows := c.Rows.Union(c.Added).Union(c.Removed); !rows.IsZero(); rows = rows.Rest() {
			if !p.apply.Touched(format.Bit(rows.Lowest())) {
				panic(fmt.Sprintf("%+v is a change of rows that are not touched", c))
			}
		}
		id := c.ID
		c.ID, c.Entity = wire.NetworkID{}, ecs.Entity{}
		all[id] = c
	}
	return all
}

func TestLaterResolvedFieldsAreChanges(t *testing.T) {
	p := newPair(t)
	s := p.server
	a, b := ecs.Spawn(s.world, nil, s.rep, s.pos), ecs.Spawn(s.world, nil, s.rep, s.seeker)
	get[seeker](s, b, s.seeker).Target = a
	p.step()
	ida, _ := p.capture.ID(a)
	idb, _ := p.capture.ID(b)
	p.view.Hide(ida)
	p.step()
	require.Equal(t, map[wire.NetworkID]netecs.Change{idb: {Rows: format.Bit(rowSeeker)}}, changes(p))
	p.view.Show(ida)
	p.step()
	require.Equal(t, map[wire.NetworkID]netecs.Change{
		ida: {Rows: format.Bit(rowPosition), Added: format.Bit(rowPosition), Spawned: true}, idb: {Rows: format.Bit(rowSeeker)},
	}, changes(p))
	p.same()
}

func TestGameWritesAreChangesOnlyIfTheServersValueChanged(t *testing.T) {
	p, all := populated(t, 3)
	id, _ := p.capture.ID(all[1])
	p.client.position(p.local(id)).X = -9
	get[health](p.client, p.local(id), p.client.health).Note = 3 // its own
	get[health](p.server, all[1], p.server.health).HP = 44
	p.step()
	require.Equal(t, map[wire.NetworkID]netecs.Change{id: {Rows: format.Bit(rowHealth)}}, changes(p))
	p.client.position(p.local(id)).X = -9
	p.server.position(all[1]).X = 9
	p.step()
	require.Equal(t, map[wire.NetworkID]netecs.Change{id: {Rows: format.Bit(rowPosition)}}, changes(p))
	p.same()
}

func TestChangesAllocateNothing(t *testing.T) {
	p, all := scene(t, 1000)
	for range 50 {
		move(p, all, 1)
		p.step()
	}
	count := 0
	alloctest.Zero(t, 20, func() {
		for c := range p.apply.Changes {
			if c.Rows.Has(rowPosition) {
				count++
			}
		}
		for e, at := range netecs.Changed[position](p.apply) {
			if !e.IsZero() && at != nil {
				count++
			}
		}
	})
	require.Equal(t, 21*2000, count)
}

// The last of a table moves to where another leaves it: what comes in the next run with a component is still a change.
func TestMovedEntitiesChangeWithAddedComponents(t *testing.T) {
	p, all := populated(t, 2)
	id, _ := p.capture.ID(all[1])
	p.server.world.RemoveEntity(all[0])
	p.step()
	get[health](p.server, all[1], p.server.health).HP = 44
	ecs.Exchange(p.server.world, all[1], []ecs.ID{p.server.frozen}, nil, nil)
	p.step()
	require.Equal(t, map[wire.NetworkID]netecs.Change{id: {Rows: format.Bit(rowHealth).With(rowFrozen), Added: format.Bit(rowFrozen)}}, changes(p))
	p.same()
}

// The entity that a row names may leave in the very run in which the row comes, which keeps naming it here: what was resolved for
// a moment is no change.
func TestReferenceToAnEntityThatLeavesInTheSameRunIsNoChange(t *testing.T) {
	for what, write := range map[string]func(p *pair, seeks ecs.Entity){
		"moved": func(p *pair, seeks ecs.Entity) {
			ecs.Exchange(p.server.world, seeks, []ecs.ID{p.server.frozen}, nil, nil)
		},
		"put back": func(p *pair, seeks ecs.Entity) {
			local := p.atClient(seeks)
			get[seeker](p.client, local, p.client.seeker).Target = local
			get[seeker](p.server, seeks, p.server.seeker).Doubt = 0 // the same: the client's write is undone
		},
	} {
		p := newPair(t)
		s := p.server
		seeks, named := ecs.Spawn(s.world, nil, s.rep, s.seeker), ecs.Spawn(s.world, nil, s.rep, s.pos)
		p.step()
		id, _ := p.capture.ID(seeks)
		write(p, seeks)
		get[seeker](s, seeks, s.seeker).Target = named
		p.send()
		p.view.Keep(id) // it stays as it is
		s.world.RemoveEntity(named)
		p.send()
		require.NotZero(t, p.replica.Row(id.Index, rowSeeker)[1], "%s: it still names somebody", what)
		p.apply.Run()
		require.Equal(t, 1, p.replica.Len(), what)
		require.Zero(t, get[seeker](p.client, p.local(id), p.client.seeker).Target, what)
		require.Zero(t, changes(p)[id].Rows.Intersect(format.Bit(rowSeeker)), what)
		p.view.Show(id)
		p.step()
		require.Zero(t, changes(p)[id].Rows, what)
		p.same()
	}
}

// TestChangesAgainstValues lets entities of few kinds come, go, move among their tables and change, all of it in one tick
// often, and the game at the client take and give Replicated: whatever differs is told of.
func TestChangesAgainstValues(t *testing.T) {
	for seed := range uint64(30) {
		p, r := newPair(t), rand.New(rand.NewPCG(seed, 6))
		s, c := p.server, p.client
		server := []ecs.ID{s.child, s.frozen, s.health, s.pos}
		client := []ecs.ID{c.child, c.frozen, c.health, c.pos}
		look := func(e ecs.Entity) (v [4]any) {
			for row, id := range client {
				if ecs.Has(c.world, e, id) {
					v[row] = reflect.NewAt(p.schema.Plan(row).Type(), ecs.Get(c.world, e, id)).Elem().Interface()
				}
			}
			if v[rowChildOf] != nil {
				v[rowChildOf] = ecs.Target(c.world, e, c.child)
			}
			return v
		}
		var all []ecs.Entity
		was := map[wire.NetworkID][4]any{}
		for step := range 120 {
			for range r.IntN(6) {
				e := ecs.Entity{}
				if len(all) > 0 {
					e = all[r.IntN(len(all))]
				}
				switch k := r.IntN(10); {
				case e.IsZero() || k == 0 && len(all) < 12:
					all = append(all, ecs.Spawn(s.world, nil, s.rep, s.health, s.pos))
				case k == 1:
					s.world.RemoveEntity(e)
					all = slices.DeleteFunc(all, func(x ecs.Entity) bool { return x == e })
				case k < 4:
					if id := server[r.IntN(4)]; ecs.Has(s.world, e, id) {
						ecs.Exchange(s.world, e, nil, []ecs.ID{id}, nil)
					} else {
						ecs.Exchange(s.world, e, []ecs.ID{id}, nil, nil)
					}
				case k < 6 && ecs.Has(s.world, e, s.child):
					if up := all[r.IntN(len(all))]; up != e { // Arche cannot remove who is its own target
						ecs.SetTarget(s.world, e, s.child, up)
					}
				case k < 8 && ecs.Has(s.world, e, s.health):
					get[health](s, e, s.health).HP = int16(r.IntN(1000))
				case ecs.Has(s.world, e, s.pos):
					s.position(e).X = float32(r.IntN(100))
				}
				if id, ok := p.capture.ID(e); ok && r.IntN(8) == 0 { // the game at the client moves it by what is its own
					if e := p.local(id); c.world.Alive(e) && ecs.Has(c.world, e, c.local) {
						ecs.Exchange(c.world, e, nil, []ecs.ID{c.local}, nil)
					} else if c.world.Alive(e) {
						ecs.Exchange(c.world, e, []ecs.ID{c.local}, nil, nil)
					}
				}
			}
			applied := p.apply.Stats().Applied
			p.step()
			told, now := map[wire.NetworkID]netecs.Change{}, map[wire.NetworkID][4]any{}
			if p.apply.Stats().Applied != applied {
				told = changes(p)
			}
			for id := range p.replica.All {
				e := p.local(id.ID)
				now[id.ID] = look(e)
				for row := range client {
					if old, is := was[id.ID][row], now[id.ID][row]; is != nil {
						require.False(t, is != old && !told[id.ID].Rows.Has(row), "seed %d, step %d: row %d of %s, %v, then %v", seed, step, row, id.ID, old, is)
					}
				}
			}
			was = now
		}
	}
}

func TestFirstDifferenceNamesThePlace(t *testing.T) {
	p, all := populated(t, 3)
	id, _ := p.capture.ID(all[1])
	e := p.atClient(all[1])
	diff := func() string {
		d, differs := netecs.FirstDifference(p.store, nil, p.client.world, p.schema)
		require.True(t, differs)
		require.NotEqual(t, netecs.DigestStore(p.store, p.schema, nil), netecs.Digest(p.client.world, p.schema))
		return d.String()
	}
	get[health](p.client, e, p.client.health).HP = 30
	require.Equal(t, "entity "+id.String()+", health.HP: server 1, client 30", diff())
	p.apply.Run()
	ecs.Exchange(p.client.world, e, []ecs.ID{p.client.frozen}, nil, nil)
	require.Equal(t, "entity "+id.String()+", frozen: server absent, client {}", diff())
	ecs.Exchange(p.client.world, e, nil, []ecs.ID{p.client.frozen, p.client.health}, nil)
	require.Contains(t, diff(), "health: server {HP:1 Note:0 Big:1152921504606846976}, client absent")
	p.client.world.RemoveEntity(e)
	require.Equal(t, "entity "+id.String()+": server present, client absent", diff())
	only := func(x wire.NetworkID) bool { return x != id }
	_, differs := netecs.FirstDifference(p.store, only, p.client.world, p.schema)
	require.False(t, differs)
	require.Equal(t, netecs.DigestStore(p.store, p.schema, only), netecs.Digest(p.client.world, p.schema))
	extra := ecs.Spawn(p.client.world, nil, p.client.rep)
	p.client.replicated(extra).ID = wire.NetworkID{Index: 50, Generation: 1}
	d, differs := netecs.FirstDifference(p.store, only, p.client.world, p.schema)
	require.True(t, differs)
	require.Equal(t, "entity 50v1: server absent, client present", d.String())
}

func TestFirstDifferenceReadsPaths(t *testing.T) {
	p := newPair(t)
	e := ecs.Spawn(p.server.world, nil, p.server.rep, p.server.rot)
	get[rotation](p.server, e, p.server.rot).Q = [4]float32{0, 0, 0, 1}
	p.step()
	get[rotation](p.client, p.atClient(e), p.client.rot).Q[2] = 3
	d, differs := netecs.FirstDifference(p.store, nil, p.client.world, p.schema)
	require.True(t, differs)
	require.Equal(t, "Q", d.Field)
	require.Contains(t, d.Client, " 3 ")
}

type grid struct {
	Cells [3]struct{ Kind uint8 }
	Speed float32
}

type score int32

func TestDifferenceInArraysAndNumbers(t *testing.T) {
	var plans []*quantize.Plan
	for _, typ := range []reflect.Type{reflect.TypeFor[grid](), reflect.TypeFor[score]()} {
		plan, err := quantize.Compile(typ, typ.Name())
		require.NoError(t, err)
		plans = append(plans, plan)
	}
	schema := format.NewSchema(plans)
	w := ecs.New()
	rep, gridID, scoreID := ecs.ComponentID[components.Replicated](w), ecs.ComponentID[grid](w), ecs.ComponentID[score](w)
	store := snapshot.NewStore(schema, snapshot.Config{})
	e := ecs.Spawn(w, nil, rep, gridID, scoreID)
	netecs.NewCapture(w, store, schema, serverTag, nil).Run(1)
	diff := func() string {
		d, differs := netecs.FirstDifference(store, nil, w, schema) // zero values are their own quantisation
		require.True(t, differs)
		return d.String()
	}
	_, differs := netecs.FirstDifference(store, nil, w, schema)
	require.False(t, differs)
	*(*score)(ecs.Get(w, e, scoreID)) = 9
	require.Regexp(t, `^entity 0v1, score.*: server 0, client 9$`, diff())
	(*grid)(ecs.Get(w, e, gridID)).Cells[2].Kind = 4
	require.Equal(t, "entity 0v1, grid.Cells[2].Kind: server 0, client 4", diff())
}

func TestEntitiesComeInIDOrder(t *testing.T) {
	p, all := populated(t, 5)
	p.server.world.RemoveEntity(all[0]) // the last moves to the front
	ecs.Spawn(p.server.world, nil, p.server.rep)
	var order []wire.NetworkID
	for e, id := range netecs.Entities(p.server.world) {
		require.Equal(t, p.server.replicated(e).ID, id)
		order = append(order, id)
		if len(order) == 3 {
			break
		}
	}
	require.Equal(t, []wire.NetworkID{{Index: 1, Generation: 1}, {Index: 2, Generation: 1}, {Index: 3, Generation: 1}}, order)
}

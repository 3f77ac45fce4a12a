package netecs_test

import (
	"reflect"
	"testing"

	"github.com/mlange-42/arche/ecs"
	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/components"
	netecs "github.com/arche-netcode/netcode/ecs"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/wire"
)

func TestFirstDifferenceNamesThePlace(t *testing.T) {
	p, all := populated(t, 3)
	id, _ := p.capture.ID(all[1])
	e := p.twin(all[1])
	diff := func() string {
		d, differs := netecs.FirstDifference(p.store, nil, p.client.world, p.schema)
		require.True(t, differs)
		require.NotEqual(t, netecs.DigestStore(p.store, p.schema, nil), netecs.Digest(p.client.world, p.schema))
		return d.String()
	}
	get[health](p.client, e, p.client.health).HP = 30
	require.Equal(t, "entity "+id.String()+", health.HP: server 1, client 30", diff())
	p.apply.Run()
	p.client.world.Add(e, p.client.frozen)
	require.Equal(t, "entity "+id.String()+", frozen: server absent, client {}", diff())
	p.client.world.Remove(e, p.client.frozen, p.client.health)
	require.Contains(t, diff(), "health: server {HP:1 Note:0 Big:1152921504606846976}, client absent")
	p.client.world.RemoveEntity(e)
	require.Equal(t, "entity "+id.String()+": server present, client absent", diff())
	only := func(x wire.NetworkID) bool { return x != id }
	_, differs := netecs.FirstDifference(p.store, only, p.client.world, p.schema)
	require.False(t, differs)
	require.Equal(t, netecs.DigestStore(p.store, p.schema, only), netecs.Digest(p.client.world, p.schema))
	extra := p.client.world.NewEntity(p.client.rep)
	p.client.replicated(extra).ID = wire.NetworkID{Index: 50, Generation: 1}
	d, differs := netecs.FirstDifference(p.store, only, p.client.world, p.schema)
	require.True(t, differs)
	require.Equal(t, "entity 50v1: server absent, client present", d.String())
}

func TestFirstDifferenceReadsPaths(t *testing.T) {
	p := newPair(t)
	e := p.server.world.NewEntity(p.server.rep, p.server.rot)
	get[rotation](p.server, e, p.server.rot).Q = [4]float32{0, 0, 0, 1}
	p.step()
	get[rotation](p.client, p.twin(e), p.client.rot).Q[2] = 3
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
	w := ecs.NewWorld()
	rep, gridID, scoreID := ecs.ComponentID[components.Replicated](&w), ecs.ComponentID[grid](&w), ecs.ComponentID[score](&w)
	store := snapshot.NewStore(schema, snapshot.Config{})
	e := w.NewEntity(rep, gridID, scoreID)
	netecs.NewCapture(&w, store, schema, serverTag, nil).Run(1)
	diff := func() string {
		d, differs := netecs.FirstDifference(store, nil, &w, schema) // zero values are their own quantisation
		require.True(t, differs)
		return d.String()
	}
	_, differs := netecs.FirstDifference(store, nil, &w, schema)
	require.False(t, differs)
	*(*score)(w.Get(e, scoreID)) = 9
	require.Regexp(t, `^entity 0v1, score.*: server 0, client 9$`, diff())
	(*grid)(w.Get(e, gridID)).Cells[2].Kind = 4
	require.Equal(t, "entity 0v1, grid.Cells[2].Kind: server 0, client 4", diff())
}

func TestEntitiesComeInIDOrder(t *testing.T) {
	p, all := populated(t, 5)
	p.server.world.RemoveEntity(all[0]) // the last moves to the front
	p.server.world.NewEntity(p.server.rep)
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

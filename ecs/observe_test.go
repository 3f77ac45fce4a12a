package netecs_test

import (
	"fmt"
	"testing"

	"github.com/mlange-42/arche/ecs"
	"github.com/stretchr/testify/require"

	netecs "github.com/arche-netcode/netcode/ecs"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/wire"
)

// changes are those of the last run, without what their key says.
func changes(p *pair) map[wire.NetworkID]netecs.Change {
	all := map[wire.NetworkID]netecs.Change{}
	for c := range p.apply.Changes {
		if before, twice := all[c.ID]; twice || p.local(c.ID) != c.Entity {
			panic(fmt.Sprintf("%+v was told of before (%v, %+v), or is %v", c, twice, before, p.local(c.ID)))
		}
		id := c.ID
		c.ID, c.Entity = wire.NetworkID{}, ecs.Entity{}
		all[id] = c
	}
	return all
}

const (
	position1 = snapshot.Mask(1) << rowPosition
	velocity1 = snapshot.Mask(1) << rowVelocity
	health1   = snapshot.Mask(1) << rowHealth
	frozen1   = snapshot.Mask(1) << rowFrozen
	seeker1   = snapshot.Mask(1) << rowSeeker
)

func TestChangesOfARun(t *testing.T) {
	p := newPair(t)
	require.Empty(t, changes(p))
	s := p.server
	a, b := s.world.NewEntity(s.rep, s.pos, s.health), s.world.NewEntity(s.rep, s.vel, s.seeker)
	get[seeker](s, b, s.seeker).Target = a
	p.step()
	ida, _ := p.capture.ID(a)
	idb, _ := p.capture.ID(b)
	require.Equal(t, map[wire.NetworkID]netecs.Change{
		ida: {Rows: position1 | health1, Added: position1 | health1, Spawned: true},
		idb: {Rows: velocity1 | seeker1, Added: velocity1 | seeker1, Spawned: true},
	}, changes(p))
	p.step()
	require.Len(t, changes(p), 2, "nothing was applied since")
	require.EqualValues(t, 1, p.apply.Stats().Applied)

	s.position(a).X = 4
	get[health](s, a, s.health).Note = 5 // does not travel
	p.step()
	require.Equal(t, map[wire.NetworkID]netecs.Change{ida: {Rows: position1}}, changes(p))
	require.EqualValues(t, 2, p.apply.Stats().Applied)

	s.world.Exchange(a, []ecs.ID{s.frozen, s.vel}, []ecs.ID{s.health})
	s.position(a).X = 5
	p.step()
	require.Equal(t, map[wire.NetworkID]netecs.Change{
		ida: {Rows: position1 | frozen1 | velocity1, Added: frozen1 | velocity1, Removed: health1},
	}, changes(p))

	s.world.RemoveEntity(a) // b's field becomes zero, and nothing else of it
	p.step()
	require.Equal(t, map[wire.NetworkID]netecs.Change{idb: {Rows: seeker1}}, changes(p))
	p.client.world.RemoveEntity(p.local(idb))
	require.Empty(t, changes(p), "gone since")
	p.apply.Clear()
	require.Empty(t, changes(p))
}

func TestLaterResolvedFieldsAreChanges(t *testing.T) {
	p := newPair(t)
	s := p.server
	a, b := s.world.NewEntity(s.rep, s.pos), s.world.NewEntity(s.rep, s.seeker)
	get[seeker](s, b, s.seeker).Target = a
	p.step()
	ida, _ := p.capture.ID(a)
	idb, _ := p.capture.ID(b)
	p.view.Hide(ida)
	p.step()
	require.Equal(t, map[wire.NetworkID]netecs.Change{idb: {Rows: seeker1}}, changes(p))
	p.view.Show(ida)
	p.step()
	require.Equal(t, map[wire.NetworkID]netecs.Change{
		ida: {Rows: position1, Added: position1, Spawned: true}, idb: {Rows: seeker1},
	}, changes(p))
	p.same()
}

func TestWhatGameCodeWroteIsAChangeOnlyIfTheServersIs(t *testing.T) {
	p, all := populated(t, 3)
	id, _ := p.capture.ID(all[1])
	p.client.position(p.local(id)).X = -9
	get[health](p.client, p.local(id), p.client.health).Note = 3 // its own
	get[health](p.server, all[1], p.server.health).HP = 44
	p.step()
	require.Equal(t, map[wire.NetworkID]netecs.Change{id: {Rows: health1}}, changes(p))
	p.client.position(p.local(id)).X = -9
	p.server.position(all[1]).X = 9
	p.step()
	require.Equal(t, map[wire.NetworkID]netecs.Change{id: {Rows: position1}}, changes(p))
	p.same()
}

func TestChangedOfAType(t *testing.T) {
	p, all := populated(t, 4)
	p.server.position(all[1]).X = 30
	p.server.position(all[3]).X = 40
	get[health](p.server, all[2], p.server.health).HP = 9
	p.step()
	var xs []float32
	for e, at := range netecs.Changed[position](p.apply) {
		require.Same(t, p.client.position(e), at)
		xs = append(xs, at.X)
	}
	require.InDeltaSlice(t, []float32{30, 40}, xs, 0.002)
	for e, at := range netecs.Changed[health](p.apply) {
		require.EqualValues(t, 9, at.HP)
		p.client.world.RemoveEntity(e) // the world may be changed
	}
	for range netecs.Changed[localOnly](p.apply) {
		t.Fatal("of a type that does not replicate")
	}
	for range netecs.Changed[position](p.apply) {
		p.client.world.Reset()
	}
	require.Empty(t, changes(p))
}

func TestChangesAllocateNothing(t *testing.T) {
	p, all := scene(t, 1000)
	for range 50 {
		move(p, all, 1)
		p.step()
	}
	count := 0
	require.Zero(t, testing.AllocsPerRun(20, func() {
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
	}))
	require.Equal(t, 21*2000, count)
}

package systems_test

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/authority"
	"github.com/arche-netcode/netcode/components"
	netecs "github.com/arche-netcode/netcode/ecs"
	ecs "github.com/arche-netcode/netcode/internal/world"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/record"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/memory"
	"github.com/arche-netcode/netcode/wire"
)

type (
	savedBody struct {
		X    float32 `net:"min=-8,max=8,step=0.25"`
		Name wire.Text32
		Note int32 `net:"-"`
	}
	savedAim struct {
		At   ecs.Entity        `net:"entity"`
		Also netcode.NetworkID `net:"entity"`
	}
	savedChild generic.SlotTie
	savedMount generic.Tie // a second relation, on Ark
	savedTag   struct{}
)

// savedGame is a server with a world that is saved and loaded.
type savedGame struct {
	server *netcode.Server
	group  *systems.ServerSystems
	world  *ecs.World
	loop   *systems.Runner
	now    time.Duration
}

func newSavedGame(t *testing.T, also ...func(p *netcode.Protocol)) *savedGame {
	p := netcode.NewProtocol()
	netcode.Replicate[savedBody](p)
	netcode.Replicate[savedAim](p)
	netcode.Replicate[savedChild](p)
	netcode.Replicate[savedMount](p)
	netcode.Replicate[savedTag](p)
	for _, f := range also {
		f(p)
	}
	server, err := netcode.NewServer(p, netcode.Config{MaxEntities: 64})
	require.NoError(t, err)
	server.OnError(func(err error) { t.Error(err) })
	socket, err := memory.NewNetwork().Listen(transport.MustParseAddr("10.0.0.1:9000"))
	require.NoError(t, err)
	g := &savedGame{server: server, world: ecs.New()}
	g.group = systems.NewServer(server, socket, func() time.Duration { return g.now })
	g.loop = systems.NewRunner(g.world, g.group, 60)
	return g
}

func (g *savedGame) run() {
	for range 4 {
		g.now += time.Second / 60
		g.loop.Step()
	}
}

func (g *savedGame) save(t *testing.T) []byte {
	var b bytes.Buffer
	require.NoError(t, record.Save(g.server, &b))
	return b.Bytes()
}

// fill makes a world with references, relations, owners, texts, and holes between the ids.
func (g *savedGame) fill(t *testing.T) {
	bodies := generic.NewMap3[components.Replicated, savedBody, savedAim](g.world)
	children := generic.NewMap3[components.Replicated, savedChild, savedTag](g.world, generic.T[savedChild]())
	var all []ecs.Entity
	for i := range 12 {
		body := savedBody{X: float32(i) / 4, Note: 5}
		body.Name.Set([]string{"", "Ann", "Änne"}[i%3])
		all = append(all, bodies.NewWith(&components.Replicated{}, &body, &savedAim{}))
	}
	g.run()
	for i, e := range all {
		_, _, aim := bodies.Get(e)
		aim.At = all[(i+5)%12]
		aim.Also, _ = g.group.ID(all[(i+7)%12])
	}
	for i := range 3 {
		child := children.New(all[i+3])
		_, c, _ := children.Get(child)
		c.Slot = uint8(i)
		if mount := ecs.ComponentID[savedMount](g.world); ecs.SeveralRelations {
			ecs.Exchange(g.world, child, []ecs.ID{mount}, nil, nil)
			ecs.SetTarget(g.world, child, mount, all[i+8])
		}
	}
	g.world.RemoveEntity(all[0])
	g.world.RemoveEntity(all[4])
	g.run()
	id, _ := g.group.ID(all[2])
	require.True(t, g.server.SetOwner(id, 3))
	_, ok := authority.Grant(g.server, id, 9)
	require.True(t, ok)
	g.run()
}

// TestSaveAndLoad loads a world at another server, and saves it there with the same bytes.
func TestSaveAndLoad(t *testing.T) {
	a := newSavedGame(t)
	require.ErrorIs(t, record.Save(a.server, &bytes.Buffer{}), record.ErrNothingSaved)
	a.fill(t)
	first := a.save(t)

	b := newSavedGame(t)
	b.run()
	entities, err := systems.Load(b.group, b.world, bytes.NewReader(first))
	require.NoError(t, err)
	require.Len(t, entities, 13)
	b.run()
	require.Equal(t, first, b.save(t), "the same to the bit")

	names, related, mounted := 0, 0, 0
	w := b.world
	for e, id := range netecs.Entities(w) {
		if ecs.Has(w, e, ecs.ComponentID[savedAim](w)) {
			aims, bodies := generic.NewMap1[savedAim](w), generic.NewMap1[savedBody](w)
			if at := aims.Get(e).At; !at.IsZero() {
				require.True(t, w.Alive(at))
				names++
			}
			require.Zero(t, bodies.Get(e).Note, "what is not replicated is not saved")
		} else {
			if target := ecs.Target(w, e, ecs.ComponentID[savedChild](w)); !target.IsZero() {
				require.True(t, w.Alive(target))
				related++
			}
			if mount := ecs.ComponentID[savedMount](w); ecs.Has(w, e, mount) && w.Alive(ecs.Target(w, e, mount)) {
				mounted++
			}
		}
		if b.server.Owner(id) != 0 {
			require.EqualValues(t, 3, b.server.Owner(id))
			require.EqualValues(t, 9, authority.Granted(b.server, id))
		}
	}
	require.Equal(t, 8, names, "two of ten named what is gone")
	require.Equal(t, 2, related)
	require.Equal(t, ecs.SeveralRelations, mounted == 3)

	c := newSavedGame(t)
	c.run()
	ids, err := record.Load(c.server, bytes.NewReader(first))
	require.NoError(t, err)
	require.Len(t, ids, 13)
	c.run()
	require.Equal(t, first, c.save(t), "without a world too")
}

// TestLoadRefuses loads a save of another protocol, a damaged one, and one that is too large.
func TestLoadRefuses(t *testing.T) {
	a := newSavedGame(t)
	a.fill(t)
	good := a.save(t)

	early := newSavedGame(t)
	fresh := systems.NewServer(func() *netcode.Server {
		s, err := netcode.NewServer(early.server.Protocol(), netcode.Config{})
		require.NoError(t, err)
		return s
	}(), early.group.Receive.Socket, func() time.Duration { return 0 })
	_, err := systems.Load(fresh, early.world, bytes.NewReader(good))
	require.ErrorIs(t, err, systems.ErrNotInitialized)

	b := newSavedGame(t)
	b.run()
	for range 4 {
		_, err = systems.Load(b.group, b.world, bytes.NewReader(good))
		require.NoError(t, err)
		b.run()
	}
	before := b.server.Store().Len()
	_, err = systems.Load(b.group, b.world, bytes.NewReader(good))
	require.ErrorContains(t, err, "Config.MaxEntities leaves room for 12")
	_, err = record.Load(b.server, bytes.NewReader(good))
	require.ErrorContains(t, err, "Config.MaxEntities are alive")
	b.run()
	require.Equal(t, before, b.server.Store().Len())

	for n := range good {
		c := slices.Clone(good)
		c[n] ^= 0x20
		_, err := record.ReadSaved(bytes.NewReader(c), b.server.Protocol().Schema())
		require.Error(t, err, "byte %d", n)
		_, err = record.ReadSaved(bytes.NewReader(good[:n]), b.server.Protocol().Schema())
		require.Error(t, err, "%d bytes", n)
	}

	type more struct{ V int32 }
	with := newSavedGame(t, func(p *netcode.Protocol) { netcode.Replicate[more](p) })
	with.run()
	_, err = systems.Load(with.group, with.world, bytes.NewReader(good))
	require.NoError(t, err, "a game that has learned a component more reads its old games")
	with.run()
	_, err = systems.Load(b.group, b.world, bytes.NewReader(with.save(t)))
	require.ErrorIs(t, err, record.ErrProtocol)
	require.ErrorContains(t, err, "more{V:i32}")
}

package nettest_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/authority"
	"github.com/arche-netcode/netcode/collections"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/errs"
	"github.com/arche-netcode/netcode/interest"
	ecs "github.com/arche-netcode/netcode/internal/world"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/nettest"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/wire"
)

type (
	birthNews  struct{ N uint32 }
	birthNames struct {
		Of netcode.NetworkID `net:"entity"`
		N  uint32
	}
	birthAsk   struct{ N uint32 }
	birthReply struct {
		Of netcode.NetworkID `net:"entity"`
	}
	steers struct{ V int32 }
)

// births is a game that uses the ids of entities in the frames of their spawns.
type births struct {
	n     *nettest.Net
	list  *collections.List[uint32]
	news  [3][]netcode.NetworkID // by client: what news was about
	said  [3][]uint32            // by client: the numbers of news, in order
	names [3][]netcode.NetworkID // by client: what it was told the name of
	first ecs.Entity             // that the answer of a call names
}

func newBirths(t *testing.T, game func(b *births, w *ecs.World, frame int)) *births {
	b := &births{}
	p := protocol()
	netcode.Replicate[steers](p, authority.WrittenBy(authority.NamedWrites))
	netcode.Replicate[components.Owner](p)
	b.list = collections.NewList[uint32](p, "birth")
	client := func(ctx *netcode.Context) int { return int(ctx.Local) - 1 }
	netcode.Handle(p, func(ctx *netcode.Context, m *birthNews) {
		b.news[client(ctx)] = append(b.news[client(ctx)], ctx.Entity)
		b.said[client(ctx)] = append(b.said[client(ctx)], m.N)
	}, netcode.Over(netcode.ReliableOrdered), netcode.FromServer())
	netcode.Handle(p, func(ctx *netcode.Context, m *birthNames) {
		b.names[client(ctx)] = append(b.names[client(ctx)], m.Of)
	}, netcode.Over(netcode.ReliableOrdered), netcode.FromServer())
	netcode.Answer(p, func(ctx *netcode.Context, q *birthAsk, r *birthReply) error {
		build := generic.NewMap2[components.Replicated, position](b.n.Server.World)
		b.first = build.New()
		r.Of, _ = b.n.Server.Systems.ID(b.first)
		return nil
	})
	b.n = nettest.New(t, nettest.Config{
		Protocol: p, Clients: 3, Seed: 5, Link: transport.Link{Delay: 20 * time.Millisecond, Loss: 0.1},
		Game: func(w *ecs.World, frame int) { game(b, w, frame) },
	})
	b.n.Run(time.Second)
	return b
}

// spawn makes an entity and returns its id at once.
func (b *births) spawn(t *testing.T) (ecs.Entity, netcode.NetworkID) {
	build := generic.NewMap3[components.Replicated, position, steers](b.n.Server.World)
	e := build.New()
	id, ok := b.n.Server.Systems.ID(e)
	require.True(t, ok)
	again, ok := b.n.Server.Systems.ID(e)
	require.True(t, ok)
	require.Equal(t, id, again)
	found, ok := b.n.Server.Systems.Entity(id)
	require.True(t, ok)
	require.Equal(t, e, found)
	require.False(t, b.n.Server.Store().Alive(id), "it is captured later")
	require.True(t, b.n.Server.Has(id))
	return e, id
}

// TestIDAtBirth uses an entity's id for each call that takes one, in the frame of its spawn.
func TestIDAtBirth(t *testing.T) {
	var id netcode.NetworkID
	var e ecs.Entity
	at := 0
	b := newBirths(t, func(b *births, _ *ecs.World, frame int) {
		if frame != at || at == 0 {
			return
		}
		s := b.n.Server.Server
		e, id = b.spawn(t)
		require.True(t, s.Hide(3, id))
		require.NoError(t, netcode.Send(s, netcode.ToAll(), &birthNames{id, 1}), "nothing before it waits")
		require.NoError(t, netcode.Send(s, netcode.ToAll(), &birthNews{1}, netcode.About(id)))
		require.NoError(t, netcode.Send(s, netcode.ToSeers(id), &birthNews{2}))
		require.NoError(t, netcode.Send(s, netcode.To(2), &birthNews{3}, netcode.About(id)))
		require.NoError(t, netcode.Send(s, netcode.ToAll(), &birthNews{4}))
		require.NoError(t, netcode.Send(s, netcode.To(1), &birthNames{id, 2}))
		require.NoError(t, netcode.Send(s, netcode.To(3), &birthNames{id, 3}))
		require.True(t, s.SetOwner(id, 2))
		require.EqualValues(t, 2, s.Owner(id))
		require.NoError(t, netcode.Send(s, netcode.ToOwner(id), &birthNews{5}, netcode.About(id)))
		_, ok := authority.Grant(s, id, 1)
		require.True(t, ok)
		require.EqualValues(t, 1, authority.Granted(s, id))
		require.NoError(t, b.list.Of(s, id).Append(77))
	})
	at = b.n.Frame() + 3
	b.n.Run(2 * time.Second)
	b.n.AssertConverge()
	same, ok := b.n.Server.Systems.ID(e)
	require.True(t, ok)
	require.Equal(t, id, same, "the capture keeps the id")
	require.True(t, b.n.Server.Store().Alive(id))

	none := netcode.NetworkID{}
	require.Equal(t, []uint32{1, 2, 4}, b.said[0], "in the order of the calls")
	require.Equal(t, []uint32{1, 2, 3, 4, 5}, b.said[1])
	require.Equal(t, []uint32{4}, b.said[2], "it never sees the entity")
	require.Equal(t, []netcode.NetworkID{id, none, none}, b.news[0])
	require.Equal(t, []netcode.NetworkID{id, id}, b.names[0])
	require.Equal(t, []netcode.NetworkID{id}, b.names[1])
	require.Equal(t, []netcode.NetworkID{none, none}, b.names[2], "a hidden entity has no name")
	require.EqualValues(t, 2, b.n.Server.Owner(id))
	require.True(t, authority.MayWrite[steers](b.n.Clients[0].Client, id))
	require.False(t, authority.MayWrite[steers](b.n.Clients[1].Client, id))
	for i := range 2 {
		v, ok := b.list.Of(b.n.Clients[i].Client, id).At(0)
		require.True(t, ok)
		require.EqualValues(t, 77, v)
	}
	require.False(t, b.list.Of(b.n.Clients[2].Client, id).Arrived())
}

// TestIDAtBirthOfOneThatDies despawns an entity, or takes its Replicated, in the frame in which it got its id.
func TestIDAtBirthOfOneThatDies(t *testing.T) {
	var ids []netcode.NetworkID
	at := 0
	b := newBirths(t, func(b *births, w *ecs.World, frame int) {
		if at == 0 || frame < at || frame >= at+20 {
			return
		}
		s := b.n.Server.Server
		e, id := b.spawn(t)
		require.NotContains(t, ids, id, "an id is given once")
		ids = append(ids, id)
		require.NoError(t, netcode.Send(s, netcode.ToAll(), &birthNews{1}, netcode.About(id)))
		require.NoError(t, netcode.Send(s, netcode.ToSeers(id), &birthNews{2}))
		require.NoError(t, netcode.Send(s, netcode.ToAll(), &birthNames{id, 1}))
		require.NoError(t, b.list.Of(s, id).Append(77))
		require.True(t, s.SetOwner(id, 1))
		require.True(t, s.Hide(1, id))
		if frame%2 == 0 {
			w.RemoveEntity(e)
		} else {
			replicated := generic.NewMap1[components.Replicated](w)
			replicated.Remove(e)
			_, ok := b.n.Server.Systems.ID(e)
			require.True(t, ok, "until the next capture it keeps its id")
		}
	})
	at = b.n.Frame() + 3
	b.n.Run(2 * time.Second)
	b.n.AssertConverge()
	require.Len(t, ids, 20)
	for _, id := range ids {
		require.False(t, b.n.Server.Has(id))
		require.ErrorIs(t, b.list.Of(b.n.Server.Server, id).Append(1), errs.ErrNotVisible)
	}
	for i := range 3 {
		require.Empty(t, b.said[i])
		require.Len(t, b.names[i], 20)
		for _, of := range b.names[i] {
			require.Zero(t, of)
		}
		require.Zero(t, b.n.Clients[i].Replica().Len())
	}
	require.NotZero(t, b.n.Server.Stats().DelayedDropped)
}

// TestIDAtBirthInAnswers names a fresh entity in the answer of a call.
func TestIDAtBirthInAnswers(t *testing.T) {
	b := newBirths(t, func(*births, *ecs.World, int) {})
	answered := 0
	for range 3 {
		err := netcode.Call(context.Background(), b.n.Clients[0].Client, 0, &birthAsk{}, func(r *birthReply, err error) {
			answered++
			require.NoError(t, err)
			want, _ := b.n.Server.Systems.ID(b.first)
			require.Equal(t, want, r.Of)
			require.NotZero(t, r.Of)
		})
		require.NoError(t, err)
		b.n.Run(time.Second)
	}
	require.Equal(t, 3, answered)
}

// TestIDAtBirthFollowed makes a fresh entity the viewpoint of a client, from its first tick on.
func TestIDAtBirthFollowed(t *testing.T) {
	p := protocol()
	grid := interest.NewGrid(interest.GridConfig{
		Position: interest.PositionOf(p.Schema(), func(at *position) (x, y, z float32) { return at.X, at.Y, 0 }), Enter: 10,
	})
	n := nettest.New(t, nettest.Config{Protocol: p, Clients: 1, Seed: 9})
	n.Server.SetInterest(interest.New(grid, interest.Despawn))
	n.Run(time.Second)
	build := generic.NewMap2[components.Replicated, position](n.Server.World)
	far := build.NewWith(&components.Replicated{}, &position{X: 50})
	e := build.NewWith(&components.Replicated{}, &position{X: 45})
	id, ok := n.Server.Systems.ID(e)
	require.True(t, ok)
	grid.Follow(1, id)
	n.Run(time.Second)
	seen, _ := n.Server.Systems.ID(far)
	require.True(t, n.Server.Visible(1, seen))
	require.True(t, n.Server.Visible(1, id))
}

// TestIDAtBirthWithoutAWorld takes the same calls for an entity of Server.Spawn, put and despawned in the same frame too.
func TestIDAtBirthWithoutAWorld(t *testing.T) {
	at := 0
	var stays, goes netcode.NetworkID
	b := newBirths(t, func(b *births, _ *ecs.World, frame int) {
		if at == 0 || frame != at {
			return
		}
		s := b.n.Server.Server
		stays, goes = s.Spawn(), s.Spawn()
		for i, id := range []netcode.NetworkID{stays, goes} {
			require.True(t, s.Has(id))
			require.NoError(t, netcode.Send(s, netcode.ToAll(), &birthNews{uint32(i)}, netcode.About(id)))
			require.NoError(t, netcode.Send(s, netcode.ToSeers(id), &birthNews{uint32(i) + 10}))
			require.True(t, s.SetOwner(id, 1))
			require.True(t, s.Hide(2, id))
		}
		require.True(t, s.Despawn(goes))
		require.False(t, s.Has(goes))
		require.ErrorIs(t, netcode.Send(s, netcode.To(1), &birthNews{9}, netcode.About(goes)), errs.ErrNotVisible)
		require.ErrorIs(t, netcode.Send(s, netcode.ToSeers(goes), &birthNews{9}), errs.ErrNotVisible)
	})
	at = b.n.Frame() + 3
	b.n.Run(time.Second)
	require.Equal(t, []uint32{0, 10}, b.said[0])
	require.Empty(t, b.said[1])
	require.Equal(t, []uint32{0, 10}, b.said[2])
	require.EqualValues(t, 1, b.n.Server.Owner(stays))
	require.Zero(t, b.n.Server.Owner(goes))
}

// TestIDAtBirthAndReset holds that ids of a world that is reset end.
func TestIDAtBirthAndReset(t *testing.T) {
	b := newBirths(t, func(*births, *ecs.World, int) {})
	_, id := b.spawn(t)
	b.n.Server.World.Reset()
	build := generic.NewMap2[components.Replicated, position](b.n.Server.World)
	same := build.New() // with the handle of the one before
	_, ok := b.n.Server.Systems.ID(same)
	require.False(t, ok, "no capture knows the world's new life")
	b.n.Run(time.Second)
	require.False(t, b.n.Server.Has(id))
	fresh, ok := b.n.Server.Systems.ID(same)
	require.True(t, ok)
	require.NotEqual(t, id, fresh)
	_, other := b.spawn(t)
	require.NotEqual(t, id, other)
	b.n.Run(time.Second)
	require.True(t, b.n.Server.Store().Alive(other))
	require.False(t, b.n.Server.Has(id))
}

// pursuit names an entity by its network id, which is the same in memory as on the wire.
type pursuit struct {
	Of netcode.NetworkID `net:"entity"`
	N  int32
}

// TestReferencesByNetworkIDAreSent writes to components that name entities by their network ids, one and many in a tick, in each of their fields and in both, with no rate in the
// world that would have each row captured by itself: clients get each value, and nil while who is named is hidden or gone.
func TestReferencesByNetworkIDAreSent(t *testing.T) {
	for _, count := range []int{1, 3, 200} {
		t.Run(fmt.Sprint(count), func(t *testing.T) {
			p := netcode.NewProtocol()
			netcode.Replicate[pursuit](p)
			n := nettest.New(t, nettest.Config{Protocol: p, Clients: 2, Seed: 6})
			n.RunUntil(5*time.Second, n.Connected)
			w := n.Server.World
			id, replicated := ecs.ComponentID[pursuit](w), ecs.ComponentID[components.Replicated](w)
			target, all := ecs.Spawn(w, nil, replicated), []ecs.Entity(nil)
			for range count {
				all = append(all, ecs.Spawn(w, nil, replicated, id))
			}
			n.Run(300 * time.Millisecond)
			of, _ := n.Server.Systems.ID(target)
			want := func(what string, blind, seeing pursuit) {
				n.Run(time.Second)
				for k, want := range []pursuit{blind, seeing} {
					c := n.Clients[k]
					for _, e := range all {
						network, _ := n.Server.Systems.ID(e)
						here, ok := c.Systems.Entity(network)
						require.True(t, ok, what)
						require.Equal(t, want, *(*pursuit)(ecs.Get(c.World, here, ecs.ComponentID[pursuit](c.World))), "%s, client %d", what, k)
					}
				}
			}
			write := func(v pursuit) {
				for _, e := range all {
					*(*pursuit)(ecs.Get(w, e, id)) = v
				}
			}
			write(pursuit{N: 1})
			want("another field", pursuit{N: 1}, pursuit{N: 1})
			write(pursuit{Of: of, N: 1})
			want("the name", pursuit{Of: of, N: 1}, pursuit{Of: of, N: 1})
			n.Server.Hide(n.Clients[0].ID(), of)
			want("hidden", pursuit{N: 1}, pursuit{Of: of, N: 1})
			write(pursuit{Of: of, N: 2})
			want("another field while hidden", pursuit{N: 2}, pursuit{Of: of, N: 2})
			n.Server.Show(n.Clients[0].ID(), of)
			want("shown", pursuit{Of: of, N: 2}, pursuit{Of: of, N: 2})
			w.RemoveEntity(target)
			want("gone", pursuit{N: 2}, pursuit{N: 2})
			write(pursuit{Of: of, N: 3})
			want("another field when it is gone", pursuit{N: 3}, pursuit{N: 3})
		})
	}
}

// TestNewsOfABirthComesWithIt sends reliable messages about an entity in the frame of its spawn over 100 ms. They are handled in
// the frame in which the client gets the entity, without a round trip more.
func TestNewsOfABirthComesWithIt(t *testing.T) {
	p := protocol()
	var n *nettest.Net
	var id netcode.NetworkID
	born, came, heard := 0, 0, []int(nil) // frames
	netcode.Handle(p, func(*netcode.Context, *birthNews) { heard = append(heard, n.Frame()) }, netcode.FromServer())
	n = nettest.New(t, nettest.Config{
		Protocol: p, Clients: 1, Link: transport.Link{Delay: 100 * time.Millisecond},
		Game: func(w *ecs.World, frame int) {
			if _, ok := n.Clients[0].Systems.Entity(id); ok && came == 0 && born > 0 {
				came = frame
			}
			if frame != 60 {
				return
			}
			build := generic.NewMap2[components.Replicated, position](w)
			born = frame
			id, _ = n.Server.Systems.ID(build.New())
			for _, mode := range []wire.Delivery{netcode.Reliable, netcode.ReliableOrdered} {
				for _, how := range []netcode.Option{{}, netcode.AtOnce()} {
					require.NoError(t, netcode.Send(n.Server.Server, netcode.ToAll(), &birthNews{1}, netcode.Over(mode), netcode.About(id), how))
				}
			}
		},
	})
	n.Run(3 * time.Second)
	t.Logf("sent in frame %d, entity seen in %d, handled in %v", born, came, heard)
	require.Len(t, heard, 4)
	for _, frame := range heard {
		require.LessOrEqual(t, frame, came)
		require.LessOrEqual(t, frame-born, 7, "100 ms are 6 frames of 60 Hz")
	}
}

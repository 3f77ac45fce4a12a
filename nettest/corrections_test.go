package nettest_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/authority"
	"github.com/arche-netcode/netcode/components"
	ecs "github.com/arche-netcode/netcode/internal/world"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/nettest"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/transport"
)

type bodyAt struct{ X float32 }
type loadAt struct{ X float32 }
type aimAt struct{ X float32 }

// partOf is a component of an entity.
func partOf[T any](w *ecs.World, e ecs.Entity) *T { return (*T)(ecs.Get(w, e, ecs.ComponentID[T](w))) }

// corrected is a world with one body that client 0 writes in each frame, seen by client 1.
type corrected struct {
	net      *nettest.Net
	body     ecs.Entity
	id       netcode.NetworkID
	named    bool // loadAt and Grant, else bodyAt and the owner.
	reported []*authority.ServerWroteError
}

// takenBack is a way in which the server takes the right of a client, and gives it back.
type takenBack struct {
	name  string
	owner bool // The body has a components.Owner.
	named bool
	give  func(c *corrected, to netcode.ClientID)
}

func waysToTake() []takenBack {
	return []takenBack{
		{"Grant", false, true, func(c *corrected, to netcode.ClientID) { authority.Grant(c.net.Server.Server, c.id, to) }},
		{"SetOwner", false, false, func(c *corrected, to netcode.ClientID) { c.net.Server.Server.SetOwner(c.id, to) }},
		{"Owner", true, false, func(c *corrected, to netcode.ClientID) {
			partOf[components.Owner](c.net.Server.World, c.body).Client = to
		}},
		{"Correct", true, false, func(c *corrected, _ netcode.ClientID) { authority.Correct(c.net.Server.Server, c.id) }},
		{"a plain write", true, false, func(*corrected, netcode.ClientID) {}},
	}
}

func newCorrected(t *testing.T, way *takenBack, seed uint64, link transport.Link) *corrected {
	p := netcode.NewProtocol()
	netcode.Replicate[bodyAt](p, authority.WrittenBy(authority.OwnerWrites))
	netcode.Replicate[aimAt](p, authority.WrittenBy(authority.OwnerWrites))
	netcode.Replicate[loadAt](p, authority.WrittenBy(authority.NamedWrites))
	netcode.Replicate[components.Owner](p)
	c := &corrected{named: way.named}
	c.net = nettest.New(t, nettest.Config{
		Protocol: p, Clients: 2, Seed: seed, Link: link,
		Setup: func(s *systems.ServerSystems, w *ecs.World) {
			bodies := generic.NewMap4[components.Replicated, bodyAt, loadAt, aimAt](w)
			c.body = bodies.New()
			if way.owner {
				ecs.Exchange(w, c.body, []ecs.ID{ecs.ComponentID[components.Owner](w)}, nil, nil)
			}
			s.Server.OnError(func(err error) {
				var wrote *authority.ServerWroteError
				if errors.As(err, &wrote) {
					c.reported = append(c.reported, wrote)
				}
			})
		},
	})
	require.True(t, c.net.RunUntil(5*time.Second, func() bool {
		var ok bool
		c.id, ok = c.net.Server.Systems.ID(c.body)
		return ok && c.net.Connected()
	}))
	c.give(way, c.author())
	require.True(t, c.net.RunUntil(5*time.Second, c.may))
	return c
}

// give gives the right to a client.
func (c *corrected) give(way *takenBack, to netcode.ClientID) {
	if way.owner {
		partOf[components.Owner](c.net.Server.World, c.body).Client = to
		return
	}
	way.give(c, to)
}

func (c *corrected) author() netcode.ClientID { return c.net.Clients[0].ID() }

func (c *corrected) may() bool {
	if c.named {
		return authority.MayWrite[loadAt](c.net.Clients[0].Client, c.id)
	}
	return authority.MayWrite[bodyAt](c.net.Clients[0].Client, c.id)
}

// on is the value in a world.
func (c *corrected) on(w *ecs.World, e ecs.Entity) *float32 {
	if c.named {
		return &partOf[loadAt](w, e).X
	}
	return &partOf[bodyAt](w, e).X
}

func (c *corrected) server() *float32 { return c.on(c.net.Server.World, c.body) }

func (c *corrected) client(t *testing.T, i int) *float32 {
	e, ok := c.net.Clients[i].Systems.Entity(c.id)
	require.True(t, ok)
	return c.on(c.net.Clients[i].World, e)
}

// move writes the next value where the client may.
func (c *corrected) move(t *testing.T) {
	if c.may() {
		*c.client(t, 0)++
	}
}

// The server takes a client's right, writes, and gives it back, within a tick or some frames later, while the client writes in each
// frame: what was on its way undoes nothing, and the author gets the server's value like everybody else.
func TestCorrectionsOfTheAuthorCount(t *testing.T) {
	links := []transport.Link{{}, {Delay: 80 * time.Millisecond}, {Delay: 60 * time.Millisecond, Jitter: 30 * time.Millisecond, Loss: .2}}
	for _, way := range waysToTake() {
		for gap := range 7 {
			for i, link := range links {
				t.Run(fmt.Sprintf("%s/%d/%d", way.name, gap, i), func(t *testing.T) {
					c := newCorrected(t, &way, uint64(gap*3+i+1), link)
					for range 20 {
						c.move(t)
						c.net.Step()
					}
					way.give(c, 0)
					*c.server() = 1000
					for range gap {
						c.move(t)
						c.net.Step()
						if way.name != "a plain write" && way.name != "Correct" {
							require.EqualValues(t, 1000, *c.server(), "nobody has the right")
						}
					}
					way.give(c, c.author())
					for range 90 {
						c.move(t)
						c.net.Step()
						require.GreaterOrEqual(t, *c.server(), float32(1000), "a write from before the correction came through")
					}
					require.True(t, c.net.RunUntil(5*time.Second, c.may))
					c.net.AssertConverge()
					require.GreaterOrEqual(t, *c.client(t, 0), float32(1000), "the author has the correction")
					require.Equal(t, *c.server(), *c.client(t, 0))
					require.Equal(t, *c.server(), *c.client(t, 1))
					before := *c.server()
					c.move(t)
					c.net.AssertConverge()
					require.Equal(t, before+1, *c.server(), "and it writes on")
					require.Zero(t, c.net.Server.Stats().NotAllowed)
					if way.name == "a plain write" || way.name == "Owner" && len(c.reported) > 0 {
						require.Len(t, c.reported, 1)
					} else {
						require.Empty(t, c.reported)
					}
				})
			}
		}
	}
}

// A correction of one component leaves what the client writes in another one: nothing of that is refused or put back.
func TestAWriteOfOneComponentCorrectsNoOther(t *testing.T) {
	way := waysToTake()[4]
	c := newCorrected(t, &way, 5, transport.Link{Delay: 80 * time.Millisecond})
	aim := func(w *ecs.World, e ecs.Entity) *float32 { return &partOf[aimAt](w, e).X }
	e, _ := c.net.Clients[0].Systems.Entity(c.id)
	last := float32(0)
	for i := range 60 {
		*aim(c.net.Clients[0].World, e) = float32(i + 1)
		c.move(t)
		if i == 20 {
			*c.server() = 1000
		}
		c.net.Step()
		require.EqualValues(t, i+1, *aim(c.net.Clients[0].World, e), "nothing of it is put back")
		if now := *aim(c.net.Server.World, c.body); c.net.Server.Server.TickDue() {
			require.True(t, now > last || i < 15, "frame %d: nothing of it is refused", i)
			last = now
		}
	}
	require.GreaterOrEqual(t, *c.client(t, 0), float32(1000))
	require.Len(t, c.reported, 1)
}

// A write of the server's game to a component that a client has the right to is reported once, with its entity, component and
// client. Corrections and the values that clients wrote are not.
func TestWritesOverAClientsRightAreReported(t *testing.T) {
	way := waysToTake()[4]
	c := newCorrected(t, &way, 6, transport.Link{Delay: 40 * time.Millisecond})
	for range 30 {
		c.move(t)
		c.net.Step()
	}
	authority.Correct(c.net.Server.Server, c.id)
	*c.server() = 500
	c.net.Run(time.Second)
	require.Empty(t, c.reported)
	corrections := authority.StatsOf(c.net.Server).Corrections
	for i := range 10 {
		*c.server() = 600 + float32(i)
		c.net.Run(time.Second / 4)
		require.Equal(t, *c.server(), *c.client(t, 0))
	}
	require.Equal(t, []*authority.ServerWroteError{{Entity: c.id, Component: "bodyAt", Client: c.author()}}, c.reported)
	require.Equal(t, corrections+10, authority.StatsOf(c.net.Server).Corrections)
	require.ErrorContains(t, c.reported[0], "call authority.Correct")
}

// A client releases what it wrote in the same frame: the write comes first, whatever the line does, and also what it wrote before.
func TestReleaseFollowsTheLastWrite(t *testing.T) {
	way := waysToTake()[0]
	links := []transport.Link{{}, {Delay: 80 * time.Millisecond}, {Delay: 50 * time.Millisecond, Jitter: 40 * time.Millisecond, Loss: .3}}
	for seed := range uint64(24) {
		c := newCorrected(t, &way, seed+1, links[seed%3])
		for range 5 {
			c.move(t)
			c.net.Step()
		}
		*c.client(t, 0) = 77
		require.NoError(t, authority.Release(c.net.Clients[0].Client, c.id))
		require.True(t, c.net.RunUntil(5*time.Second, func() bool { return authority.Granted(c.net.Server.Server, c.id) == 0 }))
		require.EqualValues(t, 77, *c.server(), "seed %d", seed)
		c.net.AssertConverge()
		require.EqualValues(t, 77, *c.client(t, 0), "seed %d", seed)
	}
}

// A release is not lost where the entity leaves the client's sight meanwhile, and gives up nothing that the game grants later.
func TestReleaseGivesUpWhatTheClientKnew(t *testing.T) {
	way := waysToTake()[0]
	c := newCorrected(t, &way, 3, transport.Link{Delay: 80 * time.Millisecond})
	server := c.net.Server.Server
	require.NoError(t, authority.Release(c.net.Clients[0].Client, c.id))
	require.True(t, server.Hide(c.author(), c.id))
	require.True(t, c.net.RunUntil(5*time.Second, func() bool { return authority.Granted(server, c.id) == 0 }))
	require.True(t, server.Show(c.author(), c.id))
	authority.Grant(server, c.id, c.author())
	require.True(t, c.net.RunUntil(5*time.Second, c.may))
	require.NoError(t, authority.Release(c.net.Clients[0].Client, c.id))
	c.net.Step()
	authority.Grant(server, c.id, 0)
	authority.Grant(server, c.id, c.author())
	c.net.Run(2 * time.Second)
	require.Equal(t, c.author(), authority.Granted(server, c.id), "granted after the right that was released")
	require.True(t, c.may())
}

// A correction in each tick makes no more lives than the server told: the client stays, whatever Config.MaxEntities is.
func TestCorrectionsAreNoEntities(t *testing.T) {
	p := netcode.NewProtocol()
	netcode.Replicate[bodyAt](p, authority.WrittenBy(authority.OwnerWrites))
	n := nettest.New(t, nettest.Config{Protocol: p, Clients: 1, Server: netcode.Config{MaxEntities: 16}})
	require.True(t, n.RunUntil(5*time.Second, n.Connected))
	server, client := n.Server.Server, n.Clients[0].Client
	ids := make([]netcode.NetworkID, 8)
	for i := range ids {
		ids[i] = server.Spawn()
		require.NoError(t, netcode.Put(server, ids[i], &bodyAt{}))
		require.True(t, server.SetOwner(ids[i], client.ID()))
	}
	for i := range 600 {
		for _, id := range ids {
			_ = authority.Write(client, id, &bodyAt{X: float32(i)}) // It may have no right yet.
			authority.Correct(server, id)
		}
		n.Step()
	}
	require.Equal(t, netcode.Connected, client.State())
	require.Greater(t, authority.StatsOf(server).Corrections, uint64(1000))
	n.Run(time.Second)
	writes := authority.StatsOf(server).Writes
	for _, id := range ids {
		require.NoError(t, authority.Write(client, id, &bodyAt{X: 7}))
	}
	n.Run(time.Second)
	require.Equal(t, writes+uint64(len(ids)), authority.StatsOf(server).Writes)
	require.Zero(t, server.Stats().NotAllowed)
}

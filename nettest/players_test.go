package nettest_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/authority"
	"github.com/arche-netcode/netcode/collections"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/extend"
	ecs "github.com/arche-netcode/netcode/internal/world"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/nettest"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
)

// crew is a game of players by name. Each owns a ship, which it steers and which has a hold, and is named for a crate.
type crew struct {
	t      *testing.T
	net    *nettest.Net
	random *rand.Rand
	hold   *collections.List[uint32]
	next   string                      // The name of who joins next.
	here   map[string]*nettest.Client  // The newest client of each player.
	ids    map[string]netcode.ClientID // By name, of the first connection.
	ships  map[string]ecs.Entity
	crates map[string]ecs.Entity
	holds  map[string][]uint32
	steers map[string]float32 // The last value that a player wrote.
	left   []netcode.ClientID
}

func newCrew(t *testing.T, then systems.WhileAway, config netcode.Config) *crew {
	c := &crew{
		t: t, random: rand.New(rand.NewPCG(3, 1)), here: map[string]*nettest.Client{}, ids: map[string]netcode.ClientID{},
		ships: map[string]ecs.Entity{}, crates: map[string]ecs.Entity{}, holds: map[string][]uint32{}, steers: map[string]float32{},
	}
	p := writtenProtocol()
	c.hold = collections.NewList[uint32](p, "hold")
	c.net = nettest.New(t, nettest.Config{
		Protocol: p, Seed: 9, Rate: 30, Link: transport.Link{Delay: 40 * time.Millisecond, Jitter: 10 * time.Millisecond, Loss: .1},
		Server: config, Client: netcode.Config{HandshakeTimeout: 20 * time.Second},
		Payload: func(int) []byte { return []byte(c.next) },
		Setup: func(s *systems.ServerSystems, w *ecs.World) {
			s.Away.Then = then
			s.Server.OnApprove(func(a *netcode.Approval) { a.Accept(string(a.Payload)) })
			s.Server.OnLeave(func(id netcode.ClientID) { c.left = append(c.left, id) })
			s.Server.OnConnect(func(id netcode.ClientID) {
				if !s.Server.Returned(id) {
					c.build(w, s.Server.Identity(id), id)
				}
			})
			s.OnSpawn(func(e ecs.Entity, id netcode.NetworkID) {
				for name, crate := range c.crates { // At most one.
					if crate == e {
						authority.Grant(s.Server, id, c.ids[name])
					}
				}
			})
		},
	})
	return c
}

// build gives a new player what it has.
func (c *crew) build(w *ecs.World, name string, id netcode.ClientID) {
	ships := generic.NewMap4[components.Replicated, components.Owner, steered, health](w)
	crates := generic.NewMap2[components.Replicated, carried](w)
	c.ids[name] = id
	c.ships[name] = ships.NewWith(&components.Replicated{}, &components.Owner{Client: id}, &steered{}, &health{Points: 100})
	c.crates[name] = crates.NewWith(&components.Replicated{}, &carried{})
}

// join lets a player connect, for the first time or again.
func (c *crew) join(name string) {
	c.next = name
	c.here[name] = c.net.Join()
}

// kill ends the process of a player.
func (c *crew) kill(name string) { c.net.Remove(c.here[name]) }

// ready reports whether a player has everything that is its own.
func (c *crew) ready(name string) bool {
	client := c.here[name]
	ship, ok := c.net.Server.Systems.ID(c.ships[name])
	crate, has := c.net.Server.Systems.ID(c.crates[name])
	return ok && has && client.State() == netcode.Connected && authority.MayWrite[steered](client.Client, ship) && authority.MayWrite[carried](client.Client, crate)
}

// play changes what the players have, in the server's world and in their own.
func (c *crew) play(names []string) {
	name := names[c.random.IntN(len(names))]
	id, ok := c.net.Server.Systems.ID(c.ships[name])
	if !ok {
		return
	}
	v := c.random.Uint32()
	require.NoError(c.t, c.hold.Of(c.net.Server.Server, id).Insert(0, v))
	if c.holds[name] = slices.Insert(c.holds[name], 0, v); len(c.holds[name]) > 20 {
		require.NoError(c.t, c.hold.Of(c.net.Server.Server, id).Remove(20))
		c.holds[name] = c.holds[name][:20]
	}
	c.steer(name, float32(c.random.IntN(100))/4)
}

// steer lets a player write its ship, if it may.
func (c *crew) steer(name string, x float32) {
	client := c.here[name]
	id, _ := c.net.Server.Systems.ID(c.ships[name])
	e, there := client.Systems.Entity(id)
	if !there || !authority.MayWrite[steered](client.Client, id) {
		return
	}
	own := generic.NewMap1[steered](client.World)
	own.Get(e).X = x
	c.steers[name] = x
}

// check compares everything that a player has with what it had.
func (c *crew) check(name string) {
	t, s, client := c.t, c.net.Server, c.here[name]
	id := c.ids[name]
	require.Equal(t, id, client.ID(), name)
	require.Equal(t, name, s.Identity(id))
	owners, steers := generic.NewMap1[components.Owner](s.World), generic.NewMap1[steered](s.World)
	require.Equal(t, id, owners.Get(c.ships[name]).Client)
	ship, _ := s.Systems.ID(c.ships[name])
	crate, _ := s.Systems.ID(c.crates[name])
	require.Equal(t, id, s.Owner(ship))
	require.Equal(t, id, authority.Granted(s.Server, crate))
	require.InDelta(t, c.steers[name], steers.Get(c.ships[name]).X, .01, name)
	for _, other := range c.here {
		require.Equal(t, other == client, authority.MayWrite[steered](other.Client, ship))
	}
	var hold []uint32
	for _, v := range c.hold.Of(client.Client, ship).All() {
		hold = append(hold, v)
	}
	require.Equal(t, c.holds[name], hold, name)
}

// all lets a condition come true for each player.
func (c *crew) all(names []string, within time.Duration, done func(string) bool) {
	c.t.Helper()
	i := 0
	require.True(c.t, c.net.RunUntil(within, func() bool {
		for i < len(names) && done(names[i]) {
			i++
		}
		return i == len(names)
	}), "player %d", i)
}

// A hundred players are killed and come back over a network that loses every tenth datagram: some while the server has not noticed, some after. Each is again
// who it was: its id, its entities, what it may write, its collections. The worlds are equal, and nothing of the earlier connections remains.
func TestHundredPlayersAreKilledAndReturn(t *testing.T) {
	count := sized(20, 100)
	c := newCrew(t, systems.KeepEntities, netcode.Config{Clients: 128, Keep: time.Minute, SilenceTimeout: 4 * time.Second, SendBudget: -1})
	var names []string
	for i := range count {
		names = append(names, fmt.Sprintf("player %d", i))
		c.join(names[i])
	}
	c.all(names, 20*time.Second, c.ready)
	wave := func() {
		back := map[string]time.Duration{} // When a player returns. Looked up only.
		var gone []string
		for i := range names {
			c.kill(names[i])
			delay := time.Duration(1+c.random.IntN(3)) * time.Second // Before the server's time is over: a takeover.
			if i%2 == 0 {
				delay += 6 * time.Second
			}
			back[names[i]], gone = c.net.Now()+delay, append(gone, names[i])
			for len(gone) > count*3/10 || i == len(names)-1 && len(gone) > 0 {
				c.net.Step()
				c.play(names)
				gone = slices.DeleteFunc(gone, func(name string) bool {
					if c.net.Now() < back[name] {
						return false
					}
					c.join(name)
					return true
				})
			}
		}
		c.all(names, 20*time.Second, c.ready)
	}
	wave()
	stats := c.net.Server.Stats()
	require.Greater(t, stats.TakenOver, uint64(count*2/5))
	require.Greater(t, stats.Returned, uint64(count*9/10))
	require.Greater(t, stats.SilenceTimeouts, uint64(count*2/5))
	for _, name := range names {
		c.steer(name, 7)
	}
	c.net.AssertConverge()
	for _, name := range names {
		c.check(name)
	}
	require.Empty(t, c.left)
	living := 0
	for range c.net.Server.Store().All {
		living++
	}
	require.Equal(t, 2*count, living)
	c.net.SetLink(transport.Link{Delay: 40 * time.Millisecond, Jitter: 10 * time.Millisecond, Loss: .1})
	wave()
	staysFlat(t, sized(1, 2), wave)
}

// away lets a player's connection break and waits until the server has noticed.
func (c *crew) away(name string) {
	c.t.Helper()
	c.kill(name)
	require.True(c.t, c.net.RunUntil(10*time.Second, func() bool { return extend.OfServer(c.net.Server).Session(c.ids[name]) == nil }))
	c.net.Run(200 * time.Millisecond)
}

// ownerOf is the owner of an entity of the server's world, and whether the entity is there.
func (c *crew) ownerOf(e ecs.Entity) (owner netcode.ClientID, alive bool) {
	w := c.net.Server.World
	if !w.Alive(e) {
		return 0, false
	}
	owners := generic.NewMap1[components.Owner](w)
	return owners.Get(e).Client, true
}

// Entities of a player that is away have the fate that the game chose, in the world and in none, and so has what it was named for.
func TestEntitiesWhileTheirPlayerIsAway(t *testing.T) {
	const keep = 20 * time.Second
	for _, test := range []struct {
		name    string
		then    systems.WhileAway
		to      netcode.ClientID
		owner   netcode.ClientID // While the player is away.
		alive   bool
		named   netcode.ClientID
		after   bool             // Alive when it has left for good.
		finally netcode.ClientID // The owner then.
	}{
		{"they wait", systems.KeepEntities, 0, 1, true, 1, false, 0},
		{"they are removed at once", systems.DespawnEntities, 0, 0, false, 0, false, 0},
		{"the server has them", systems.HandOver, 0, 0, true, 0, true, 0},
		{"another player has them", systems.HandOver, 2, 2, true, 2, true, 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := newCrew(t, test.then, netcode.Config{Keep: keep, SilenceTimeout: 3 * time.Second})
			c.net.Server.Systems.Away.To = func(client netcode.ClientID, _ ecs.Entity) netcode.ClientID {
				require.EqualValues(t, 1, client)
				return test.to
			}
			c.join("anna")
			c.all([]string{"anna"}, 10*time.Second, c.ready)
			c.join("bert")
			c.all([]string{"anna", "bert"}, 10*time.Second, c.ready)
			loose := c.net.Server.Spawn() // In no world.
			require.NoError(t, netcode.Put(c.net.Server.Server, loose, &health{}))
			c.net.Run(time.Second)
			require.True(t, c.net.Server.SetOwner(loose, 1))
			crate, _ := c.net.Server.Systems.ID(c.crates["anna"])

			c.away("anna")
			owner, alive := c.ownerOf(c.ships["anna"])
			require.Equal(t, test.alive, alive)
			require.Equal(t, test.owner, owner)
			require.Equal(t, test.named, authority.Granted(c.net.Server.Server, crate))
			require.Equal(t, test.alive, c.net.Server.Has(loose))
			require.Equal(t, test.owner, c.net.Server.Owner(loose))
			require.Empty(t, c.left)

			c.join("anna")
			require.True(t, c.net.RunUntil(10*time.Second, func() bool { return c.here["anna"].State() == netcode.Connected }))
			c.net.Run(time.Second)
			require.EqualValues(t, 1, c.here["anna"].ID())
			owner, alive = c.ownerOf(c.ships["anna"])
			require.Equal(t, test.alive, alive)
			if test.alive {
				require.EqualValues(t, 1, owner, "it is given back")
				require.EqualValues(t, 1, authority.Granted(c.net.Server.Server, crate))
				require.EqualValues(t, 1, c.net.Server.Owner(loose))
			}
			c.away("anna")
			c.net.Run(keep + time.Second)
			require.Equal(t, []netcode.ClientID{1}, c.left)
			owner, alive = c.ownerOf(c.ships["anna"])
			require.Equal(t, test.after, alive)
			require.Equal(t, test.finally, owner)
			require.Equal(t, test.after, c.net.Server.Has(loose))
			require.Equal(t, test.finally, authority.Granted(c.net.Server.Server, crate))
			owner, alive = c.ownerOf(c.ships["bert"])
			require.True(t, alive)
			require.EqualValues(t, 2, owner)
		})
	}
}

// An entity or a right that the game gave to another client while its player was away stays there.
func TestEntitiesThatWereGivenAwayMeanwhileAreNotGivenBack(t *testing.T) {
	c := newCrew(t, systems.HandOver, netcode.Config{Keep: time.Minute, SilenceTimeout: 3 * time.Second})
	c.join("anna")
	c.all([]string{"anna"}, 10*time.Second, c.ready)
	c.join("bert")
	c.all([]string{"anna", "bert"}, 10*time.Second, c.ready)
	c.away("anna")
	owners := generic.NewMap1[components.Owner](c.net.Server.World)
	owners.Get(c.ships["anna"]).Client = 2
	crate, _ := c.net.Server.Systems.ID(c.crates["anna"])
	authority.Grant(c.net.Server.Server, crate, 2)
	c.join("anna")
	require.True(t, c.net.RunUntil(10*time.Second, func() bool { return c.here["anna"].State() == netcode.Connected }))
	c.net.Run(time.Second)
	owner, _ := c.ownerOf(c.ships["anna"])
	require.EqualValues(t, 2, owner)
	require.EqualValues(t, 2, authority.Granted(c.net.Server.Server, crate))
}

// A player comes back in the tick in which the game gives its entity to nobody, so the entity is nobody's.
func TestAnEntityThatIsGivenBackAndTakenInOneTick(t *testing.T) {
	c := newCrew(t, systems.HandOver, netcode.Config{Keep: time.Minute, SilenceTimeout: 3 * time.Second})
	owners := generic.NewMap1[components.Owner](c.net.Server.World)
	taken := false
	c.net.Server.Systems.Add(tick.PreLateUpdate, systems.Func(func(*ecs.World) {
		if ship := c.ships["anna"]; !taken && c.net.Server.Returned(1) && owners.Get(ship).Client == 1 {
			owners.Get(ship).Client, taken = 0, true
		}
	}))
	c.join("anna")
	c.all([]string{"anna"}, 10*time.Second, c.ready)
	c.away("anna")
	c.join("anna")
	require.True(t, c.net.RunUntil(10*time.Second, func() bool { return taken }))
	c.net.Run(time.Second)
	owner, _ := c.ownerOf(c.ships["anna"])
	require.Zero(t, owner)
	ship, _ := c.net.Server.Systems.ID(c.ships["anna"])
	require.Zero(t, c.net.Server.Owner(ship))
	require.False(t, authority.MayWrite[steered](c.here["anna"].Client, ship))
}

// A takeover leaves everything as it is, whatever the choice.
func TestTakeoverMovesNoEntity(t *testing.T) {
	for _, then := range []systems.WhileAway{systems.KeepEntities, systems.DespawnEntities, systems.HandOver} {
		c := newCrew(t, then, netcode.Config{})
		c.join("anna")
		c.all([]string{"anna"}, 10*time.Second, c.ready)
		c.join("anna")
		c.all([]string{"anna"}, 10*time.Second, c.ready)
		require.EqualValues(t, 1, c.net.Server.Stats().TakenOver)
		owner, alive := c.ownerOf(c.ships["anna"])
		require.True(t, alive)
		require.EqualValues(t, 1, owner)
	}
}

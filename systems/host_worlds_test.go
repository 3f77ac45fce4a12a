package systems_test

import (
	"testing"

	"github.com/mlange-42/arche/ecs"
	"github.com/mlange-42/arche/generic"
	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/authority"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/input"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/transport"
)

// A host whose player has a world of its own is a server and a client in one process, over memory as over any network: two
// loops, the server's first. The player is one of all, its world is another than the server's, holds what the player may see
// and nothing else, and what it writes there arrives; another client notices no difference.
func TestHostOfTwoWorlds(t *testing.T) {
	e := newEnds()
	p := netcode.NewProtocol()
	netcode.Replicate[position](p, authority.WrittenBy(authority.OwnerWrites))
	netcode.Replicate[components.Owner](p)
	input.Register[push](p)
	var heard []netcode.ClientID
	netcode.Handle(p, func(ctx *netcode.Context, _ *ping) { heard = append(heard, ctx.Sender) })
	server, err := netcode.NewServer(p, netcode.Config{})
	require.NoError(t, err)
	server.OnError(e.report)
	group := systems.NewServer(server, e.listen(t, serverAddress), e.clock)
	pushed := map[netcode.ClientID]int{}
	group.Add(netcode.StageUpdate, each(func() {
		for id := range server.Clients {
			if in, ok := input.Of[push](server, id); ok && server.TickDue() {
				pushed[id] += int(in.X)
			}
		}
	}))
	w := e.world()
	e.run(w, group)
	bodies := map[netcode.ClientID]ecs.Entity{}
	server.OnConnect(func(id netcode.ClientID) {
		mapper := generic.NewMap3[components.Replicated, components.Owner, position](w)
		bodies[id] = mapper.NewWith(&components.Replicated{}, &components.Owner{Client: id}, &position{})
	})
	var players []*systems.ClientSystems
	for range 2 { // the host's player, and another
		c, err := netcode.NewClient(p, netcode.Config{})
		require.NoError(t, err)
		c.OnError(e.report)
		players = append(players, systems.NewClient(c, e.listen(t, transport.Addr{}), e.clock))
		e.run(e.world(), players[len(players)-1])
		require.NoError(t, c.Connect(serverAddress))
	}
	at := func(i int, body ecs.Entity) *position { // what a player's world has of a body
		id, _ := group.ID(body)
		there, ok := players[i].Entity(id)
		if !ok {
			return nil
		}
		mapper := generic.NewMap1[position](e.worlds[1+i])
		return mapper.Get(there)
	}
	e.until(t, func() bool {
		return len(bodies) == 2 && at(0, bodies[1]) != nil && at(0, bodies[2]) != nil && at(1, bodies[1]) != nil
	})
	require.Nil(t, players[0].Client.Hosted(), "it is nobody's special case")
	for i, player := range players {
		require.EqualValues(t, 1+i, player.Client.ID())
		require.NoError(t, netcode.Send(player.Client, netcode.ToServer(), &ping{1}))
		require.NoError(t, input.Set(player.Client, &push{X: 1}))
		id, _ := group.ID(bodies[player.Client.ID()])
		e.until(t, func() bool { return authority.MayWrite[position](player.Client, id) })
		at(i, bodies[player.Client.ID()]).X = float32(5 + i)
	}
	truth := generic.NewMap1[position](w)
	e.until(t, func() bool {
		return truth.Get(bodies[1]).X == 5 && truth.Get(bodies[2]).X == 6 && at(0, bodies[2]).X == 6 && at(1, bodies[1]).X == 5
	})
	e.until(t, func() bool { return len(heard) == 2 && pushed[1] > 10 && pushed[2] > 10 })
	require.ElementsMatch(t, []netcode.ClientID{1, 2}, heard)
	secret, _ := group.ID(bodies[2])
	require.True(t, server.Hide(1, secret), "its own player may see as little as any other")
	e.until(t, func() bool { return at(0, bodies[2]) == nil })
	require.True(t, w.Alive(bodies[2]))
	require.NotNil(t, at(1, bodies[2]))
	players[0].Client.Close()
	e.until(t, func() bool { return players[0].Client.Closed() })
	require.Empty(t, e.errors)
}

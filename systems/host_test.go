package systems_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/authority"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/errs"
	"github.com/arche-netcode/netcode/input"
	ecs "github.com/arche-netcode/netcode/internal/world"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/rewind"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
)

type push struct {
	X int8 `net:"min=-1,max=1"`
}
type question struct{ A, B uint32 }
type sum struct{ C uint32 }

// party is a host and one client that connects to it, with the same game code.
type party struct {
	ends
	host    *systems.HostSystems
	guest   *systems.ClientSystems
	heard   map[string][]netcode.ClientID // By receiver: the senders.
	bodies  map[netcode.ClientID]ecs.Entity
	pushed  map[netcode.ClientID]int
	players []*netcode.Client
}

func newParty(t *testing.T) *party {
	g := &party{ends: newEnds(), heard: map[string][]netcode.ClientID{},
		bodies: map[netcode.ClientID]ecs.Entity{}, pushed: map[netcode.ClientID]int{}}
	p := netcode.NewProtocol()
	netcode.Replicate[position](p, authority.WrittenBy(authority.OwnerWrites))
	netcode.Replicate[components.Owner](p)
	input.Register[push](p)
	netcode.Handle(p, func(ctx *netcode.Context, m *ping) {
		name := "client"
		if server, ok := ctx.End.(*netcode.Server); ok {
			name = "server"
			require.NoError(t, netcode.Send(server, netcode.ToAll(), m))
			require.NoError(t, netcode.Reply(ctx, m))
		} else if ctx.Local == g.host.Client.ID() {
			name = "host"
		}
		g.heard[name] = append(g.heard[name], ctx.Sender)
	}, netcode.AtStage(tick.Update))
	netcode.Answer(p, func(_ *netcode.Context, q *question, s *sum) error {
		if s.C = q.A + q.B; s.C == 0 {
			return errors.New("nothing")
		}
		return nil
	})
	worlds := []*ecs.World{g.world(), g.world()}
	server, err := netcode.NewServer(p, netcode.Config{})
	require.NoError(t, err)
	server.OnError(g.report)
	server.OnConnect(func(id netcode.ClientID) {
		bodies := generic.NewMap3[components.Replicated, components.Owner, position](g.worlds[0])
		g.bodies[id] = bodies.NewWith(&components.Replicated{}, &components.Owner{Client: id}, &position{})
	})
	for range 2 {
		c, err := netcode.NewClient(p, netcode.Config{})
		require.NoError(t, err)
		c.OnError(g.report)
		g.players = append(g.players, c)
	}
	g.host, err = systems.NewHost(server, g.players[0], g.listen(t, serverAddress), g.clock)
	require.NoError(t, err)
	g.host.Add(tick.Update, each(func() {
		for id := range server.Clients {
			if in, ok := input.Of[push](server, id); ok && server.TickDue() {
				g.pushed[id] += int(in.X)
			}
		}
	}))
	g.guest = systems.NewClient(g.players[1], g.listen(t, transport.Addr{}), g.clock)
	require.NoError(t, g.players[1].Connect(serverAddress))
	g.run(worlds[0], g.host)
	g.run(worlds[1], g.guest)
	return g
}

// The same calls have the same effect for a host's player and a remote player.
func TestHostIsAClientLikeAnyOther(t *testing.T) {
	g := newParty(t)
	g.until(t, func() bool { return len(g.bodies) == 2 && g.players[1].State() == netcode.Connected })
	host, guest := g.players[0], g.players[1]
	require.Equal(t, netcode.Connected, host.State())
	require.EqualValues(t, 1, host.ID())
	require.EqualValues(t, 2, guest.ID())
	require.Same(t, g.host.Server, host.Hosted())
	var all []netcode.ClientID
	for id := range g.host.Server.Clients {
		all = append(all, id)
	}
	require.Equal(t, []netcode.ClientID{1, 2}, all)

	for _, c := range g.players { // The same game code.
		require.NoError(t, netcode.Send(c, netcode.ToServer(), &ping{7}))
		require.NoError(t, input.Set(c, &push{X: 1}))
	}
	g.until(t, func() bool { return len(g.heard["host"]) == 3 && len(g.heard["client"]) == 3 })
	require.ElementsMatch(t, []netcode.ClientID{1, 2}, g.heard["server"], "the sender is who it is, and not the server")
	require.Equal(t, []netcode.ClientID{0, 0, 0}, g.heard["host"], "a reply, and what went to all, twice")
	g.until(t, func() bool { return g.pushed[1] > 20 && g.pushed[2] > 20 })

	for _, c := range g.players {
		var got uint32
		var failed error
		ask := func(a, b uint32) {
			require.NoError(t, netcode.Call(context.Background(), c, 0, &question{a, b}, func(s *sum, err error) {
				if failed = err; err == nil {
					got = s.C
				}
			}))
		}
		ask(3, 4)
		g.until(t, func() bool { return got == 7 })
		ask(0, 0)
		g.until(t, func() bool { return failed != nil })
		require.ErrorContains(t, failed, "nothing")
		got, failed = 0, nil
		require.NoError(t, netcode.Call(context.Background(), g.host.Server, c.ID(), &question{5, 6}, func(s *sum, err error) {
			require.NoError(t, err)
			got = s.C
		}))
		g.until(t, func() bool { return got == 11 })
	}

	// Both write their own components, the host in its only world.
	g.until(t, func() bool {
		id, _ := g.host.ID(g.bodies[2])
		return authority.MayWrite[position](guest, id)
	})
	mine, _ := g.host.ID(g.bodies[1])
	theirs, _ := g.host.ID(g.bodies[2])
	require.True(t, authority.MayWrite[position](host, mine))
	require.False(t, authority.MayWrite[position](host, theirs))
	require.ErrorIs(t, authority.Write(host, mine, &position{}), authority.ErrSharedWorld, "it assigns to the component instead")
	require.ErrorIs(t, authority.Write(host, theirs, &position{}), authority.ErrNotAllowed)
	positions, far := generic.NewMap1[position](g.worlds[0]), generic.NewMap1[position](g.worlds[1])
	positions.Get(g.bodies[1]).X = 5
	twin, _ := g.guest.Entity(theirs)
	far.Get(twin).X = 6
	other, _ := g.guest.Entity(mine)
	g.until(t, func() bool { return positions.Get(g.bodies[2]).X == 6 && far.Get(other).X == 5 })
	for range 4 {
		g.step()
	}
	require.True(t, rewind.At(g.host.Server, 1, func(view *rewind.View) {
		require.False(t, view.Clamped())
		at, ok := rewind.Of[position](view, theirs)
		require.True(t, ok)
		require.EqualValues(t, 6, at.X)
	}))
	require.Empty(t, g.errors)
}

func TestHostLeavesAndIsKicked(t *testing.T) {
	g := newParty(t)
	g.until(t, func() bool { return len(g.bodies) == 2 })
	host, server := g.players[0], g.host.Server
	require.ErrorIs(t, netcode.Host(server, host), errs.ErrHost, "it plays already")
	var left []netcode.ClientID
	server.OnDisconnect(func(id netcode.ClientID, _ *netcode.CloseError) { left = append(left, id) })
	host.Close()
	require.True(t, host.Closed())
	require.ErrorIs(t, host.Err(), errs.ReasonClosed)
	g.step()
	require.NoError(t, netcode.Host(server, host))
	require.EqualValues(t, 3, host.ID(), "no client has the id of an earlier one")
	require.True(t, server.Kick(3, "enough"))
	require.Equal(t, []netcode.ClientID{1, 3}, left)
	require.ErrorIs(t, host.Err(), errs.ReasonKicked)
	require.NoError(t, netcode.Host(server, host))
	g.step()
	g.host.Close()
	g.until(t, g.host.Closed)
	require.Equal(t, []netcode.ClientID{1, 3, 4, 2}, left)
	require.ErrorIs(t, netcode.Host(server, host), errs.ErrHost, "the server is closing")
	require.ErrorIs(t, netcode.Send(host, netcode.ToServer(), &ping{}), errs.ErrNotConnected)
}

// level is a message with a field that is rounded and has a range.
type level struct {
	V float32 `net:"min=0,max=1,step=0.25"`
}

// table is a server with a local and a remote player, who both see an entity. It has the messages that the three
// received.
type table struct {
	ends
	host   *systems.HostSystems
	server *netcode.Server
	player *netcode.Client
	remote *netcode.Client
	id     netcode.NetworkID
	act    func() // Called once in stage Update.
	frame  int
	heard  []string
}

// newTable makes a table, with a remote player if remote is true.
func newTable(t *testing.T, remote bool) *table {
	g := &table{ends: newEnds()}
	p := netcode.NewProtocol()
	netcode.Replicate[position](p)
	netcode.Handle(p, func(ctx *netcode.Context, m *level) {
		g.heard = append(g.heard, fmt.Sprintf("%d<%d %s +%d %v", ctx.Local, ctx.Sender, ctx.Stage, g.frame, m.V))
	})
	netcode.Handle(p, func(ctx *netcode.Context, m *ping) {
		_ = netcode.Reply(ctx, &level{0.5}, netcode.AtStage(tick.Stage(m.Number)))
	})
	newClient := func() *netcode.Client {
		c, err := netcode.NewClient(p, netcode.Config{})
		require.NoError(t, err)
		c.OnError(g.report)
		return c
	}
	server, err := netcode.NewServer(p, netcode.Config{})
	require.NoError(t, err)
	server.OnError(g.report)
	g.server, g.player = server, newClient()
	w := g.world()
	g.host, err = systems.NewHost(server, g.player, g.listen(t, serverAddress), g.clock)
	require.NoError(t, err)
	things := generic.NewMap2[components.Replicated, position](w)
	e := things.NewWith(&components.Replicated{}, &position{})
	g.host.Add(tick.Initialization, systems.Func(func(*ecs.World) { g.frame++ }))
	g.host.Add(tick.Update, systems.Func(func(*ecs.World) {
		g.id, _ = g.host.ID(e)
		if act := g.act; act != nil {
			g.act = nil
			act()
		}
	}))
	g.run(w, g.host)
	if remote {
		g.remote = newClient()
		require.NoError(t, g.remote.Connect(serverAddress))
		g.run(g.world(), systems.NewClient(g.remote, g.listen(t, transport.Addr{}), g.clock))
	}
	g.until(t, func() bool {
		stats, ok := server.ClientStats(2)
		return g.player.State() == netcode.Connected && !g.id.IsZero() && (!remote || ok && stats.Synced)
	})
	require.True(t, server.SetOwner(g.id, 1))
	return g
}

// in runs frames. In the first one, in stage Update, it calls send. It returns the messages handled before send returned,
// and in ten frames.
func (g *table) in(send func()) (atOnce, all []string) {
	g.heard = nil
	g.act = func() {
		g.frame = 0
		send()
		atOnce = append(atOnce, g.heard...)
	}
	for range 10 {
		g.step()
	}
	return atOnce, g.heard
}

// A message to a player at the server itself, or to oneself, is handled by one rule. In the present stage the handler
// runs before Send returns, in a later stage in this frame, in an earlier one in the next frame. The remote player gets
// the same messages.
func TestRecipientsAtAHost(t *testing.T) {
	type ids []netcode.ClientID
	for _, remote := range []bool{false, true} {
		g := newTable(t, remote)
		s, c := g.server, g.player
		send := func(end netcode.Endpoint, to netcode.Recipient, how ...netcode.Option) func(tick.Stage) error {
			return func(stage tick.Stage) error {
				return netcode.Send(end, to, &level{0.5}, append(how, netcode.AtStage(stage))...)
			}
		}
		cases := map[string]struct {
			send   func(stage tick.Stage) error
			here   string // The recipient in this process.
			remote bool   // The remote player gets it too.
		}{
			"To the player":    {send(s, netcode.To(1)), "1<0", false},
			"ToMany":           {send(s, netcode.ToMany(ids{0, 1})), "1<0", false},
			"ToAll":            {send(s, netcode.ToAll()), "1<0", true},
			"ToAllBut":         {send(s, netcode.ToAllBut(2)), "1<0", false},
			"ToOwner":          {send(s, netcode.ToOwner(g.id)), "1<0", false},
			"ToSeers":          {send(s, netcode.ToSeers(g.id)), "1<0", true},
			"ToSelf":           {send(s, netcode.ToSelf()), "0<0", false},
			"To the server":    {send(s, netcode.To(0)), "0<0", false},
			"ToServer, player": {send(c, netcode.ToServer()), "0<1", false},
			"To(0), player":    {send(c, netcode.To(0)), "0<1", false},
			"ToSelf, player":   {send(c, netcode.ToSelf()), "1<1", false},
			"Reply to the player": {func(stage tick.Stage) error { return netcode.Send(c, netcode.ToServer(), &ping{uint32(stage)}) },
				"1<0", false},
			"About":           {send(s, netcode.ToAll(), netcode.About(g.id)), "1<0", true},
			"after all state": {send(s, netcode.ToAll(), netcode.AfterAllState()), "1<0", true},
			"ordered":         {send(s, netcode.ToAll(), netcode.Over(netcode.ReliableOrdered)), "1<0", true},
		}
		for name, test := range cases {
			for stage, want := range map[tick.Stage]string{
				tick.EarlyUpdate: "EarlyUpdate +1", tick.Update: "Update +0", tick.PostLateUpdate: "PostLateUpdate +0",
			} {
				atOnce, all := g.in(func() { require.NoError(t, test.send(stage)) })
				what := fmt.Sprintf("%s in %s, remote %v", name, stage, remote)
				heard := test.here + " " + want + " 0.5"
				if stage == tick.Update {
					require.Equal(t, []string{heard}, atOnce, what)
				} else {
					require.Empty(t, atOnce, what)
				}
				require.Contains(t, all, heard, what)
				others := slices.DeleteFunc(slices.Clone(all), func(other string) bool { return other == heard })
				if test.remote && remote {
					require.Len(t, others, 1, what)
					require.Contains(t, others[0], "2<0 ", what)
					require.Contains(t, others[0], " 0.5", what)
				} else {
					require.Empty(t, others, what)
				}
			}
		}
		require.Empty(t, g.errors)
	}
}

// Illegal values of a message are refused, and others rounded, for every recipient and stage.
func TestValuesAreCheckedForEveryRecipientAndStage(t *testing.T) {
	g := newTable(t, true)
	for name, to := range map[string]struct {
		end netcode.Endpoint
		to  netcode.Recipient
	}{
		"self": {g.server, netcode.ToSelf()}, "player": {g.server, netcode.To(1)}, "remote": {g.server, netcode.To(2)}, "all": {g.server, netcode.ToAll()},
		"server": {g.player, netcode.ToServer()}, "player's self": {g.player, netcode.ToSelf()},
	} {
		for _, stage := range []tick.Stage{tick.EarlyUpdate, tick.Update, tick.PostLateUpdate} {
			for _, bad := range []float32{7, -1, float32(math.NaN()), float32(math.Inf(1))} {
				_, all := g.in(func() {
					var field *errs.FieldError
					require.ErrorAs(t, netcode.Send(to.end, to.to, &level{bad}, netcode.AtStage(stage)), &field, "%s in %s: %v", name, stage, bad)
				})
				require.Empty(t, all, "%s in %s: %v", name, stage, bad)
			}
			_, all := g.in(func() { require.NoError(t, netcode.Send(to.end, to.to, &level{0.6}, netcode.AtStage(stage))) })
			require.NotEmpty(t, all)
			for _, heard := range all {
				require.Contains(t, heard, " 0.5", "%s in %s is rounded", name, stage)
			}
		}
	}
}

// A local player joins in the first frame: hooks that are set after NewHost are called, and no handler runs before the
// loop.
func TestHostJoinsInItsFirstFrame(t *testing.T) {
	e := newEnds()
	p := netcode.NewProtocol()
	var log []string
	netcode.Handle(p, func(*netcode.Context, *ping) { log = append(log, "handled") })
	server, err := netcode.NewServer(p, netcode.Config{})
	require.NoError(t, err)
	player, err := netcode.NewClient(p, netcode.Config{})
	require.NoError(t, err)
	server.OnConnect(func(id netcode.ClientID) {
		require.NoError(t, netcode.Send(server, netcode.To(id), &ping{}))
	})
	group, err := systems.NewHost(server, player, e.listen(t, serverAddress), e.clock)
	require.NoError(t, err)
	require.Equal(t, netcode.Disconnected, player.State())
	require.Nil(t, player.Hosted())
	server.OnConnect(func(id netcode.ClientID) { log = append(log, fmt.Sprint("server: ", id)) })
	player.OnConnect(func(id netcode.ClientID) { log = append(log, fmt.Sprint("player: ", id)) })
	group.Add(tick.Initialization, systems.Func(func(*ecs.World) { log = append(log, "frame") }))
	require.Empty(t, log)
	e.run(e.world(), group)
	e.step()
	require.Equal(t, []string{"server: 1", "player: 1", "handled", "frame"}, log)
	require.Equal(t, netcode.Connected, player.State())
	require.Same(t, server, player.Hosted())
}

// Both ends get the error of a player that cannot join in the first frame.
func TestHostThatCannotJoin(t *testing.T) {
	e := newEnds()
	p, other := netcode.NewProtocol(), netcode.NewProtocol()
	server, err := netcode.NewServer(p, netcode.Config{})
	require.NoError(t, err)
	stranger, err := netcode.NewClient(other, netcode.Config{})
	require.NoError(t, err)
	_, err = systems.NewHost(server, stranger, e.listen(t, serverAddress), e.clock)
	require.ErrorIs(t, err, errs.ErrHost, "of another protocol")
	player, err := netcode.NewClient(p, netcode.Config{})
	require.NoError(t, err)
	require.NoError(t, player.Connect(serverAddress))
	_, err = systems.NewHost(server, player, e.listen(t, transport.Addr{}), e.clock)
	require.ErrorIs(t, err, errs.ErrHost, "it connects elsewhere")
	player.Close()
	group, err := systems.NewHost(server, player, e.listen(t, transport.Addr{}), e.clock)
	require.NoError(t, err)
	server.OnError(e.report)
	player.OnError(e.report)
	server.Close(0)
	e.run(e.world(), group)
	e.step()
	e.step()
	require.Len(t, e.errors, 2)
	for _, err := range e.errors {
		require.ErrorIs(t, err, errs.ErrHost)
	}
}

// A host whose player has its own world is a server and a client in one process. The server's loop runs first. The
// player's world has only what it may see, and its writes arrive. Another client notices no difference.
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
	group.Add(tick.Update, each(func() {
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
	for range 2 { // The host's player, and another.
		c, err := netcode.NewClient(p, netcode.Config{})
		require.NoError(t, err)
		c.OnError(e.report)
		players = append(players, systems.NewClient(c, e.listen(t, transport.Addr{}), e.clock))
		e.run(e.world(), players[len(players)-1])
		require.NoError(t, c.Connect(serverAddress))
	}
	at := func(i int, body ecs.Entity) *position { // The position in a player's world.
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

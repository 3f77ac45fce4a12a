package systems_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/mlange-42/arche/ecs"
	"github.com/mlange-42/arche/generic"
	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/transport"
)

// level is a message with a field that is rounded and has a range.
type level struct {
	V float32 `net:"min=0,max=1,step=0.25"`
}

// table is a server with a player in its process and one at the other end of a network, who both see an entity, and what
// the three of them were sent.
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

// newTable has a remote player too where that is asked for.
func newTable(t *testing.T, remote bool) *table {
	g := &table{ends: newEnds()}
	p := netcode.NewProtocol()
	netcode.Replicate[position](p)
	netcode.Handle(p, func(ctx *netcode.Context, m *level) {
		g.heard = append(g.heard, fmt.Sprintf("%d<%d %s +%d %v", ctx.Local, ctx.Sender, ctx.Stage, g.frame, m.V))
	})
	netcode.Handle(p, func(ctx *netcode.Context, m *ping) {
		_ = netcode.Reply(ctx, &level{0.5}, netcode.InStage(netcode.Stage(m.Number)))
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
	g.host.Add(netcode.StageInitialization, systems.Func(func(*ecs.World) { g.frame++ }))
	g.host.Add(netcode.StageUpdate, systems.Func(func(*ecs.World) {
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

// in runs frames in the first of which, in stage Update, something is sent, and returns what was handled before that call returned, and
// all that was handled in ten frames.
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

// Each way to send to a player at the server itself, or to oneself, has one rule: in the present stage the handler runs before Send
// returns, in a later one in this frame, in an earlier one in the next frame. The remote player is sent the same.
func TestRecipientsAtAHost(t *testing.T) {
	type ids []netcode.ClientID
	for _, remote := range []bool{false, true} {
		g := newTable(t, remote)
		s, c := g.server, g.player
		send := func(end netcode.Endpoint, to netcode.Recipient, how ...netcode.How) func(netcode.Stage) error {
			return func(stage netcode.Stage) error {
				return netcode.Send(end, to, &level{0.5}, append(how, netcode.InStage(stage))...)
			}
		}
		cases := map[string]struct {
			send   func(stage netcode.Stage) error
			here   string // The recipient in this process.
			remote bool   // The remote player is one too.
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
			"Reply to the player": {func(stage netcode.Stage) error { return netcode.Send(c, netcode.ToServer(), &ping{uint32(stage)}) },
				"1<0", false},
			"About":           {send(s, netcode.ToAll(), netcode.About(g.id)), "1<0", true},
			"after all state": {send(s, netcode.ToAll(), netcode.AfterAllState()), "1<0", true},
			"ordered":         {send(s, netcode.ToAll(), netcode.Via(netcode.ReliableOrdered)), "1<0", true},
		}
		for name, test := range cases {
			for stage, want := range map[netcode.Stage]string{
				netcode.StageEarlyUpdate: "EarlyUpdate +1", netcode.StageUpdate: "Update +0", netcode.StagePostLateUpdate: "PostLateUpdate +0",
			} {
				atOnce, all := g.in(func() { require.NoError(t, test.send(stage)) })
				what := fmt.Sprintf("%s in %s, remote %v", name, stage, remote)
				heard := test.here + " " + want + " 0.5"
				if stage == netcode.StageUpdate {
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

// Values that a message cannot have are refused, and the others rounded, whoever the message is for and whatever its stage.
func TestValuesAreCheckedForEveryRecipientAndStage(t *testing.T) {
	g := newTable(t, true)
	for name, to := range map[string]struct {
		end netcode.Endpoint
		to  netcode.Recipient
	}{
		"self": {g.server, netcode.ToSelf()}, "player": {g.server, netcode.To(1)}, "remote": {g.server, netcode.To(2)}, "all": {g.server, netcode.ToAll()},
		"server": {g.player, netcode.ToServer()}, "player's self": {g.player, netcode.ToSelf()},
	} {
		for _, stage := range []netcode.Stage{netcode.StageEarlyUpdate, netcode.StageUpdate, netcode.StagePostLateUpdate} {
			for _, bad := range []float32{7, -1, float32(math.NaN()), float32(math.Inf(1))} {
				_, all := g.in(func() {
					var field *netcode.FieldError
					require.ErrorAs(t, netcode.Send(to.end, to.to, &level{bad}, netcode.InStage(stage)), &field, "%s in %s: %v", name, stage, bad)
				})
				require.Empty(t, all, "%s in %s: %v", name, stage, bad)
			}
			_, all := g.in(func() { require.NoError(t, netcode.Send(to.end, to.to, &level{0.6}, netcode.InStage(stage))) })
			require.NotEmpty(t, all)
			for _, heard := range all {
				require.Contains(t, heard, " 0.5", "%s in %s is rounded", name, stage)
			}
		}
	}
}

// A player at the server itself joins in the first frame: hooks that are set after NewHost are called, and handlers do not run before
// the loop does.
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
	group.Add(netcode.StageInitialization, systems.Func(func(*ecs.World) { log = append(log, "frame") }))
	require.Empty(t, log)
	e.run(e.world(), group)
	e.step()
	require.Equal(t, []string{"server: 1", "player: 1", "handled", "frame"}, log)
	require.Equal(t, netcode.Connected, player.State())
	require.Same(t, server, player.Hosted())
}

// What keeps a player from joining in the first frame is told to both ends.
func TestHostThatCannotJoin(t *testing.T) {
	e := newEnds()
	p, other := netcode.NewProtocol(), netcode.NewProtocol()
	server, err := netcode.NewServer(p, netcode.Config{})
	require.NoError(t, err)
	stranger, err := netcode.NewClient(other, netcode.Config{})
	require.NoError(t, err)
	_, err = systems.NewHost(server, stranger, e.listen(t, serverAddress), e.clock)
	require.ErrorIs(t, err, netcode.ErrHost, "of another protocol")
	player, err := netcode.NewClient(p, netcode.Config{})
	require.NoError(t, err)
	require.NoError(t, player.Connect(serverAddress))
	_, err = systems.NewHost(server, player, e.listen(t, transport.Addr{}), e.clock)
	require.ErrorIs(t, err, netcode.ErrHost, "it connects elsewhere")
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
		require.ErrorIs(t, err, netcode.ErrHost)
	}
}

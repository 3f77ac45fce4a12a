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

type aim struct{ N uint32 }

type armour struct{ N uint32 }

// ownGame is a client that writes its armour, sets its input and sends a message about its entity in every frame, and a server
// that compares them when the message is handled.
type ownGame struct {
	ends
	server  *systems.ServerSystems
	client  *systems.ClientSystems
	how     []netcode.How
	id      netcode.NetworkID
	sending bool

	sent, handled            int
	beforeState, beforeInput int
}

func newOwnGame(t *testing.T, how ...netcode.How) *ownGame {
	g := &ownGame{ends: newEnds(), how: how}
	p := netcode.NewProtocol()
	netcode.Replicate[hitPoints](p)
	netcode.Replicate[armour](p, authority.WrittenBy(authority.OwnerWrites))
	netcode.Replicate[components.Owner](p)
	input.Register[aim](p)
	netcode.Handle(p, g.handle, netcode.FromClient())
	server, err := netcode.NewServer(p, netcode.Config{TickRate: 30})
	require.NoError(t, err)
	g.server = systems.NewServer(server, g.listen(t, serverAddress), g.clock)
	client, err := netcode.NewClient(p, netcode.Config{})
	require.NoError(t, err)
	g.client = systems.NewClient(client, g.listen(t, transport.Addr{}), g.clock)
	require.NoError(t, client.Connect(serverAddress))
	server.OnError(g.report)
	client.OnError(g.report)
	w := g.world()
	server.OnConnect(func(id netcode.ClientID) {
		bodies := generic.NewMap4[components.Replicated, components.Owner, armour, hitPoints](w)
		bodies.NewWith(&components.Replicated{}, &components.Owner{Client: id}, &armour{}, &hitPoints{})
	})
	g.client.OnSpawn(func(_ ecs.Entity, id netcode.NetworkID) { g.id = id })
	g.client.Add(netcode.StageUpdate, systems.Func(g.act))
	g.run(w, g.server)
	g.run(g.world(), g.client)
	g.until(t, func() bool { return !g.id.IsZero() && !authority.Rights(client, g.id).IsZero() })
	for range 120 { // until the clock of the inputs has settled
		g.step()
	}
	return g
}

// act is the client's system of stage Update.
func (g *ownGame) act(w *ecs.World) {
	if !g.sending {
		return
	}
	g.sent++
	e, _ := g.client.Entity(g.id)
	armours := generic.NewMap1[armour](w)
	armours.Get(e).N = uint32(g.sent)
	if err := input.Set(g.client.Client, &aim{uint32(g.sent)}); err != nil {
		g.report(err)
	}
	if err := netcode.Send(g.client.Client, netcode.ToServer(), &hitMessage{uint32(g.sent)}, append(g.how, netcode.About(g.id))...); err != nil {
		g.report(err)
	}
}

// handle is the server's handler.
func (g *ownGame) handle(ctx *netcode.Context, m *hitMessage) {
	g.handled++
	e, _ := g.server.Entity(ctx.Entity)
	armours := generic.NewMap1[armour](g.worlds[0])
	if armours.Get(e).N < m.N {
		g.beforeState++
	}
	if in, _ := input.Of[aim](g.server.Server, ctx.Sender); in.N < m.N {
		g.beforeInput++
	}
}

func (g *ownGame) play(frames int) {
	for i := range 2 * frames {
		g.sending = i < frames
		g.step()
	}
}

// A client's message is handled after what the client wrote of the entity in the same frame, and not before the tick of the input
// that it set.
func TestMessageOfClientWaitsForItsStateAndInput(t *testing.T) {
	for name, how := range map[string][]netcode.How{
		"unreliable": nil,
		"ordered":    {netcode.Via(netcode.ReliableOrdered)},
		"all state":  {netcode.AfterAllState()},
	} {
		t.Run(name, func(t *testing.T) {
			g := newOwnGame(t, how...)
			g.play(120)
			require.Empty(t, g.errors)
			require.Equal(t, 120, g.sent)
			require.Equal(t, g.sent, g.handled)
			require.Zero(t, g.beforeState, "messages handled before what their sender wrote, of %d", g.handled)
			require.Zero(t, g.beforeInput, "messages handled before the tick of their input, of %d", g.handled)
		})
	}
	g := newOwnGame(t, netcode.AtOnce())
	g.play(120)
	require.Equal(t, g.sent, g.handled)
	require.Positive(t, g.beforeState, "AtOnce overtakes")
	require.Positive(t, g.beforeInput, "AtOnce overtakes")
}

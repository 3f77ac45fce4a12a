package guide_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	ecs "github.com/arche-netcode/netcode/internal/world"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/loading"
	"github.com/arche-netcode/netcode/nettest"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
)

// The code between the marks is that of matches.md.

// begin guide
// Match is a singleton: clients draw the lobby, the loading screen or the game by it.
type Match struct{ Phase, Level uint32 }

const inLobby, isLoading, isPlaying = 0, 1, 2

type Ready struct{} // a player's "ready" in the lobby

func matchProtocol(p *netcode.Protocol, ready func(player netcode.ClientID)) {
	netcode.Replicate[Match](p)
	loading.Register(p)
	netcode.Handle(p, func(ctx *netcode.Context, _ *Ready) { ready(ctx.Sender) },
		netcode.FromClient(), netcode.Over(netcode.Reliable), netcode.AtStage(tick.Update))
}

// end guide

// begin guide
type matches struct {
	server *netcode.Server
	world  *ecs.World
	match  ecs.Entity // has Match and Replicated
	ready  map[netcode.ClientID]bool
	build  func(level uint32)            // removes the old level's entities and adds the new one's
	enter  func(player netcode.ClientID) // spawns the player's avatar
}

func (m *matches) start() {
	loading.OnLoaded(m.server, func(player netcode.ClientID) {
		if m.phase().Phase == isPlaying {
			m.enter(player) // late, or joined in the middle of the match
		}
	})
	m.server.OnDisconnect(func(player netcode.ClientID, _ *netcode.CloseError) { delete(m.ready, player); m.maybeBegin() })
}

func (m *matches) onReady(player netcode.ClientID) {
	m.ready[player] = true
	m.maybeBegin()
}

func (m *matches) maybeBegin() {
	players := 0
	for range m.server.Clients {
		players++
	}
	if m.phase().Phase == inLobby && players > 0 && len(m.ready) == players {
		m.begin(1)
	}
}

// begin begins a level: the first, the next, or the same once more.
func (m *matches) begin(level uint32) {
	*m.phase() = Match{isLoading, level}
	m.build(level) // in the frame of loading.Begin
	loading.Begin(m.server, level, 20*time.Second, func(late []netcode.ClientID) {
		m.phase().Phase = isPlaying
		for player := range m.server.Clients {
			if !slices.Contains(late, player) {
				m.enter(player)
			}
		}
	})
}

// end takes everybody back to the lobby.
func (m *matches) end() {
	clear(m.ready)
	*m.phase() = Match{Phase: inLobby}
}

func (m *matches) phase() *Match {
	all := generic.NewMap1[Match](m.world)
	return all.Get(m.match)
}

// end guide

// begin guide
func loadLevels(client *netcode.Client, loop *systems.Runner, read func(level uint32)) {
	loading.Of(client).OnLevel(func(level uint32, done func()) {
		go func() { // the loop goes on: the loading screen moves, and the connection lives
			read(level)
			loop.Do(done)
		}()
	})
}

// end guide

// Two players are ready, load, play, and play the next level. A third joins in the middle; a fourth never loads.
func TestMatches(t *testing.T) {
	var m *matches
	var entered []netcode.ClientID
	p := netcode.NewProtocol()
	matchProtocol(p, func(player netcode.ClientID) { m.onReady(player) })
	never := -1
	n := nettest.New(t, nettest.Config{
		Protocol: p, Clients: 2, Seed: 3, Link: transport.Link{Delay: 30 * time.Millisecond, Loss: .05},
		Setup: func(s *systems.ServerSystems, w *ecs.World) {
			m = &matches{
				server: s.Server, world: w, ready: map[netcode.ClientID]bool{}, build: func(uint32) {},
				enter: func(player netcode.ClientID) { entered = append(entered, player) },
			}
			build := generic.NewMap2[Match, components.Replicated](w)
			m.match = build.New()
			m.start()
		},
		SetupClient: func(i int, c *systems.ClientSystems, _ *ecs.World) {
			loading.Of(c.Client).OnLevel(func(_ uint32, done func()) {
				if i != never {
					done()
				}
			})
		},
	})
	require.True(t, n.RunUntil(5*time.Second, n.Connected))
	a, b := n.Clients[0], n.Clients[1]
	require.NoError(t, netcode.Send(a.Client, netcode.ToServer(), &Ready{}))
	n.Run(time.Second)
	require.Equal(t, Match{Phase: inLobby}, *m.phase())
	require.NoError(t, netcode.Send(b.Client, netcode.ToServer(), &Ready{}))
	require.True(t, n.RunUntil(3*time.Second, func() bool { return m.phase().Phase == isPlaying }))
	require.ElementsMatch(t, []netcode.ClientID{a.ID(), b.ID()}, entered)

	third := n.Join()
	require.True(t, n.RunUntil(3*time.Second, func() bool { return len(entered) == 3 }))
	require.Equal(t, third.ID(), entered[2])

	never = 3
	n.Join()
	require.True(t, n.RunUntil(3*time.Second, n.Connected))
	m.begin(2)
	require.True(t, n.RunUntil(21*time.Second, func() bool { return m.phase().Phase == isPlaying }))
	require.Equal(t, Match{isPlaying, 2}, *m.phase())
	require.Len(t, entered, 6)

	m.end()
	for _, c := range n.Clients[:3] {
		require.NoError(t, netcode.Send(c.Client, netcode.ToServer(), &Ready{}))
	}
	n.Run(time.Second)
	require.Equal(t, uint32(inLobby), m.phase().Phase)
	n.Clients[3].Close() // The one who is not ready leaves.
	require.True(t, n.RunUntil(3*time.Second, func() bool { return m.phase().Phase == isPlaying }))
	var _ = loadLevels
}

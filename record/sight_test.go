package record_test

import (
	"bytes"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/interest"
	ecs "github.com/arche-netcode/netcode/internal/world"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/nettest"
	"github.com/arche-netcode/netcode/record"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/tick"
)

// seenBy returns the state visible to a client: the visible entities, mapped by was, with their visible rows.
func seenBy(s *netcode.Server, client netcode.ClientID, was func(netcode.NetworkID) netcode.NetworkID) map[netcode.NetworkID]snapshot.Mask {
	seen := map[netcode.NetworkID]snapshot.Mask{}
	for id := range s.Store().All {
		if s.Visible(client, id) {
			seen[was(id)] = s.VisibleRows(client, id).Intersect(s.Store().Mask(id))
		}
	}
	return seen
}

// everything is seenBy for a client that sees everything.
func everything(s *netcode.Server, was func(netcode.NetworkID) netcode.NetworkID) map[netcode.NetworkID]snapshot.Mask {
	seen := map[netcode.NetworkID]snapshot.Mask{}
	for id := range s.Store().All {
		seen[was(id)] = s.Store().Mask(id)
	}
	return seen
}

// changing is an interest that shows each client different and constantly changing entities and components.
type changing struct{ store *snapshot.Store }

func (c *changing) Prepare(s *snapshot.Store) { c.store = s }
func (c *changing) Update(client netcode.ClientID, v *snapshot.View) {
	v.ShowNew(false)
	for id := range c.store.All {
		n := uint64(id.Index)*7 + uint64(client)*3 + uint64(c.store.Tick())/20
		if n%3 == 0 {
			v.Hide(id)
			continue
		}
		v.Show(id)
		v.See(id, snapshot.AllRows())
		if n%4 == 0 {
			v.See(id, snapshot.AllRows().Without(int(n%2)))
		}
	}
}
func (c *changing) Leave(netcode.ClientID) {}

// viewedGame is a recording with the visibility of its clients.
type viewedGame struct {
	file   bytes.Buffer
	seen   map[tick.Tick]map[netcode.ClientID]map[netcode.NetworkID]snapshot.Mask
	owners map[tick.Tick]map[netcode.NetworkID]netcode.ClientID
	gone   netcode.ClientID // it left after 5 s
}

func recordViews(t *testing.T) *viewedGame {
	g := &viewedGame{seen: map[tick.Tick]map[netcode.ClientID]map[netcode.NetworkID]snapshot.Mask{}, owners: map[tick.Tick]map[netcode.NetworkID]netcode.ClientID{}}
	n := nettest.New(t, nettest.Config{
		Protocol: replayProtocol(), Clients: 3, Rate: replayRate, Server: netcode.Config{TickRate: replayRate}, Game: replayGame(2, 4),
		Setup: func(s *systems.ServerSystems, w *ecs.World) { s.Server.SetInterest(&changing{}) },
	})
	stop, err := record.Start(n.Server.Server, &g.file, record.Views())
	require.NoError(t, err)
	for frame := range 8 * replayRate {
		if frame == 5*replayRate+10 { // within a chunk
			g.gone = n.Clients[1].ID()
			require.True(t, n.Server.Kick(g.gone, ""))
		}
		if frame%11 == 0 {
			for id := range n.Server.Store().All {
				if id.Index%5 == uint32(frame/11%5) {
					n.Server.SetOwner(id, netcode.ClientID(1+frame%3))
				}
			}
		}
		n.Step()
		now := n.Server.Store().Tick()
		seen, owners := map[netcode.ClientID]map[netcode.NetworkID]snapshot.Mask{}, map[netcode.NetworkID]netcode.ClientID{}
		for client := range n.Server.Clients {
			seen[client] = seenBy(n.Server.Server, client, itself)
		}
		for id := range n.Server.Store().All {
			owners[id] = n.Server.Store().Owner(id)
		}
		g.seen[now], g.owners[now] = seen, owners
	}
	require.NoError(t, stop())
	return g
}

// A spectator that follows a player sees exactly the entities and components that the player saw; others see what their
// interest allows.
func TestSpectatorsFollowAPlayersView(t *testing.T) {
	g := recordViews(t)
	var p *record.Player
	n := nettest.New(t, nettest.Config{
		Protocol: replayProtocol(), Clients: 2, Rate: replayRate, Server: netcode.Config{TickRate: replayRate},
		Setup: func(s *systems.ServerSystems, w *ecs.World) {
			var err error
			p, err = record.Play(s.Server, bytes.NewReader(g.file.Bytes()))
			require.NoError(t, err)
			s.Server.SetInterest(p.Interest(interest.New(interest.All(), interest.Despawn)))
		},
	})
	p.Pause(true)
	p.Seek(p.First() + 60)
	n.Run(time.Second)
	first, second := n.Clients[0].ID(), n.Clients[1].ID()
	players := p.Players()
	require.Len(t, players, 3)
	require.Contains(t, players, g.gone)
	players = slices.DeleteFunc(players, func(c netcode.ClientID) bool { return c == g.gone })
	parts := 0
	for i, now := range []tick.Tick{p.First() + 70, p.First() + 71, p.First() + 130, p.First() + 20, p.First() + 5*replayRate + 15, p.Last() - 3, p.Last()} {
		p.Seek(now)
		player := players[i%2]
		p.Follow(first, player)
		n.Step()
		seen := seenBy(n.Server.Server, first, p.Recorded)
		require.Equal(t, g.seen[now][player], seen, "tick %d", now)
		require.Equal(t, everything(n.Server.Server, p.Recorded), seenBy(n.Server.Server, second, p.Recorded), "the other one is free")
		n.AssertConverge()
		require.Equal(t, slices.Sorted(maps.Keys(g.seen[now])), p.Players())
		for id, owner := range g.owners[now] {
			require.Equal(t, owner, p.Owner(id))
			require.Zero(t, n.Server.Owner(p.ID(id)), "spectators own nothing")
		}
		for id, mask := range seen {
			if store := n.Server.Store(); mask != store.Mask(p.ID(id)) {
				parts++
			}
		}
	}
	require.NotZero(t, parts, "some were seen in part")
	p.Follow(first, g.gone)
	n.Step()
	require.Equal(t, everything(n.Server.Server, p.Recorded), seenBy(n.Server.Server, first, p.Recorded))
	p.Follow(first, 0)
	n.Step()
	require.Equal(t, everything(n.Server.Server, p.Recorded), seenBy(n.Server.Server, first, p.Recorded))
	n.AssertConverge()
}

// During playback the view changes with every tick; the server's own entities are visible too.
func TestAFollowedViewChangesInPlay(t *testing.T) {
	g := recordViews(t)
	var p *record.Player
	n := nettest.New(t, nettest.Config{
		Protocol: replayProtocol(), Clients: 1, Rate: replayRate, Server: netcode.Config{TickRate: replayRate},
		Setup: func(s *systems.ServerSystems, w *ecs.World) {
			var err error
			p, err = record.Play(s.Server, bytes.NewReader(g.file.Bytes()))
			require.NoError(t, err)
			s.Server.SetInterest(p.Interest(nil))
			things := generic.NewMap1[components.Replicated](w)
			things.NewWith(&components.Replicated{})
		},
	})
	n.Run(time.Second)
	p.Seek(p.First() + 40)
	player := p.Players()[0]
	p.Follow(n.Clients[0].ID(), player)
	for range 100 {
		n.Step()
		seen := seenBy(n.Server.Server, n.Clients[0].ID(), p.Recorded)
		require.Contains(t, seen, netcode.NetworkID{}, "the server's own entity")
		delete(seen, netcode.NetworkID{})
		require.Equal(t, g.seen[p.Tick()][player], seen, "tick %d", p.Tick())
	}
	p.Follow(n.Clients[0].ID(), 0)
	n.Step()
	require.Equal(t, everything(n.Server.Server, p.Recorded), seenBy(n.Server.Server, n.Clients[0].ID(), p.Recorded), "it is free again")
}

// Without Views a recording has no clients.
func TestWithoutViewsNobodyIsFollowed(t *testing.T) {
	g := recordGame(t, 3, 2)
	n, p := replayOf(t, g.file.Bytes(), 1)
	n.Server.SetInterest(p.Interest(nil))
	n.Run(time.Second)
	require.Empty(t, p.Players())
	p.Follow(n.Clients[0].ID(), 1)
	n.Step()
	require.Len(t, seenBy(n.Server.Server, n.Clients[0].ID(), p.Recorded), n.Server.Store().Len())
}

// A player that leaves and returns within a second, under the same id, is followed as before.
func TestAPlayerWhoReturnsIsFollowed(t *testing.T) {
	var file bytes.Buffer
	seen := map[tick.Tick]map[netcode.NetworkID]snapshot.Mask{}
	n := nettest.New(t, nettest.Config{
		Protocol: replayProtocol(), Clients: 1, Rate: replayRate, Game: replayGame(2, 4),
		Server:  netcode.Config{TickRate: replayRate, Keep: time.Minute, SilenceTimeout: 200 * time.Millisecond, KeepAlive: 50 * time.Millisecond},
		Payload: func(int) []byte { return []byte("the same") },
		Setup: func(s *systems.ServerSystems, w *ecs.World) {
			s.Server.SetInterest(&changing{})
			s.Server.OnApprove(func(a *netcode.Approval) { a.Accept(string(a.Payload)) })
		},
	})
	n.Run(time.Second)
	player := n.Clients[0].ID()
	stop, err := record.Start(n.Server.Server, &file, record.Views())
	require.NoError(t, err)
	n.Kill(n.Clients[0])
	left := 0
	for range replayRate {
		n.Step()
		if slices.Contains(slices.Collect(n.Server.Clients), player) {
			seen[n.Server.Store().Tick()] = seenBy(n.Server.Server, player, itself)
		} else if left++; left == 2 {
			n.Join()
		}
	}
	require.NoError(t, stop())
	require.Equal(t, player, n.Clients[len(n.Clients)-1].ID())
	require.NotZero(t, left)
	replay, p := replayOf(t, file.Bytes(), 1)
	replay.Server.SetInterest(p.Interest(nil))
	replay.Run(time.Second)
	p.Pause(true)
	spectator := replay.Clients[0].ID()
	p.Follow(spectator, player)
	for now, want := range seen {
		p.Seek(now)
		replay.Step()
		require.Equal(t, want, seenBy(replay.Server.Server, spectator, p.Recorded), "tick %d", now)
	}
}

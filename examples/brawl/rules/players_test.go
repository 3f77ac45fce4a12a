package rules_test

import (
	"strings"
	"testing"
	"time"

	"github.com/mlange-42/arche/ecs"
	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/examples/brawl/rules"
	"github.com/arche-netcode/netcode/examples/brawl/view"
	"github.com/arche-netcode/netcode/nettest"
	"github.com/arche-netcode/netcode/predict"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/wire"
)

// A player whose program crashes in the middle of a match returns to its avatar, with its kills; one who comes late plays, and has the level;
// a spectator sees all and has no avatar.
func TestPlayersComeAndGo(t *testing.T) {
	a := newArena(t, 2, 0, transport.Link{Delay: 50 * time.Millisecond, Loss: .05}, time.Minute)
	require.True(t, a.RunUntil(10*time.Second, func() bool { return a.match.Playing() == 2 }))
	a.ready(t)
	a.phase(t, rules.Play, 20*time.Second)
	require.True(t, a.RunUntil(time.Minute, func() bool {
		s := view.New(a.players[0]).Scene()
		return s.Own >= 0 && s.Avatars[s.Own].Deaths > 0
	}))
	a.Run(time.Second)
	before, id := own(a.players[0]), a.Clients[0].ID()
	a.Kill(a.Clients[0])
	a.Run(3 * time.Second)
	a.payload = func(int) []byte { return payload(0) }
	back := a.Join()
	require.True(t, a.RunUntil(10*time.Second, func() bool { return plays(a.players[2]) }))
	require.Equal(t, id, back.ID(), "the same player")
	after := own(a.players[2])
	require.Equal(t, before.Team, after.Team)
	require.GreaterOrEqual(t, after.Deaths, before.Deaths)
	require.Equal(t, 2, a.match.Playing())

	a.payload = nil
	a.Join()
	require.True(t, a.RunUntil(10*time.Second, func() bool { return plays(a.players[3]) }), "who comes late plays")
	require.EqualValues(t, rules.Play, view.New(a.players[3]).Scene().Clock.Phase)

	a.payload = func(int) []byte { return rules.Payload("the eyes of the world", "eyes", true) }
	a.Join()
	require.True(t, a.RunUntil(10*time.Second, func() bool { return len(view.New(a.players[4]).Scene().Avatars) == 3 }))
	require.Equal(t, -1, view.New(a.players[4]).Scene().Own)
	require.Equal(t, 3, a.match.Playing())
	require.Empty(t, a.wrong)
}

// The lobby ends when all who are there are ready, also when the only one who is not ready leaves.
func TestTheLobbyWaitsForNobodyWhoLeft(t *testing.T) {
	a := newArena(t, 2, 0, transport.Link{Delay: 20 * time.Millisecond}, time.Minute)
	require.True(t, a.RunUntil(10*time.Second, func() bool { return a.match.Playing() == 2 }))
	require.NoError(t, netcode.Send(a.Clients[0].Client, netcode.ToServer(), &rules.Ready{Is: true}))
	a.Run(3 * time.Second)
	require.EqualValues(t, rules.Lobby, a.match.Clock().Phase)
	require.Zero(t, a.match.Clock().Ticks)
	a.Kill(a.Clients[1])
	a.phase(t, rules.Play, 40*time.Second)
}

// plays reports whether a player sees its own avatar.
func plays(p *rules.Player) bool { return view.New(p).Scene().Own >= 0 }

// own is the card of a player's own avatar.
func own(p *rules.Player) rules.Avatar {
	if s := view.New(p).Scene(); s.Own >= 0 {
		return s.Avatars[s.Own].Avatar
	}
	return rules.Avatar{}
}

// Chat reaches all with the name of who says it, at most five lines in five seconds, without what cannot be printed.
func TestChat(t *testing.T) {
	a := newArena(t, 2, 0, transport.Link{Delay: 20 * time.Millisecond}, time.Minute)
	require.True(t, a.RunUntil(10*time.Second, func() bool { return a.match.Playing() == 2 }))
	var lines []rules.News
	netcode.On(a.Clients[1].Client, func(_ *netcode.Context, n *rules.News) {
		if n.Kind == rules.Chat {
			lines = append(lines, *n)
		}
	})
	say := func(text string) {
		require.NoError(t, netcode.Send(a.Clients[0].Client, netcode.ToServer(), &rules.Say{Text: wire.NewText[[128]byte](text)}))
	}
	say(" hello\x07\n ")
	say("\x01 ")
	for range 20 {
		say("spam")
	}
	a.Run(time.Second)
	require.Equal(t, 5, len(lines))
	require.Equal(t, "bot 0", lines[0].Who.String())
	require.Equal(t, "hello", lines[0].Text.String())
	a.Run(6 * time.Second)
	say("again")
	a.Run(time.Second)
	require.Equal(t, 6, len(lines))
}

// A bad payload is refused with a reason.
func TestBadPayloads(t *testing.T) {
	for _, text := range []string{"", "short\nx\nfalse", strings.Repeat("x", 40) + "\nx\nfalse", "sixteen bytes ok\n" + strings.Repeat("n", 90)} {
		a := newArena(t, 0, 0, transport.Link{}, time.Minute)
		a.payload = func(int) []byte { return []byte(text) }
		c := a.Join()
		a.Run(time.Second)
		require.Equal(t, netcode.Disconnected, c.State(), text)
		require.ErrorContains(t, c.Err(), "no player of Brawl")
	}
}

// A host plays in the server's world, and one who joins sees both.
func TestAHostPlays(t *testing.T) {
	var host, guest *rules.Player
	n := nettest.New(t, nettest.Config{
		Protocol: rules.Protocol(), Clients: 1, Seed: 2, Link: transport.Link{Delay: 50 * time.Millisecond}, Server: rules.ServerConfig(), Client: rules.ClientConfig(),
		Host: true, HostPayload: payload(9), Payload: payload,
		SetupHost: func(h *systems.HostSystems, w *ecs.World) {
			host = rules.Host(h, rules.Serve(h.ServerSystems, w, rules.Options{}))
			host.Act = func() rules.Control { return rules.Control{X: 1, AimX: 1, Fire: true} }
		},
		SetupClient: func(_ int, c *systems.ClientSystems, w *ecs.World) { guest = rules.Join(c, w) },
	})
	shots := 0
	host.Sim.OnEffect(func(predict.Effect) { shots++ })
	require.True(t, n.RunUntil(5*time.Second, func() bool {
		return len(view.New(guest).Scene().Avatars) == 2 && len(view.New(host).Scene().Avatars) == 2
	}))
	from := view.New(host).Scene().Avatars[view.New(host).Scene().Own].Body
	n.Run(time.Second)
	scene := view.New(host).Scene()
	require.Greater(t, scene.Avatars[scene.Own].X, from.X+3)
	require.Positive(t, shots)
	require.NotEmpty(t, view.New(guest).Scene().Bolts, "the guest sees the host's shots")
}

// Levels are whole: 16 rows of 24, with walls or goals around, seats for both teams, and a ball.
func TestLevels(t *testing.T) {
	for _, l := range rules.Levels() {
		for y := float32(1); y < rules.Height; y += 2 {
			require.Contains(t, "#R", string(l.At(1, y)), l.Name)
			require.Contains(t, "#B", string(l.At(rules.Width-1, y)), l.Name)
		}
		count := map[byte]int{}
		for y := float32(1); y < rules.Height; y += 2 {
			for x := float32(1); x < rules.Width; x += 2 {
				count[l.At(x, y)]++
			}
		}
		require.Equal(t, count['r'], count['b'], l.Name)
		require.Equal(t, count['R'], count['B'], l.Name)
		require.GreaterOrEqual(t, count['r'], 4, l.Name)
		require.Equal(t, 1, count['o'], l.Name)
		require.EqualValues(t, '#', l.At(-1, 5))
		require.EqualValues(t, '#', l.At(5, rules.Height+1))
	}
}

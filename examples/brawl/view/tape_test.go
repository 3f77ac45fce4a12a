package view_test

import (
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
)

// Bots score and shoot a player who stands still, at a round trip of 200 ms with 10 % loss. The replay of a goal shows again what this player saw, up to
// the ball in the goal, and then the game goes on; the killcam shows the killer from before the shot on, until the player is back.
func TestReplays(t *testing.T) {
	var p *rules.Player
	n := nettest.New(t, nettest.Config{
		Protocol: rules.Protocol(), Clients: 1, Seed: 4, Link: transport.Link{Delay: 100 * time.Millisecond, Loss: .1}, Server: rules.ServerConfig(), Client: rules.ClientConfig(),
		Payload: func(int) []byte { return rules.Payload("a secret of a client", "Ann", false) },
		Setup: func(s *systems.ServerSystems, w *ecs.World) {
			predict.Simulate(s, predict.Config{}, rules.Serve(s, w, rules.Options{Bots: 3, Length: time.Minute, Limit: 200}).Rules.Systems()...)
		},
		SetupClient: func(_ int, c *systems.ClientSystems, w *ecs.World) { p = rules.Join(c, w) },
	})
	w := watcher{t: t, view: view.New(p), tape: &view.Tape{}, net: n, balls: map[rules.Body]bool{}}
	netcode.On(p.Client, func(_ *netcode.Context, news *rules.News) {
		if news.Kind == rules.Goal {
			w.tape.Goal(n.Now())
		}
	})
	n.Each(w.frame)
	require.True(t, n.RunUntil(10*time.Second, func() bool { return w.view.Scene().Own >= 0 }))
	require.NoError(t, netcode.Send(p.Client, netcode.ToServer(), &rules.Ready{Is: true}))
	require.True(t, n.RunUntil(50*time.Second, func() bool { return w.goals > 1 && w.kills > 1 }), "%d goals, %d kills", w.goals, w.kills)
}

// watcher follows the tape of a player.
type watcher struct {
	t            *testing.T
	view         *view.View
	tape         *view.Tape
	net          *nettest.Net
	balls        map[rules.Body]bool // Where the ball was shown.
	last         view.Kind
	began        time.Duration
	alive, inNet bool // Seen in the present replay.
	moved        bool // It is not the present.
	goals, kills int  // Replays that were whole.
}

func (w *watcher) frame() {
	now, s := w.net.Now(), w.view.Scene()
	w.balls[s.Ball] = true
	w.tape.Record(now, s)
	if w.tape.Kind != w.last {
		w.end(now, s)
		w.last, w.began, w.alive, w.inNet, w.moved = w.tape.Kind, now, false, false, false
	}
	past := w.tape.Replay(now)
	if past == nil {
		return
	}
	require.True(w.t, w.balls[past.Ball], "it shows what this player saw")
	w.moved = w.moved || past.Ball != s.Ball
	w.inNet = w.inNet || past.Ball.X < 3.5 || past.Ball.X > rules.Width-3.5
	if past.Own >= 0 && past.Avatars[past.Own].Dead == 0 && w.tape.Kind == view.LastKill {
		w.alive = true
		require.GreaterOrEqual(w.t, past.Find(w.tape.Killer), 0, "the killer is in the picture")
		require.NotEqual(w.t, past.Avatars[past.Own].Team, past.Avatars[past.Find(w.tape.Killer)].Team)
	}
}

// end judges a replay that is over.
func (w *watcher) end(now time.Duration, s *view.Scene) {
	switch w.last {
	case view.LastGoal:
		if now-w.began > 3*time.Second { // The own death ends one before.
			require.True(w.t, w.inNet && w.moved, "the ball is seen in the goal")
			w.goals++
		}
	case view.LastKill:
		require.True(w.t, w.alive, "it begins before the shot")
		require.Less(w.t, now-w.began, 2*time.Second, "the player is not kept from its game")
		w.kills++
	}
}

package nats_test

import (
	"testing"
	"time"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/fleet/nats"
	"github.com/stretchr/testify/require"
)

// A match whose process is killed comes up in another process. Its players find it by themselves, have their avatars again, and are told
// how much was lost.
func TestAMatchOutlivesItsProcess(t *testing.T) {
	t.Parallel()
	here := start(t, nats.Config{Server: "here", Embed: nats.Embed{Listen: "127.0.0.1:0"}})
	first := spawn(t, "game", "NAME=first", "URL="+here.NATS())
	first.said(t, "ready")
	first.runs(t, "final")
	second := spawn(t, "game", "NAME=second", "URL="+here.NATS())
	second.said(t, "ready")
	anna := play(t.Context(), t, "anna", func() string {
		m, _ := here.Match("final")
		return m.Address
	})
	bert := play(t.Context(), t, "bert", func() string {
		m, _ := here.Match("final")
		return m.Address
	})
	eventually(t, "both play", func() bool {
		return anna.see(func(p *player) bool { return p.x > 30 })() && bert.see(func(p *player) bool { return p.x > 30 })()
	})
	eventually(t, "the directory has both", func() bool {
		a, ok := here.Player("anna")
		b, too := here.Player("bert")
		return ok && too && a == nats.Presence{User: "anna", Server: "first", Match: "final"} && b.Match == "final"
	})
	eventually(t, "the match is saved", func() bool {
		m, _ := here.Match("final")
		return m.Saved > 30
	})
	x := float32(0)
	anna.see(func(p *player) bool { p.longest, p.news, x = 0, time.Now(), p.x; return true })()
	killed := time.Now()
	first.kill()
	second.said(t, "took final from first")
	t.Logf("the match is up elsewhere after %v", time.Since(killed).Round(time.Millisecond))
	for _, p := range []*player{anna, bert} {
		eventually(t, "a player is back, and plays on", p.see(func(p *player) bool { return p.connects == 2 && len(p.lost) == 1 && p.x > x+30 }))
	}
	for _, p := range []*player{anna, bert} {
		eventually(t, "each sees both avatars", p.see(func(p *player) bool { return p.bodies == 2 }))
		p.see(func(p *player) bool {
			require.EqualValues(t, p.ids[0], p.y, "the avatar is the one that the player had")
			require.Greater(t, p.ids[1], netcode.ClientID(2), "ids are not given twice")
			return true
		})()
	}
	anna.see(func(p *player) bool {
		require.Less(t, p.lost[0], 30*time.Second)
		t.Logf("longest time without news %v, told lost %v, of saves every 200 ms", p.longest.Round(time.Millisecond), p.lost[0].Round(time.Millisecond))
		if *heavy {
			require.Less(t, p.longest, 3*time.Second)
		}
		return true
	})()
	eventually(t, "the directory has them there", func() bool {
		a, ok := here.Player("anna")
		b, too := here.Player("bert")
		return ok && too && a.Server == "second" && b.Server == "second"
	})
}

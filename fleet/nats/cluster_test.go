package nats_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/arche-netcode/netcode/fleet/nats"
	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
)

// cluster starts three processes with a NATS server each, and returns them by name, and their URLs.
func cluster(t *testing.T, role string) (servers map[string]*process, urls string) {
	t.Helper()
	var routes []string
	for range 3 {
		routes = append(routes, freeAddress(t))
	}
	servers = map[string]*process{}
	names := []string{"n0", "n1", "n2"}
	for i, name := range names {
		servers[name] = spawn(t, role, "NAME="+name, "LISTEN=127.0.0.1:0", "CLUSTER="+routes[i], "ROUTES="+strings.Join(routes, ","))
	}
	var list []string
	for _, name := range names {
		list = append(list, strings.TrimSpace(servers[name].said(t, "ready")))
	}
	return servers, strings.Join(list, ",")
}

// leader returns the name of the server that leads the directory.
func leader(t *testing.T, urls string) string {
	t.Helper()
	conn, err := natsgo.Connect(urls)
	require.NoError(t, err)
	defer conn.Close()
	js, err := jetstream.New(conn)
	require.NoError(t, err)
	name := ""
	eventually(t, "the directory has a leader", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		s, err := js.Stream(ctx, "KV_game_directory")
		if err != nil || s.CachedInfo().Cluster == nil {
			return false
		}
		name = s.CachedInfo().Cluster.Leader
		return name != ""
	})
	return name
}

// A cluster of three NATS servers loses the one that leads: play goes on. Then the match's process dies too: the match comes up elsewhere.
func TestAClusterLosesItsLeader(t *testing.T) {
	t.Parallel()
	begin := time.Now()
	servers, urls := cluster(t, "nats")
	t.Logf("the cluster is ready after %v", time.Since(begin).Round(time.Millisecond))
	here := start(t, nats.Config{Server: "here", URL: urls})
	first := spawn(t, "game", "NAME=first", "URL="+urls)
	first.said(t, "ready")
	first.runs(t, "final")
	second := spawn(t, "game", "NAME=second", "URL="+urls)
	second.said(t, "ready")
	anna := play(t.Context(), t, "anna", func() string {
		m, _ := here.Match("final")
		return m.Address
	})
	eventually(t, "a player plays, and the match is saved", func() bool {
		m, _ := here.Match("final")
		return m.Saved > 30 && anna.see(func(p *player) bool { return p.x > 30 })()
	})
	victim := leader(t, urls)
	held := first.said(t, "ticks")
	x := float32(0)
	anna.see(func(p *player) bool { p.longest, p.news, x = 0, time.Now(), p.x; return true })()
	killed := time.Now()
	servers[victim].kill()
	saved := here.Stats().Renewed
	eventually(t, "the directory takes writes again", func() bool { return here.Stats().Renewed > saved+3 })
	t.Logf("%s is killed; the directory takes writes again within %v", victim, time.Since(killed).Round(time.Millisecond))
	eventually(t, "play goes on", anna.see(func(p *player) bool { return p.x > x+90 }))
	anna.see(func(p *player) bool {
		require.Equal(t, 1, p.connects, "nobody was disconnected")
		t.Logf("longest time without news %v; before %s, after %s; Stats %+v", p.longest.Round(time.Millisecond), held, first.said(t, "ticks"), here.Stats())
		p.longest = 0
		return true
	})()
	m, ok := here.Match("final")
	require.True(t, ok)
	require.Equal(t, "first", m.Server, "nobody took the match")
	killed = time.Now()
	first.kill()
	second.said(t, "took final from first")
	t.Logf("two NATS servers are left, and the match is up elsewhere after %v", time.Since(killed).Round(time.Millisecond))
	eventually(t, "the player is back", anna.see(func(p *player) bool { return p.connects == 2 && len(p.lost) == 1 }))
}

// Three processes of a game have a NATS server each. The one that leads these and runs the match is killed: both go on elsewhere, and the player
// finds the match.
func TestAProcessDiesWithItsNATSServer(t *testing.T) {
	t.Parallel()
	servers, urls := cluster(t, "game")
	here := start(t, nats.Config{Server: "here", URL: urls})
	victim := leader(t, urls)
	servers[victim].runs(t, "final")
	anna := play(t.Context(), t, "anna", func() string {
		m, _ := here.Match("final")
		return m.Address
	})
	eventually(t, "a player plays, and the match is saved", func() bool {
		m, _ := here.Match("final")
		return m.Saved > 30 && m.Server == victim && anna.see(func(p *player) bool { return p.x > 30 })()
	})
	anna.see(func(p *player) bool { p.longest, p.news = 0, time.Now(); return true })()
	killed := time.Now()
	servers[victim].kill()
	eventually(t, "another one has the match", func() bool {
		m, _ := here.Match("final")
		return m.Address != "" && m.Server != victim
	})
	t.Logf("the match is up elsewhere after %v", time.Since(killed).Round(time.Millisecond))
	eventually(t, "the player is back, and plays on", anna.see(func(p *player) bool { return p.connects == 2 && len(p.lost) == 1 && p.x > 60 }))
	anna.see(func(p *player) bool {
		t.Logf("longest time without news %v, told lost %v", p.longest.Round(time.Millisecond), p.lost[0].Round(time.Millisecond))
		if *heavy {
			require.Less(t, p.longest, 4*time.Second)
		}
		return true
	})()
}

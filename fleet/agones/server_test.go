package agones_test

import (
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/fleet"
	"github.com/arche-netcode/netcode/fleet/agones"
	ecs "github.com/arche-netcode/netcode/internal/world"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/memory"
)

// A whole server lives in Agones while its sidecar is slow, broken and gone by turns: it is ready, has a match, stays healthy, and ends with a
// checkpoint when it is deleted.
func TestAServerOfAgonesAmongFaults(t *testing.T) {
	f := newFake(t)
	life, err := agones.Open(t.Context(), agones.Config{SDK: agones.SDK{URL: f.server.URL}, Counter: "players", List: "players"})
	require.NoError(t, err)
	f.fail("500", "POST /ready")
	socket, err := memory.NewNetwork().Listen(transport.MustParseAddr("127.0.0.1:1"))
	require.NoError(t, err)
	protocol := netcode.NewProtocol()
	netcode.Replicate[struct{ X int32 }](protocol, netcode.Named("place"))
	server, err := netcode.NewServer(protocol, netcode.Config{})
	require.NoError(t, err)
	world := ecs.New()
	loop := systems.NewRunner(world, systems.NewServer(server, socket, systems.WallClock()), 60)
	matches, file := make(chan fleet.Match, 4), filepath.Join(t.TempDir(), "game.saved")
	member := fleet.Attach(loop, server, life, fleet.Config{
		Health: 20 * time.Millisecond, OnMatch: func(m fleet.Match) { matches <- m }, Checkpoint: fleet.File(file), Logger: slog.New(slog.DiscardHandler),
	})
	done := make(chan error, 1)
	go func() { done <- member.Run(t.Context()) }()
	eventually(t, "ready is asked for again", func() bool { return f.called("POST /ready") >= 2 })
	f.fail("")
	eventually(t, "it is ready", func() bool { f.mu.Lock(); defer f.mu.Unlock(); return f.state == "Ready" })
	eventually(t, "the capacity is known", func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return f.counters["players"] == counter{0, 64} && f.lists["players"].Capacity == 64
	})
	for _, fault := range []string{"gone", "500", "nonsense"} {
		f.fail(fault, "POST /health")
		before := f.called("POST /health")
		eventually(t, "it goes on", func() bool { return f.called("POST /health") >= before+3 })
		f.fail("")
	}
	f.set("Allocated", map[string]string{agones.AnnotationMatch: "m1", agones.AnnotationData: "sand"})
	require.Equal(t, fleet.Match{ID: "m1", Data: []byte("sand")}, <-matches)
	f.fail("slow", "PATCH /v1beta1/counters/{name}")
	f.breakWatches()
	f.set("Allocated", map[string]string{agones.AnnotationMatch: "m2"})
	require.Equal(t, "m2", (<-matches).ID, "a slow call and a watch that broke hold up no match")
	f.fail("")
	f.mu.Lock()
	f.deleted = 1
	f.mu.Unlock()
	f.set("Allocated", nil)
	require.NoError(t, <-done)
	require.FileExists(t, file)
	require.Equal(t, "Shutdown", f.state)
	require.Positive(t, member.Stats().Failed)
}

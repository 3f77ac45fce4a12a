package guide_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/inspect/live"
	ecs "github.com/arche-netcode/netcode/internal/world"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/memory"
)

// The code between the marks is that of inspect.md.

// begin guide
func inspected(world *ecs.World, group *systems.ServerSystems) (*systems.Runner, error) {
	shown, _, err := live.Show(group, "127.0.0.1:6060", os.Stderr) // prints the page's URL
	if err != nil {
		return nil, err
	}
	return systems.NewRunner(world, shown, 60), nil
}

// end guide

func TestGuideInspect(t *testing.T) {
	server, err := netcode.NewServer(protocol(), netcode.Config{})
	require.NoError(t, err)
	socket, err := memory.NewNetwork().Listen(transport.Addr{Key: 1})
	require.NoError(t, err)
	world, now := ecs.New(), time.Duration(0)
	loop, err := inspected(world, systems.NewServer(server, socket, func() time.Duration { now += time.Millisecond; return now }))
	if err != nil {
		t.Skip("another program has the address: ", err)
	}
	answer, done := httptest.NewRecorder(), make(chan bool)
	go func() {
		defer close(done)
		loop.Group.(*live.Inspector).ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "http://localhost/ticks", nil))
	}()
	for waits := true; waits; {
		loop.Step()
		select {
		case <-done:
			waits = false
		default:
			runtime.Gosched()
		}
	}
	require.Contains(t, answer.Body.String(), "p99")
}

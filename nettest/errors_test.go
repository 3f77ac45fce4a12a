package nettest_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mlange-42/arche/ecs"
	"github.com/mlange-42/arche/generic"
	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/nettest"
)

// logbook is a test whose log is kept.
type logbook struct {
	testing.TB
	lines []string
}

func (h *logbook) Logf(format string, args ...any) {
	h.lines = append(h.lines, fmt.Sprintf(format, args...))
}

// The errors that OnError is given are in the log of the test: of every end, with its number, and not without end.
func TestErrorsAreLogged(t *testing.T) {
	h := &logbook{TB: t}
	p := netcode.NewProtocol()
	netcode.Replicate[walk](p)
	n := nettest.New(h, nettest.Config{Protocol: p, Clients: 2, Server: netcode.Config{MaxEntities: 10}})
	n.Run(time.Second)
	build := generic.NewMap2[components.Replicated, walk](&n.Server.World)
	for range 12 {
		build.NewWith(&components.Replicated{}, &walk{})
	}
	local := generic.NewMap2[components.Replicated, walk](&n.Clients[1].World)
	local.NewWith(&components.Replicated{}, &walk{})
	n.Run(time.Second)
	text := strings.Join(h.lines, "\n")
	require.Contains(t, text, "nettest: server: ")
	require.Contains(t, text, "Config.MaxEntities allows (10)")
	require.Contains(t, text, "nettest: client 1: local entity ")
	for range 1000 {
		n.Server.Report(fmt.Errorf("one more"))
	}
	require.Less(t, len(h.lines), 120)
	require.Contains(t, h.lines[len(h.lines)-1], "no more errors of the server are logged")
}

// walk is a component.
type walk struct{ X, Y float32 }

// The ends of a Net are ends for every call of netcode.
func TestTheEndsOfANetAreEndpoints(t *testing.T) {
	p := netcode.NewProtocol()
	netcode.Replicate[walk](p)
	netcode.Replicate[components.Kind](p)
	handled := 0
	netcode.Handle(p, func(*netcode.Context, *walk) { handled++ }, netcode.Named("step"))
	n := nettest.New(t, nettest.Config{Protocol: p, Clients: 1, Game: func(*ecs.World, int) {}})
	n.Run(time.Second)
	require.NoError(t, netcode.Send(n.Server, netcode.ToAll(), &walk{}))
	require.NoError(t, netcode.Send(n.Clients[0], netcode.ToServer(), &walk{}))
	n.Run(time.Second)
	require.Equal(t, 2, handled)
}

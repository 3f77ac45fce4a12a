package systems_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/transport/memory"
)

// What is nil is refused where it is given, with its name: it would panic in the first frame.
func TestNilArgumentsAreRefused(t *testing.T) {
	r := newRig(t)
	server, client := r.server.Server, r.client.Client
	socket, now := r.server.Receive.Socket, func() time.Duration { return 0 }
	var failed *memory.Conn // as that of a Listen whose error was dropped
	host := func(server *netcode.Server, client *netcode.Client, socket systems.Socket, now func() time.Duration) func() {
		return func() { _, _ = systems.NewHost(server, client, socket, now) }
	}
	for want, call := range map[string]func(){
		"NewServer: the server is nil": func() { systems.NewServer(nil, socket, now) },
		"NewServer: the socket is nil": func() { systems.NewServer(server, nil, now) },
		"NewServer: the clock is nil":  func() { systems.NewServer(server, socket, nil) },
		"NewClient: the client is nil": func() { systems.NewClient(nil, socket, now) },
		"NewClient: the socket is nil": func() { systems.NewClient(client, failed, now) },
		"NewClient: the clock is nil":  func() { systems.NewClient(client, socket, nil) },
		"NewHost: the server is nil":   host(nil, client, socket, now),
		"NewHost: the client is nil":   host(server, nil, socket, now),
		"NewHost: the socket is nil":   host(server, client, failed, now),
		"NewHost: the clock is nil":    host(server, client, socket, nil),
		"NewRunner: the group is nil":  func() { systems.NewRunner(nil, nil, 60) },
	} {
		require.PanicsWithValue(t, "systems: "+want, call)
	}
	var group *systems.ServerSystems
	require.PanicsWithValue(t, "systems: NewRunner: the group is nil", func() { systems.NewRunner(nil, group, 60) })
}

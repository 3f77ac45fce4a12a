package systems_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/transport"
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

// A rate of no frames is refused where it is given.
func TestRunnerRefusesARateOfNoFrames(t *testing.T) {
	group := newRig(t).server
	for rate, want := range map[int]string{
		0:  "systems: NewRunner: 0 frames a second: a loop has 1 or more, 60 for instance",
		-1: "systems: NewRunner: -1 frames a second: a loop has 1 or more, 60 for instance",
	} {
		require.PanicsWithValue(t, want, func() { systems.NewRunner(nil, group, rate) })
	}
	require.NotPanics(t, func() { systems.NewRunner(nil, group, 1) })
}

// One group at a time drives a server or a client. When it is finalised another may.
func TestTwoGroupsForOneEndAreRefused(t *testing.T) {
	network := memory.NewNetwork()
	listen := func() *memory.Conn {
		socket, err := network.Listen(transport.Addr{})
		require.NoError(t, err)
		return socket
	}
	now := func() time.Duration { return 0 }
	protocol := netcode.NewProtocol()
	server, err := netcode.NewServer(protocol, netcode.Config{})
	require.NoError(t, err)
	client, err := netcode.NewClient(protocol, netcode.Config{})
	require.NoError(t, err)
	player, err := netcode.NewClient(protocol, netcode.Config{})
	require.NoError(t, err)

	first := systems.NewServer(server, listen(), now)
	taken := "systems: NewServer: the server is in another group already: one group drives it, until Runner.Close or the systems' Finalize"
	require.PanicsWithValue(t, taken, func() { systems.NewServer(server, listen(), now) })
	require.PanicsWithValue(t, taken, func() { _, _ = systems.NewHost(server, player, listen(), now) })
	systems.NewClient(client, listen(), now)
	require.PanicsWithValue(t,
		"systems: NewClient: the client is in another group already: one group drives it, until Runner.Close or the systems' Finalize",
		func() { systems.NewClient(client, listen(), now) })

	loop := systems.NewRunner(nil, first, 60)
	loop.Step()
	require.NoError(t, loop.Close(t.Context()))
	require.NotPanics(t, func() { systems.NewServer(server, listen(), now) })
}

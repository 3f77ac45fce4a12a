package main

import (
	"bytes"
	"context"
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/collections"
	"github.com/arche-netcode/netcode/input"
	ecs "github.com/arche-netcode/netcode/internal/world"
	"github.com/arche-netcode/netcode/schema"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/transport/udp"
)

type (
	discoverSpot  struct{ X, Y float32 }
	discoverStick struct{ X, Y int8 }
	discoverChat  struct{ Line uint32 }
)

// The protocol that a server's refusals tell is that of its lock file.
func TestDiscover(t *testing.T) {
	p := netcode.NewProtocol()
	netcode.Replicate[discoverSpot](p)
	input.Register[discoverStick](p)
	netcode.Handle[discoverChat](p, nil)
	collections.NewList[uint16](p, "bag")
	server, err := netcode.NewServer(p, netcode.Config{})
	require.NoError(t, err)
	socket, err := udp.Listen("127.0.0.1:0", udp.Config{})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		world := ecs.New()
		runner := systems.NewRunner(world, systems.NewServer(server, socket, systems.WallClock()), 60)
		for ctx.Err() == nil {
			runner.Step()
			time.Sleep(time.Millisecond)
		}
	}()
	t.Cleanup(func() {
		stop()
		<-ended
		_ = socket.Close()
	})
	var out, progress bytes.Buffer
	file := filepath.Join(t.TempDir(), "game.lock")
	require.NoError(t, run([]string{"discover", socket.LocalAddr().String(), "-o", file}, &out, &progress))
	lock, err := schema.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, schema.Of(p).Hash, lock.Hash)
	require.Contains(t, progress.String(), "component")
	require.NoError(t, run([]string{"discover", socket.LocalAddr().String()}, &out, &progress))
	require.Contains(t, out.String(), "component discoverSpot #")
	out.Reset()
	_, port, err := net.SplitHostPort(socket.LocalAddr().String())
	require.NoError(t, err)
	require.NoError(t, run([]string{"discover", net.JoinHostPort("localhost", port)}, &out, &progress), "a name is looked up")
	require.Contains(t, out.String(), "component discoverSpot #")
	require.Error(t, run([]string{"discover"}, &out, &progress))
	require.Error(t, run([]string{"discover", "nowhere"}, &out, &progress))
}

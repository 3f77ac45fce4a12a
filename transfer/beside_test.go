package transfer_test

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/consistent"
	ecs "github.com/arche-netcode/netcode/internal/world"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/nettest"
	"github.com/arche-netcode/netcode/transfer"
	"github.com/arche-netcode/netcode/transport"
)

// TestWholeTicksBesideATransfer saves the budget for whole ticks while a transfer takes all that it may.
func TestWholeTicksBesideATransfer(t *testing.T) {
	p := netcode.NewProtocol()
	netcode.Replicate[body](p)
	transfer.Register(p)
	consistent.Register(p)
	noise := rand.New(rand.NewPCG(1, 2))
	n := nettest.New(t, nettest.Config{
		Protocol: p, Clients: 1, Seed: 50, Link: transport.Link{Delay: 20 * time.Millisecond}, Rate: 60, Server: netcode.Config{SendBudget: 32 << 10},
		Game: func(w *ecs.World, frame int) {
			for q := generic.NewFilter1[body]().Query(w); q.Next(); {
				*q.Get() = body{uint32(frame), noise.Uint32()}
			}
		},
	})
	build := generic.NewMap2[body, components.Replicated](n.Server.World)
	for range 250 {
		build.New()
	}
	require.True(t, n.RunUntil(20*time.Second, n.Connected))
	n.Run(3 * time.Second)
	newInbox(n.Clients[0].Client)
	_, err := transfer.Send(n.Server.Server, n.Clients[0].Client.ID(), "map", random(4<<20, 1))
	require.NoError(t, err)
	before, _ := consistent.Of(n.Clients[0].Client)
	n.Run(10 * time.Second)
	after, _ := consistent.Of(n.Clients[0].Client)
	require.Greater(t, after.Complete, before.Complete+10, "164 without the transfer")
}

// TestLongNames cuts names at a whole character.
func TestLongNames(t *testing.T) {
	n, _ := game(t, lossy(0), 1<<20, 0, 1, transfer.Config{})
	s, err := transfer.Send(n.Server.Server, n.Clients[0].Client.ID(), strings.Repeat("a", 63)+"é", random(1000, 1))
	require.NoError(t, err)
	n.Run(5 * time.Second)
	require.True(t, s.Over())
}

// TestNoneFromClients refuses an empty transfer of a client too.
func TestNoneFromClients(t *testing.T) {
	n, all := game(t, lossy(0), 1<<20, 0, 1, transfer.Config{})
	_, err := transfer.Send(n.Clients[0].Client, 0, "x", nil)
	n.Run(time.Second)
	require.Empty(t, all[0].done, "the default of FromClient is none")
	require.Error(t, err)
}

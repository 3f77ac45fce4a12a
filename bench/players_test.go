package main

import (
	"bufio"
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	bots "github.com/arche-netcode/netcode/load"
	"github.com/arche-netcode/netcode/transport"
)

// The prediction is where the line through the costs reaches the bound.
func TestCapacityOfClientsIsALine(t *testing.T) {
	model := tickCost{at: []float64{40, 80, 40, 80}, ns: []float64{1.1e6, 1.9e6, 0.9e6, 1.7e6}}
	require.InDelta(t, 20e3, model.each(), 1e-6)
	require.InDelta(t, 200e3, model.fixed(), 1e-6)
	require.InDelta(t, 90, model.clients(2*time.Millisecond), 1e-9)
}

// A tick costs something, and each client has the server's world.
func TestTheCostOfATickIsMeasured(t *testing.T) {
	needProcesses(t)
	ns, err := costOfTick(combination{entities: 20, clients: 2, moving: 0.5}, 9)
	require.NoError(t, err)
	require.Greater(t, ns, 1000.0)
}

// The scene that is served and its bots are those of the prediction: bots get all bodies, and more of them as they move.
func TestTheSceneIsServedToBots(t *testing.T) {
	needProcesses(t)
	in, stop := io.Pipe()
	heard, out := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- runServe([]string{"-addr", "127.0.0.1:0", "-inspect", "127.0.0.1:0", "-e", "30", "-frac", "0.5"}, in, out)
	}()
	line, err := bufio.NewReader(heard).ReadString('\n')
	require.NoError(t, err)
	address, page, _ := strings.Cut(strings.TrimSpace(line), " ")
	ctx, enough := context.WithCancel(context.Background())
	defer enough()
	down := uint64(0)
	report, err := bots.Run(ctx, bodyBots(), bots.Options{
		Servers: []transport.Addr{transport.MustParseAddr(address)}, Bots: 1, Ramp: 100, For: time.Minute, Ticks: bots.InspectorTicks(page),
		Each: func(s *bots.Sample) {
			if down = s.Down; down > 30*rowBytes/2 {
				enough()
			}
		},
	})
	require.NoError(t, err)
	require.Greater(t, down, uint64(30*rowBytes/2), "%v", report)
	require.NoError(t, stop.Close())
	require.NoError(t, <-ended)
	for _, wrong := range []string{"-e 0", "-frac 0", "-frac NaN"} {
		require.ErrorContains(t, runServe(strings.Fields(wrong), nil, nil), "serve wants 1 to")
	}
}

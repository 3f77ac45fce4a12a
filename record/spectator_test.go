package record_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/input"
	ecs "github.com/arche-netcode/netcode/internal/world"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/nettest"
	"github.com/arche-netcode/netcode/predict"
	"github.com/arche-netcode/netcode/record"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/tick"
)

// A spectator predicts no entity, and its input moves none.
func TestASpectatorIsNoneOfTheRecordedPlayers(t *testing.T) {
	type stick struct{ X int8 }
	p := netcode.NewProtocol()
	netcode.Replicate[spot](p)
	netcode.Replicate[components.Owner](p)
	input.Register[stick](p)
	predict.Register[spot](p)
	walk := predict.Func(func(s *predict.Step) {
		for query := generic.NewFilter2[components.Owner, spot]().With(generic.T[components.Simulate]()).Query(s.World); query.Next(); {
			owner, at := query.Get()
			pressed, _ := predict.Input[stick](s, owner.Client)
			at.X += float32(pressed.X)
		}
	})
	var sims []*predict.Simulation
	play := func(_ int, c *systems.ClientSystems, _ *ecs.World) {
		sims = append(sims, predict.Simulate(c, predict.Config{}, walk))
		c.Add(tick.PreUpdate, systems.Func(func(*ecs.World) { _ = input.Set(c.Client, &stick{X: 1}) }))
	}

	var file bytes.Buffer
	live := nettest.New(t, nettest.Config{
		Protocol: p, Clients: 1, Seed: 1, SetupClient: play,
		Setup: func(s *systems.ServerSystems, w *ecs.World) {
			predict.Simulate(s, predict.Config{}, walk)
			build := generic.NewMap3[components.Replicated, components.Owner, spot](w)
			s.Server.OnConnect(func(c netcode.ClientID) {
				build.NewWith(&components.Replicated{}, &components.Owner{Client: c}, &spot{})
			})
		},
	})
	stop, err := record.Start(live.Server.Server, &file)
	require.NoError(t, err)
	live.Run(2 * time.Second)
	require.NoError(t, stop())
	require.Equal(t, uint64(1), uint64(sims[0].Stats().Started))

	watch := nettest.New(t, nettest.Config{
		Protocol: p, Clients: 2, Seed: 2, SetupClient: play,
		Setup: func(s *systems.ServerSystems, _ *ecs.World) {
			_, err := record.Play(s.Server, bytes.NewReader(file.Bytes()))
			require.NoError(t, err)
		},
	})
	watch.Run(4 * time.Second)
	watch.AssertConverge()
	require.Equal(t, record.FirstSpectator, watch.Clients[0].ID())
	for _, sim := range sims[1:] {
		require.Zero(t, sim.Stats().Started)
	}
}

// A server with clients plays no recording: their ids are no spectator's.
func TestAServerWithClientsPlaysNothing(t *testing.T) {
	p := netcode.NewProtocol()
	netcode.Replicate[spot](p)
	var file bytes.Buffer
	n := nettest.New(t, nettest.Config{Protocol: p, Clients: 1})
	stop, err := record.Start(n.Server.Server, &file)
	require.NoError(t, err)
	n.RunUntil(5*time.Second, n.Connected)
	require.True(t, n.Connected())
	n.Run(time.Second)
	require.NoError(t, stop())
	_, err = record.Play(n.Server.Server, bytes.NewReader(file.Bytes()))
	require.ErrorIs(t, err, record.ErrClients)
}

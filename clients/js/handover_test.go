package js_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/handover"
	"github.com/arche-netcode/netcode/input"
	ecs "github.com/arche-netcode/netcode/internal/world"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport/udp"
)

type (
	// Hero is carried to the other server.
	Hero struct{ Gold, Steps uint32 }
	// Walk is the input that makes its steps.
	Walk struct{ X int8 }
	// Said is a reliable message.
	Said struct{ Number uint32 }
)

// TestATravellerInNode moves a client in JavaScript between two servers.
func TestATravellerInNode(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("no node here: the tests of the JavaScript client need it")
	}
	p := netcode.NewProtocol()
	netcode.Replicate[Hero](p)
	netcode.Replicate[components.Owner](p)
	input.Register[Walk](p)
	netcode.Handle[Said](p, nil, netcode.Over(netcode.Reliable), netcode.FromServer())
	handover.Register(p)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // It only ends a test that hangs.
	defer cancel()
	var addresses [2]string
	ended := make(chan handover.Outcome, 1)
	for i := range addresses {
		socket, err := udp.Listen("127.0.0.1:0", udp.Config{})
		require.NoError(t, err)
		defer socket.Close()
		addresses[i] = socket.LocalAddr().String()
		loop, mover := travelServer(t, p, socket, uint32(i))
		mover.OnEnd(func(_ netcode.ClientID, outcome handover.Outcome, _ error) { ended <- outcome })
		if i == 0 { // After a while it moves the player to the other one.
			server := loop.Group.(*systems.ServerSystems)
			steps := generic.NewFilter1[Hero]()
			server.Add(tick.PostLateUpdate, systems.Func(func(w *ecs.World) {
				query := steps.Query(w)
				ready := netcode.ClientID(0)
				for query.Next() {
					if query.Get().Steps == 20 {
						ready = 1
					}
				}
				if ready != 0 && !mover.Moving(ready) {
					require.NoError(t, netcode.Send(server.Server, netcode.To(ready), &Said{Number: 7}))
					require.NoError(t, mover.Move(ready, handover.Destination{Server: addresses[1]}))
				}
			}))
		}
		over := make(chan struct{})
		go func() { defer close(over); _ = loop.Run(ctx) }()
		defer func() { cancel(); <-over }()
	}
	lock := filepath.Join(t.TempDir(), "game.lock")
	var text bytes.Buffer
	require.NoError(t, p.WriteSchema(&text))
	require.NoError(t, os.WriteFile(lock, text.Bytes(), 0o600))
	cmd := exec.CommandContext(ctx, node, "tools/travel.mjs", addresses[0], lock)
	var problems bytes.Buffer
	cmd.Stderr = &problems
	out, err := cmd.Output()
	require.NoError(t, err, problems.String())
	var got struct {
		Switches, Steps int
		Before, After   int
		Fails           []string
		Heard           []int
	}
	require.NoError(t, json.Unmarshal(out, &got), string(out))
	require.Empty(t, got.Fails)
	require.Equal(t, 1, got.Switches)
	require.Equal(t, []int{100, 100}, []int{got.Before, got.After}, "its gold")
	require.GreaterOrEqual(t, got.Steps, 60)
	require.Equal(t, []int{7}, got.Heard)
	require.Equal(t, handover.Moved, <-ended)
}

// travelServer makes a server whose players walk.
func travelServer(t *testing.T, p *netcode.Protocol, socket systems.Socket, number uint32) (*systems.Runner, *handover.Server) {
	server, err := netcode.NewServer(p, netcode.Config{})
	require.NoError(t, err)
	world := ecs.New()
	group := systems.NewServer(server, socket, systems.WallClock())
	mover := handover.Attach(group, handover.Config{Key: [32]byte{1}})
	heroes := generic.NewMap3[components.Replicated, components.Owner, Hero](world)
	server.OnConnect(func(client netcode.ClientID) {
		if !mover.Arriving(client) {
			heroes.NewWith(&components.Replicated{}, &components.Owner{Client: client}, &Hero{Gold: 100 + number})
		}
	})
	walking := generic.NewFilter2[components.Owner, Hero]()
	group.Add(tick.Update, systems.Func(func(w *ecs.World) {
		query := walking.Query(w)
		for query.Next() {
			owner, hero := query.Get()
			if walk, ok := input.Of[Walk](server, owner.Client); ok && server.TickDue() {
				hero.Steps += uint32(walk.X)
			}
		}
	}))
	return systems.NewRunner(world, group, 60), mover
}

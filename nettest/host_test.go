package nettest_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/input"
	ecs "github.com/arche-netcode/netcode/internal/world"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/nettest"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
)

// hostConfig is a host with the payload "anna" and clients with "bert", "cleo" and "dora". The server approves them by name, and all give inputs.
func hostConfig(inputs map[string]int) nettest.Config {
	config := nettest.Config{Protocol: netcode.NewProtocol(), Clients: 1, Seed: 6, Host: true, HostPayload: []byte("anna")}
	config.Link = transport.Link{Delay: 50 * time.Millisecond, Loss: .1}
	netcode.Replicate[position](config.Protocol)
	input.Register[made](config.Protocol)
	config.Payload = func(i int) []byte { return []byte([]string{"bert", "cleo", "dora"}[i]) }
	config.Setup = func(s *systems.ServerSystems, w *ecs.World) {
		s.Server.OnApprove(func(a *netcode.Approval) {
			if name := string(a.Payload); a.Host == (name == "anna") {
				a.Accept(name)
				return
			}
			a.Refuse("not you")
		})
		bodies := generic.NewMap2[components.Replicated, position](w)
		body := bodies.NewWith(&components.Replicated{}, &position{})
		places := generic.NewMap1[position](w)
		s.Add(tick.Update, call(func() {
			places.Get(body).X = float32(min(s.Server.Tick(), 60))
			for id := range s.Server.Clients {
				if _, ok := input.Of[made](s.Server, id); ok {
					inputs[s.Server.Identity(id)]++
				}
			}
		}))
	}
	set := func(c *netcode.Client) systems.System { return call(func() { _ = input.Set(c, &made{1}) }) }
	config.SetupHost = func(h *systems.HostSystems, _ *ecs.World) { h.Add(tick.PreUpdate, set(h.Client)) }
	config.SetupClient = func(_ int, c *systems.ClientSystems, _ *ecs.World) { c.Add(tick.PreUpdate, set(c.Client)) }
	return config
}

// The player of a host is asked about, has an identity and a view, gives inputs and plays on after a restart, beside a client.
func TestAHostInNettest(t *testing.T) {
	inputs, seen := map[string]int{}, 0
	config := hostConfig(inputs)
	setup := config.SetupHost
	config.SetupHost = func(h *systems.HostSystems, w *ecs.World) {
		setup(h, w)
		h.View.OnSpawn(func(ecs.Entity, netcode.NetworkID) { seen++ })
	}
	n := nettest.New(t, config)
	for run := range 2 {
		clear(inputs)
		seen = 0
		n.RunUntil(20*time.Second, func() bool { return n.Connected() && n.Server.Host.Client.Hosted() == n.Server.Server })
		n.Run(time.Second)
		host := n.Server.Host.Client
		require.Equal(t, netcode.Connected, host.State())
		require.Equal(t, "anna", n.Server.Identity(host.ID()))
		require.Equal(t, 1, seen)
		require.Greater(t, inputs["anna"], 50)
		if run == 0 {
			require.Equal(t, netcode.Connected, n.Clients[0].State())
			require.Equal(t, "bert", n.Server.Identity(n.Clients[0].ID()))
			require.Greater(t, inputs["bert"], 50)
			n.Run(4 * time.Second)
			n.AssertConverge()
			n.Restart()
		}
	}
}

// A host whose player the server refuses is not connected, and goes on for others.
func TestARefusedHostInNettest(t *testing.T) {
	config := hostConfig(map[string]int{})
	config.HostPayload = []byte("eve")
	n := nettest.New(t, config)
	n.Run(2 * time.Second)
	require.False(t, n.Connected())
	require.Equal(t, netcode.Connected, n.Clients[0].State())
}

// Each end has frames at its own rate, evenly, also one that joins later and one that slept.
func TestEachEndHasItsFrameRate(t *testing.T) {
	frames := map[string][]time.Duration{}
	config := hostConfig(map[string]int{})
	config.Clients, config.Rate, config.ServerRate = 2, 50, 30
	config.ClientRate = func(i int) int { return []int{144, 0, 75}[i] }
	var n *nettest.Net
	count := func(end string) systems.System {
		return call(func() { frames[end] = append(frames[end], n.Now()) })
	}
	host := config.SetupHost
	config.SetupHost = func(h *systems.HostSystems, w *ecs.World) {
		host(h, w)
		h.Add(tick.Update, count("server"))
	}
	client := config.SetupClient
	config.SetupClient = func(i int, c *systems.ClientSystems, w *ecs.World) {
		client(i, c, w)
		c.Add(tick.Update, count([]string{"a", "b", "c"}[i]))
	}
	n = nettest.New(t, config)
	n.Run(time.Second)
	n.Join()
	n.Suspend(n.Clients[0])
	n.Run(time.Second)
	n.Wake(n.Clients[0])
	n.Run(8 * time.Second)
	for end, rate := range map[string]int{"server": 30, "a": 144, "b": 50, "c": 75} {
		times := frames[end]
		seconds := map[string]int{"c": 9, "a": 9}[end]
		if seconds == 0 {
			seconds = 10
		}
		require.InDelta(t, seconds*rate, len(times), 1, end)
		for _, at := range times {
			frame := at.Seconds() * float64(rate)
			require.InDelta(t, float64(int64(frame+.5)), frame, 1e-3, "%s at %v", end, at)
		}
	}
	require.True(t, n.Connected())
	n.AssertConverge()
}

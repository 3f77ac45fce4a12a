package systems_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/errs"
	ecs "github.com/arche-netcode/netcode/internal/world"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/transport"
)

// A panic in a client's OnSpawn, OnSpawnKind or OnDespawn ends the connection. OnError gets it, and the loop continues.
func TestPanicsOfTheClientsHooksAreContained(t *testing.T) {
	for name, hook := range map[string]func(c *systems.ClientSystems){
		"OnSpawn": func(c *systems.ClientSystems) { c.OnSpawn(func(ecs.Entity, netcode.NetworkID) { panic("spawned") }) },
		"OnSpawnKind": func(c *systems.ClientSystems) {
			c.OnSpawnKind(3, func(ecs.Entity, netcode.NetworkID) { panic("a kind") })
		},
		"OnDespawn": func(c *systems.ClientSystems) { c.OnDespawn(func(ecs.Entity, netcode.NetworkID) { panic("gone") }) },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			hook(r.client)
			others := 0
			r.client.OnSpawn(func(ecs.Entity, netcode.NetworkID) { others++ })
			r.until(t, func() bool { return r.client.Client.State() == netcode.Connected })
			build := generic.NewMap3[components.Replicated, components.Kind, position](r.worlds[0])
			made := build.NewWith(&components.Replicated{}, &components.Kind{ID: 3}, &position{})
			r.until(t, func() bool { return others == 1 })
			r.worlds[0].RemoveEntity(made)
			r.until(t, func() bool { return r.client.Client.State() == netcode.Disconnected })
			require.ErrorIs(t, r.client.Client.Err(), errs.ReasonHandlerPanic)
			require.ErrorContains(t, r.client.Client.Err(), "the client's "+name)
			require.Len(t, r.errors, 1)
			var failed *errs.PanicError
			require.ErrorAs(t, r.errors[0], &failed)
			require.Equal(t, name, failed.Name)
			require.Contains(t, failed.At, "systems/contain_test.go:")
			require.EqualValues(t, 1, r.client.Client.Stats().HandlerPanics)
			for range 10 {
				r.step()
			}
		})
	}
}

// The server's OnSpawn is called for no connection: a panic ends none, and the entity is replicated.
func TestPanicsOfTheServersHooksAreContained(t *testing.T) {
	r := newRig(t)
	r.server.OnSpawn(func(ecs.Entity, netcode.NetworkID) { panic(errors.New("spawned")) })
	after := 0
	r.server.OnSpawn(func(ecs.Entity, netcode.NetworkID) { after++ })
	r.until(t, func() bool { return r.client.Client.State() == netcode.Connected })
	build := generic.NewMap2[components.Replicated, position](r.worlds[0])
	build.NewWith(&components.Replicated{}, &position{X: 7})
	r.until(t, func() bool { return after == 1 && r.client.Client.Replica().Len() == 1 })
	require.Equal(t, netcode.Connected, r.client.Client.State())
	require.Len(t, r.errors, 1)
	require.ErrorContains(t, r.errors[0], "netcode: OnSpawn panicked at systems/contain_test.go:")
	require.EqualValues(t, 1, r.server.Server.Stats().HandlerPanics)
}

// A client whose systems run in the world of its own server would double every entity. It gets an error and applies
// nothing. A client of another server may run there.
func TestAClientInTheWorldOfItsServer(t *testing.T) {
	e := newEnds()
	p := netcode.NewProtocol()
	netcode.Replicate[position](p)
	server, err := netcode.NewServer(p, netcode.Config{})
	require.NoError(t, err)
	group := systems.NewServer(server, e.listen(t, serverAddress), e.clock)
	w := e.world()
	e.run(w, group)
	elsewhere := transport.MustParseAddr("127.0.0.1:2")
	other, err := netcode.NewServer(p, netcode.Config{})
	require.NoError(t, err)
	e.run(e.world(), systems.NewServer(other, e.listen(t, elsewhere), e.clock))
	client, err := netcode.NewClient(p, netcode.Config{})
	require.NoError(t, err)
	client.OnError(e.report)
	e.run(w, systems.NewClient(client, e.listen(t, transport.Addr{}), e.clock))
	build := generic.NewMap2[components.Replicated, position](w)
	build.NewWith(&components.Replicated{}, &position{})
	w.Reset() // As for a new level.
	build.NewWith(&components.Replicated{}, &position{})
	require.NoError(t, client.Connect(serverAddress))
	e.until(t, func() bool { return client.State() == netcode.Connected && client.Replica().Len() == 1 })
	for end := e.now + time.Second; e.now < end; {
		e.step()
	}
	require.Len(t, e.errors, 1)
	require.ErrorIs(t, e.errors[0], systems.ErrServersWorld)
	filter := generic.NewFilter1[position]()
	query := filter.Query(w)
	require.Equal(t, 1, query.Count())
	query.Close()

	require.NoError(t, client.Connect(elsewhere))
	e.until(t, func() bool { return client.State() == netcode.Connected })
	for end := e.now + time.Second; e.now < end; {
		e.step()
	}
	require.Len(t, e.errors, 1)
}

// OnSpawn adds to what a game has set as Tick.Spawned, and does not take its place.
func TestOnSpawnKeepsTheFunctionOfTick(t *testing.T) {
	r := newRig(t)
	var order []string
	r.server.Tick.Spawned = func(ecs.Entity, netcode.NetworkID) { order = append(order, "the game's") }
	for _, name := range []string{"first", "second"} {
		r.server.OnSpawn(func(ecs.Entity, netcode.NetworkID) { order = append(order, name) })
	}
	build := generic.NewMap2[components.Replicated, position](r.worlds[0])
	build.NewWith(&components.Replicated{}, &position{})
	r.until(t, func() bool { return len(order) > 0 })
	require.Equal(t, []string{"the game's", "first", "second"}, order)
}

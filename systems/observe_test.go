package systems_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	netecs "github.com/arche-netcode/netcode/ecs"
	ecs "github.com/arche-netcode/netcode/internal/world"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/memory"
)

func TestChangesReachTheGame(t *testing.T) {
	r := newRig(t)
	require.False(t, r.client.Apply.Applied())
	for range r.client.Changes {
		t.Fatal("before anything came")
	}
	for range systems.Changed[position](r.client) {
		t.Fatal("before anything came")
	}
	require.Zero(t, r.client.Apply.Stats())
	e := r.spawn()
	r.until(t, r.client.Apply.Applied)
	count := 0
	for c := range r.client.Changes {
		count++
		require.True(t, c.Spawned)
		id, _ := r.server.ID(e)
		require.Equal(t, id, c.ID)
	}
	require.Equal(t, 1, count)
	r.step()
	require.False(t, r.client.Apply.Applied())
	positions := generic.NewMap1[position](r.worlds[0])
	positions.Get(e).X = 40
	r.until(t, r.client.Apply.Applied)
	for _, at := range systems.Changed[position](r.client) {
		require.EqualValues(t, 40, at.X)
		count++
	}
	require.Equal(t, 2, count)
	require.Equal(t, netecs.ApplyStats{Applied: 2, Spawned: 1, Rows: 2}, r.client.Apply.Stats())
}

// Without components.Kind a client knows no kinds.
func TestKindsHaveToReplicate(t *testing.T) {
	c, err := netcode.NewClient(netcode.NewProtocol(), netcode.Config{})
	require.NoError(t, err)
	systems := systems.NewClient(c, &memory.Conn{}, systems.WallClock())
	require.PanicsWithValue(t, "systems: OnSpawnKind(3): the protocol does not replicate components.Kind, so that no client learns of kinds: "+
		"call netcode.Replicate[components.Kind](protocol) on both sides", func() { systems.OnSpawnKind(3, func(ecs.Entity, netcode.NetworkID) {}) })
}

// A client asks once a frame for the changes of the newest snapshot: health bars to redraw, and entities that came or
// went.
func ExampleChanged() {
	type Health struct{ Now uint8 }
	now := time.Duration(0)
	clock := func() time.Duration { return now } // systems.WallClock() in a game.
	network := memory.NewNetwork()
	here, _ := network.Listen(transport.MustParseAddr("127.0.0.1:1"))
	there, _ := network.Listen(transport.Addr{})
	protocol := netcode.NewProtocol()
	netcode.Replicate[Health](protocol)
	server, _ := netcode.NewServer(protocol, netcode.Config{})
	client, _ := netcode.NewClient(protocol, netcode.Config{})
	serverWorld, clientWorld := ecs.New(), ecs.New()
	group := systems.NewClient(client, there, clock)
	loops := []*systems.Runner{
		systems.NewRunner(serverWorld, systems.NewServer(server, here, clock), 30),
		systems.NewRunner(clientWorld, group, 30),
	}
	_ = client.Connect(here.LocalAddr())

	build, health := generic.NewMap2[components.Replicated, Health](serverWorld), generic.NewMap1[Health](serverWorld)
	knight := build.NewWith(&components.Replicated{}, &Health{100})
	for frame := range 60 {
		if frame == 30 {
			health.Get(knight).Now = 40
		}
		for _, l := range loops {
			l.Step()
		}
		now += time.Second / 30
		if !group.Apply.Applied() {
			continue // Nothing is new: the changes below would be repeated.
		}
		for _, h := range systems.Changed[Health](group) {
			fmt.Println("health is", h.Now)
		}
		for change := range group.Changes {
			fmt.Println("of an entity that is new:", change.Spawned)
		}
	}
	// Output:
	// health is 100
	// of an entity that is new: true
	// health is 40
	// of an entity that is new: false
}

// A custom loop of a client keeps its frames in step with the ticks of Client.Time: it waits for the frame time, scaled
// by Pace. A loop that cannot, such as arche-model's, waits for the frame time alone and runs Steps steps of its
// simulation, mostly one.
func ExampleClientSystems_Pace() {
	const frameTime = time.Second / 30
	now := time.Duration(0)
	clock := func() time.Duration { return now } // time.Since(start) in a game.
	network := memory.NewNetwork()
	at, to := transport.MustParseAddr("127.0.0.1:1"), transport.Addr{}
	here, _ := network.Listen(at)
	there, _ := network.Listen(to)
	protocol := netcode.NewProtocol()
	server, _ := netcode.NewServer(protocol, netcode.Config{})
	client, _ := netcode.NewClient(protocol, netcode.Config{})
	serverWorld, clientWorld := ecs.New(), ecs.New()
	serverLoop := systems.NewRunner(serverWorld, systems.NewServer(server, here, clock), 30)
	group := systems.NewClient(client, there, clock)
	all := group.Systems()
	for _, s := range all {
		s.Initialize(clientWorld)
	}
	_ = client.Connect(at)
	ones, others := 0, 0
	for frame := range 600 {
		serverLoop.Step()
		for _, s := range all {
			s.Update(clientWorld)
		}
		for range client.Steps() {
			_ = client.Time().Tick // One step of the game's own prediction.
		}
		if steps := client.Steps(); frame > 100 && steps == 1 {
			ones++
		} else if frame > 100 {
			others++
		}
		num, den := client.Pace()
		now += frameTime * time.Duration(den) / time.Duration(num)
	}
	fmt.Println("frames with one step:", ones, "with none or two:", others)
	// Output: frames with one step: 499 with none or two: 0
}

package guide_test

import (
	"bytes"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/extend"
	"github.com/arche-netcode/netcode/input"
	ecs "github.com/arche-netcode/netcode/internal/world"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/nettest"
	"github.com/arche-netcode/netcode/record"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
)

// begin guide
type Wish struct { // of a spectator
	Seek   tick.Tick        // 0: stay
	Speed  float32          // 0.1 to 16; 0: pause
	Follow netcode.ClientID // see what this player saw; 0: everything
}

func watching(protocol *netcode.Protocol) { // on both sides
	netcode.Handle(protocol, func(ctx *netcode.Context, w *Wish) {
		player, ok := extend.ExtensionOf[*record.Player](ctx.End)
		if !ok {
			return // this server plays no recording
		}
		if w.Seek != 0 {
			player.Seek(w.Seek)
		}
		player.Pause(w.Speed == 0)
		_ = player.SetSpeed(float64(w.Speed)) // what is out of range changes nothing
		player.Follow(ctx.Sender, w.Follow)
	}, netcode.FromClient(), netcode.Over(netcode.ReliableOrdered))
}

func replay(group *systems.ServerSystems, file io.ReadSeeker) (*record.Player, error) {
	player, err := record.Play(group.Server, file) // before the first frame; the world of the group stays empty
	if err == nil {
		group.Server.SetInterest(player.Interest(nil)) // in the place of nil: the interest of those who follow nobody
	}
	return player, err
}

// end guide

// begin guide
func verify(server *netcode.Server, world *ecs.World, file io.Reader, game ...systems.System) (*record.Difference, error) {
	var now time.Duration
	group := systems.NewServer(server, systems.Offline{}, func() time.Duration { return now })
	group.Add(tick.Update, game...)
	loop := systems.NewRunner(world, group, server.TickRate())
	return record.Replay(server, file, func(at time.Duration) {
		now = at
		loop.Step()
	})
}

// end guide

// begin guide
func remember(server *netcode.Server, file io.Writer) (*record.Memory, error) { // once; without a file the memory alone
	memory := record.NewMemory(8 * server.TickRate())
	_, err := record.Start(server, io.MultiWriter(memory, file))
	return memory, err
}

func killcam(live *netcode.Server, memory *record.Memory, camera *systems.ServerSystems) (*record.Player, error) {
	record.Flush(live) // else the newest second is missing
	player, err := record.Play(camera.Server, memory.Recording())
	if err == nil {
		err = player.SetSpeed(0.5)
	}
	return player, err
}

// end guide

func TestTheKillcamShowsTheLastSeconds(t *testing.T) {
	protocol := netcode.NewProtocol()
	netcode.Replicate[Health](protocol)
	var memory *record.Memory
	var file bytes.Buffer
	live := nettest.New(t, nettest.Config{Protocol: protocol, Rate: 30, Setup: func(s *systems.ServerSystems, w *ecs.World) {
		var err error
		memory, err = remember(s.Server, &file)
		require.NoError(t, err)
	}})
	live.Run(20 * time.Second)
	var player *record.Player
	camera := nettest.New(t, nettest.Config{Protocol: protocol, Rate: 30, Clients: 1, Setup: func(s *systems.ServerSystems, w *ecs.World) {
		var err error
		player, err = killcam(live.Server.Server, memory, s)
		require.NoError(t, err)
	}})
	require.Equal(t, live.Server.Store().Tick(), player.Last())
	require.InDelta(t, 8.5*30, float64(player.Last()-player.First()), 20)
	camera.Run(2 * time.Second)
	require.InDelta(t, 30, float64(player.Tick()-player.First()), 2)
	require.NotZero(t, file.Len())
}

// Step is a player's way in a tick.
type Step struct{ N int8 }

// counting adds the steps of all players to one Health, in ticks.
type counting struct {
	server *netcode.Server
	all    generic.Map2[components.Replicated, Health]
	it     ecs.Entity
	more   uint8
}

func (c *counting) Initialize(w *ecs.World) {
	c.all = generic.NewMap2[components.Replicated, Health](w)
	c.it = c.all.NewWith(&components.Replicated{}, &Health{})
}

func (c *counting) Update(*ecs.World) {
	if !c.server.TickDue() {
		return
	}
	_, health := c.all.Get(c.it)
	health.Now += c.more
	for client := range c.server.Clients {
		step, _ := input.Of[Step](c.server, client)
		health.Now += uint8(step.N)
	}
}

func (c *counting) Finalize(*ecs.World) {}

func TestADeterministicGameIsVerified(t *testing.T) {
	protocol := netcode.NewProtocol()
	netcode.Replicate[Health](protocol)
	input.Register[Step](protocol)
	var file bytes.Buffer
	var stop func() error
	live := nettest.New(t, nettest.Config{Protocol: protocol, Rate: 30, Clients: 2, Server: netcode.Config{TickRate: 30}, Link: transport.Link{Delay: 40 * time.Millisecond, Loss: 0.1},
		Setup: func(s *systems.ServerSystems, w *ecs.World) {
			s.Add(tick.Update, &counting{server: s.Server})
			var err error
			stop, err = record.Start(s.Server, &file, record.Inputs())
			require.NoError(t, err)
		},
		SetupClient: func(i int, c *systems.ClientSystems, _ *ecs.World) {
			frame := 0
			c.Add(tick.Update, systems.Func(func(*ecs.World) {
				frame++
				_ = input.Set(c.Client, &Step{int8(frame % (7 + i))})
			}))
		},
	})
	live.Run(8 * time.Second)
	live.Clients[1].Client.Close()
	live.Run(2 * time.Second)
	require.NoError(t, stop())

	again := func(more uint8) *record.Difference {
		server, err := netcode.NewServer(protocol, netcode.Config{TickRate: 30})
		require.NoError(t, err)
		world := ecs.New()
		difference, err := verify(server, world, bytes.NewReader(file.Bytes()), &counting{server: server, more: more})
		require.NoError(t, err)
		return difference
	}
	require.Nil(t, again(0))
	require.Equal(t, "Health", again(1).Component)
}

func TestSpectatorsWatchAReplay(t *testing.T) {
	protocol := netcode.NewProtocol()
	netcode.Replicate[Health](protocol)
	watching(protocol)
	var file bytes.Buffer
	live := nettest.New(t, nettest.Config{Protocol: protocol, Rate: 30, Game: func(w *ecs.World, frame int) {
		things := generic.NewMap2[components.Replicated, Health](w)
		if frame == 1 {
			things.NewWith(&components.Replicated{}, &Health{})
		}
		for query := generic.NewFilter1[Health]().Query(w); query.Next(); {
			query.Get().Now = uint8(frame)
		}
	}})
	stop, err := record.Start(live.Server.Server, &file)
	require.NoError(t, err)
	live.Run(4 * time.Second)
	require.NoError(t, stop())

	var player *record.Player
	n := nettest.New(t, nettest.Config{Protocol: protocol, Rate: 30, Clients: 2, Setup: func(s *systems.ServerSystems, w *ecs.World) {
		player, err = replay(s, bytes.NewReader(file.Bytes()))
		require.NoError(t, err)
	}})
	n.Run(time.Second)
	wish := func(w Wish) {
		require.NoError(t, netcode.Send(n.Clients[1].Client, netcode.ToServer(), &w))
		n.Run(time.Second)
	}
	wish(Wish{Seek: player.First() + 80})
	require.True(t, player.Paused())
	require.Equal(t, player.First()+80, player.Tick())
	n.AssertConverge()
	for _, c := range n.Clients {
		query := generic.NewFilter1[Health]().Query(c.World)
		require.Equal(t, 1, query.Count())
		for query.Next() {
			require.EqualValues(t, 81, query.Get().Now)
		}
	}
	wish(Wish{Seek: player.First(), Speed: 0.5})
	require.InDelta(t, 15, float64(player.Tick()-player.First()), 2)
	wish(Wish{Speed: 17})
	require.False(t, player.Paused())
}

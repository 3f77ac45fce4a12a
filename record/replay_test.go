package record_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/extend"
	"github.com/arche-netcode/netcode/input"
	"github.com/arche-netcode/netcode/internal/alloctest"
	"github.com/arche-netcode/netcode/internal/steps"
	ecs "github.com/arche-netcode/netcode/internal/world"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/nettest"
	"github.com/arche-netcode/netcode/record"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
)

type (
	keys struct {
		Move int8
		Jump bool `net:"event"`
	}
	shove struct{ By int16 } // A message of a client about its body.
)

// walkers is a deterministic game: players walk by inputs, jump by events and are shoved by messages; the rules kick
// one of them.
type walkers struct {
	group  *systems.ServerSystems
	bodies generic.Map2[components.Replicated, spot]
	of     map[netcode.ClientID]ecs.Entity
	seen   map[tick.Tick]map[netcode.ClientID]keys // actions of players
	heavy  bool                                    // a changed rule: jumps are half as high
	kicked bool
}

func walkersProtocol() *netcode.Protocol {
	p := replayProtocol()
	input.Register[keys](p)
	netcode.Handle[shove](p, nil, netcode.FromClient(), netcode.Over(netcode.ReliableOrdered))
	return p
}

// start sets up the game of a server before its first frame.
func (g *walkers) start(s *systems.ServerSystems, w *ecs.World) {
	g.group, g.of, g.seen = s, map[netcode.ClientID]ecs.Entity{}, map[tick.Tick]map[netcode.ClientID]keys{}
	g.bodies = generic.NewMap2[components.Replicated, spot](w)
	s.Server.OnConnect(func(id netcode.ClientID) {
		g.of[id] = g.bodies.NewWith(&components.Replicated{}, &spot{X: float32(id)})
	})
	s.Server.OnDisconnect(func(id netcode.ClientID, _ *netcode.CloseError) {
		w.RemoveEntity(g.of[id])
		delete(g.of, id)
	})
	netcode.On(s.Server, func(ctx *netcode.Context, m *shove) {
		if e, ok := s.Entity(ctx.Entity); ok {
			_, at := g.bodies.Get(e)
			at.Y += float32(m.By) + float32(ctx.Sender)
		}
	})
	s.Add(tick.Update, systems.Func(g.step))
}

func (g *walkers) step(*ecs.World) {
	s := g.group.Server
	if !s.TickDue() {
		return
	}
	now := map[netcode.ClientID]keys{}
	far := netcode.ClientID(0)
	for id := range s.Clients {
		c, ok := input.Of[keys](s, id)
		_, at := g.bodies.Get(g.of[id])
		if ok {
			now[id] = c
		}
		if at.X += float32(c.Move) / 8; c.Jump && g.heavy {
			at.Y += 0.5
		} else if c.Jump {
			at.Y++
		}
		if !input.Has(s, id) {
			at.X += 0.01
		}
		if at.X > 60 {
			far = id
		}
	}
	g.seen[s.Tick()] = now
	if far != 0 && !g.kicked {
		g.kicked = true
		s.Kick(far, "too far")
	}
}

// recordWalkers records a match of four on a bad link; one leaves, one is lost and one is kicked. late starts the
// recording later.
func recordWalkers(t *testing.T, late bool) (*walkers, []byte) {
	g := &walkers{}
	var file bytes.Buffer
	var stop func() error
	begin := func(s *netcode.Server) {
		var err error
		stop, err = record.Start(s, &file, record.Inputs())
		require.NoError(t, err)
	}
	n := nettest.New(t, nettest.Config{
		Protocol: walkersProtocol(), Clients: 4, Seed: 4, Link: transport.Link{Delay: 60 * time.Millisecond, Jitter: 20 * time.Millisecond, Loss: 0.15},
		Server: netcode.Config{TickRate: replayRate, SilenceTimeout: 2 * time.Second},
		Setup: func(s *systems.ServerSystems, w *ecs.World) {
			if g.start(s, w); !late {
				begin(s.Server)
			}
		},
		SetupClient: func(i int, c *systems.ClientSystems, _ *ecs.World) {
			frame := 0
			c.Add(tick.Update, systems.Func(func(*ecs.World) {
				frame++
				_ = input.Set(c.Client, &keys{Move: int8(frame/20%(5+i)) - 1, Jump: frame%(23+i) == 0})
				for index := range uint32(4) {
					if e := c.Client.Replica(); e != nil && frame%(31+i) == 0 && e.Entity(index).Alive {
						_ = netcode.Send(c.Client, netcode.ToServer(), &shove{int16(i)}, netcode.About(e.Entity(index).ID))
					}
				}
			}))
		},
	})
	if late {
		n.Run(time.Second)
		begin(n.Server.Server)
	}
	n.Run(4 * time.Second)
	n.Clients[0].Client.Close()
	n.Run(2 * time.Second)
	n.Kill(n.Clients[1])
	n.Run(14 * time.Second)
	require.NoError(t, stop())
	require.Len(t, g.of, 1, "one closed, one was lost, one was kicked")
	return g, file.Bytes()
}

// replayWalkers replays the match.
func replayWalkers(t *testing.T, g *walkers, file []byte) (*record.Difference, error) {
	server, err := netcode.NewServer(walkersProtocol(), netcode.Config{TickRate: replayRate})
	require.NoError(t, err)
	world := ecs.New()
	var now time.Duration
	group := systems.NewServer(server, systems.Offline{}, func() time.Duration { return now })
	g.start(group, world)
	loop := systems.NewRunner(world, group, replayRate)
	return record.Replay(server, bytes.NewReader(file), func(at time.Duration) {
		now = at
		loop.Step()
	})
}

// In a replay players join, act, send messages and leave as recorded, and the state of each tick is equal. A changed
// rule is reported at its first effect.
func TestAGameReplaysFromItsInputs(t *testing.T) {
	live, file := recordWalkers(t, false)
	again := &walkers{}
	difference, err := replayWalkers(t, again, file)
	require.NoError(t, err)
	require.Nil(t, difference)
	require.Equal(t, live.seen, again.seen)

	first := tick.None
	for now, all := range live.seen {
		for _, c := range all {
			if c.Jump && (first == tick.None || now < first) {
				first = now
			}
		}
	}
	difference, err = replayWalkers(t, &walkers{heavy: true}, file)
	require.NoError(t, err)
	require.NotNil(t, difference)
	require.Equal(t, first, difference.Tick)
	require.Equal(t, "spot", difference.Component)
	require.Equal(t, "Y", difference.Field)
}

// A playback has the inputs of its tick, also after a seek.
func TestAPlaybackHasTheInputs(t *testing.T) {
	live, file := recordWalkers(t, false)
	server, err := netcode.NewServer(walkersProtocol(), netcode.Config{TickRate: replayRate})
	require.NoError(t, err)
	p, err := record.Play(server, bytes.NewReader(file))
	require.NoError(t, err)
	frame := 0
	for i := range 200 {
		if i%10 == 9 {
			p.Seek(p.First() + tick.Tick(i*7919%500))
		}
		steps.OfServer(server).BeginFrame(time.Duration(frame) * time.Second / replayRate)
		steps.OfServer(server).Send()
		frame++
		for id := range netcode.ClientID(6) {
			want, has := live.seen[p.Tick()][id]
			got, ok := input.Recorded[keys](server, id)
			if has {
				require.True(t, ok, "client %d at %d", id, p.Tick())
				require.Equal(t, want, got)
			}
		}
	}
}

func TestReplayRefuses(t *testing.T) {
	_, late := recordWalkers(t, true)
	_, err := replayWalkers(t, &walkers{}, late)
	require.ErrorIs(t, err, record.ErrReplay)
	other, err := netcode.NewServer(replayProtocol(), netcode.Config{TickRate: replayRate})
	require.NoError(t, err)
	g := recordGame(t, 1, 1)
	_, err = record.Replay(other, bytes.NewReader(g.file.Bytes()), func(time.Duration) {})
	require.ErrorIs(t, err, record.ErrReplay, "no frame was run")
	less := netcode.NewProtocol()
	netcode.Replicate[spot](less)
	server, err := netcode.NewServer(less, netcode.Config{TickRate: replayRate})
	require.NoError(t, err)
	_, err = record.Replay(server, bytes.NewReader(g.file.Bytes()), func(time.Duration) {})
	require.ErrorIs(t, err, record.ErrProtocol)
}

// Recording inputs and messages of players allocates nothing.
func TestRecordedInputsAllocateNothing(t *testing.T) {
	p := walkersProtocol()
	server, err := netcode.NewServer(p, netcode.Config{TickRate: replayRate})
	require.NoError(t, err)
	host, err := netcode.NewClient(p, netcode.Config{TickRate: replayRate})
	require.NoError(t, err)
	require.NoError(t, netcode.Host(server, host))
	netcode.On(server, func(*netcode.Context, *shove) {})
	stop, err := record.Start(server, &nowhere{}, record.Inputs(), record.Messages())
	require.NoError(t, err)
	frame := 0
	step := func() {
		now := time.Duration(frame) * time.Second / replayRate
		steps.OfServer(server).BeginFrame(now)
		steps.OfClient(host).BeginFrame(now)
		_ = input.Set(host, &keys{Move: int8(frame % 100), Jump: frame%5 == 0})
		_ = netcode.Send(host, netcode.ToServer(), &shove{int16(frame)})
		steps.OfServer(server).Dispatch(tick.Update)
		steps.OfClient(host).Dispatch(tick.Update)
		server.Store().Begin(server.Tick())
		server.Store().Commit()
		steps.OfClient(host).Send()
		steps.OfServer(server).Send()
		frame++
	}
	for range 300 {
		step()
	}
	alloctest.Zero(t, 200, step)
	require.NoError(t, stop())
}

// A game that stops accepting players also sends them away in a replay.
func TestAGameThatCloses(t *testing.T) {
	server, err := netcode.NewServer(walkersProtocol(), netcode.Config{TickRate: replayRate})
	require.NoError(t, err)
	steps.OfServer(server).BeginFrame(0)
	_, err = extend.OfServer(server).AddRecordedPlayer(3)
	require.NoError(t, err)
	server.SetOpen(false)
	require.True(t, extend.OfServer(server).Session(3) == nil)
	steps.OfServer(server).Send()
}

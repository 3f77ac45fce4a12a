package record_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/internal/alloctest"
	"github.com/arche-netcode/netcode/internal/steps"
	ecs "github.com/arche-netcode/netcode/internal/world"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/nettest"
	"github.com/arche-netcode/netcode/record"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

type (
	boom  struct{ N uint32 } // to all
	point struct {           // to clients that see the named entity
		N  uint32
		At netcode.NetworkID `net:"entity"`
	}
	whisper struct{ Text string } // to one or several
	hit     struct{ N uint32 }    // to all but one, about an entity
)

// Serialize implements wire.Serializable.
func (w *whisper) Serialize(s *wire.Serializer) { s.String(&w.Text, 100) }

func talkingProtocol() *netcode.Protocol {
	p := replayProtocol()
	ordered := netcode.Over(netcode.ReliableOrdered)
	netcode.Handle[boom](p, nil, ordered)
	netcode.Handle[point](p, nil, ordered)
	netcode.Handle[whisper](p, nil, ordered)
	netcode.Handle[hit](p, nil, ordered)
	return p
}

// ear stores the messages that a client receives, by the tick in which they were sent.
type ear struct {
	booms, hits []uint32
	points      map[uint32]netcode.NetworkID
	texts       []string
	about       map[uint32]netcode.NetworkID
}

func listen(client *netcode.Client) *ear {
	e := &ear{points: map[uint32]netcode.NetworkID{}, about: map[uint32]netcode.NetworkID{}}
	netcode.On(client, func(_ *netcode.Context, m *boom) { e.booms = append(e.booms, m.N) })
	netcode.On(client, func(_ *netcode.Context, m *point) { e.points[m.N] = m.At })
	netcode.On(client, func(_ *netcode.Context, m *whisper) { e.texts = append(e.texts, m.Text) })
	netcode.On(client, func(ctx *netcode.Context, m *hit) { e.hits, e.about[m.N] = append(e.hits, m.N), ctx.Entity })
	return e
}

// talkingGame records a server that sends messages to three clients for 8 s. N of each is its tick.
type talkingGame struct {
	file    bytes.Buffer
	ears    []*ear
	clients []netcode.ClientID
}

func recordTalk(t *testing.T, options ...record.Option) *talkingGame {
	g := &talkingGame{}
	var group *systems.ServerSystems
	var body ecs.Entity
	n := nettest.New(t, nettest.Config{
		Protocol: talkingProtocol(), Clients: 3, Rate: replayRate, Server: netcode.Config{TickRate: replayRate},
		Setup: func(s *systems.ServerSystems, w *ecs.World) {
			group = s
			bodies := generic.NewMap2[components.Replicated, spot](w)
			body = bodies.NewWith(&components.Replicated{}, &spot{})
		},
		SetupClient: func(_ int, c *systems.ClientSystems, _ *ecs.World) { g.ears = append(g.ears, listen(c.Client)) },
	})
	n.Run(time.Second)
	stop, err := record.Start(n.Server.Server, &g.file, options...)
	require.NoError(t, err)
	for _, c := range n.Clients {
		g.clients = append(g.clients, c.ID())
	}
	n.Step() // the first tick has no message: a paused playback would not send it
	id, _ := group.ID(body)
	for frame := range 8 * replayRate {
		now := uint32(n.Server.Tick() + 1)
		server := n.Server.Server
		require.NoError(t, netcode.Send(server, netcode.ToAll(), &boom{now}))
		switch frame % 4 {
		case 0:
			require.NoError(t, netcode.Send(server, netcode.ToSeers(id), &point{now, id}))
		case 1:
			require.NoError(t, netcode.Send(server, netcode.To(g.clients[frame/4%3]), &whisper{"one"}))
		case 2:
			require.NoError(t, netcode.Send(server, netcode.ToMany(g.clients[:2]), &whisper{"two"}))
		case 3:
			require.NoError(t, netcode.Send(server, netcode.ToAllBut(g.clients[1]), &hit{now}, netcode.About(id)))
		}
		n.Step()
	}
	n.Run(time.Second)
	require.NoError(t, stop())
	return g
}

// talkBack plays a recording to two spectators; the second follows a recorded player.
func talkBack(t *testing.T, g *talkingGame, follows netcode.ClientID) (*nettest.Net, *record.Player, []*ear) {
	var p *record.Player
	var ears []*ear
	n := nettest.New(t, nettest.Config{
		Protocol: talkingProtocol(), Clients: 2, Seed: 9, Rate: replayRate, Server: netcode.Config{TickRate: replayRate},
		Setup: func(s *systems.ServerSystems, w *ecs.World) {
			for range 5 {
				s.Server.Spawn() // gives the playback other ids
			}
			var err error
			p, err = record.Play(s.Server, bytes.NewReader(g.file.Bytes()))
			require.NoError(t, err)
			p.Pause(true)
		},
		SetupClient: func(_ int, c *systems.ClientSystems, _ *ecs.World) { ears = append(ears, listen(c.Client)) },
	})
	n.Run(time.Second)
	p.Follow(n.Clients[1].ID(), follows)
	p.Pause(false)
	return n, p, ears
}

// Spectators receive the messages to all, and those to the player that they follow, with the entities of the playback.
func TestSpectatorsGetTheMessages(t *testing.T) {
	g := recordTalk(t, record.Messages())
	for i, follows := range g.clients {
		n, p, ears := talkBack(t, g, follows)
		n.Run(10 * time.Second)
		free, led, was := ears[0], ears[1], g.ears[i]
		require.Equal(t, was.booms, led.booms)
		require.Equal(t, was.texts, led.texts)
		require.Equal(t, was.hits, led.hits)
		require.Len(t, led.points, len(was.points))
		for of, at := range was.points {
			require.Equal(t, p.ID(at), led.points[of])
			require.NotEqual(t, at, led.points[of])
		}
		for of, at := range was.about {
			require.Equal(t, p.ID(at), led.about[of])
		}
		require.Len(t, free.booms, 8*replayRate)
		require.Len(t, free.points, 2*replayRate)
		require.Len(t, free.hits, 2*replayRate)
		require.Empty(t, free.texts)
	}
}

type ping struct{ N uint32 } // unreliable and without a stage: Send has a fast path for it

// Messages on the server's fast path to one client are recorded too, even if the path was cached before.
func TestPlainMessagesToOneClientAreRecorded(t *testing.T) {
	p := replayProtocol()
	netcode.Handle[ping](p, nil)
	n := nettest.New(t, nettest.Config{Protocol: p, Clients: 1, Rate: replayRate, Server: netcode.Config{TickRate: replayRate}})
	n.Run(time.Second)
	send := func() { require.NoError(t, netcode.Send(n.Server.Server, netcode.To(n.Clients[0].ID()), &ping{7})) }
	send()
	send()
	var file bytes.Buffer
	stop, err := record.Start(n.Server.Server, &file, record.Messages())
	require.NoError(t, err)
	for range 10 {
		send()
		n.Step()
	}
	require.NoError(t, stop())
	r, err := record.NewReader(&file)
	require.NoError(t, err)
	notes := 0
	for _, err = r.Next(); err == nil; _, err = r.Next() {
		for _, note := range r.Notes() {
			if note.Kind == 4 {
				notes++
			}
		}
	}
	require.Equal(t, 10, notes)
}

// A seek sends no message of the skipped ticks. A pause delays messages. Each speed sends all in order.
func TestMessagesFollowThePlayback(t *testing.T) {
	g := recordTalk(t, record.Messages())
	n, p, ears := talkBack(t, g, 0)
	n.Run(time.Second)
	heard := len(ears[0].booms)
	require.InDelta(t, replayRate, heard, 2)
	from := p.First() + 5*replayRate + 7
	p.Seek(from)
	n.Run(500 * time.Millisecond)
	later := ears[0].booms[heard:]
	require.InDelta(t, replayRate/2, len(later), 2, "no burst")
	require.EqualValues(t, from+1, later[0])
	p.Pause(true)
	n.Run(200 * time.Millisecond)
	heard = len(ears[0].booms)
	n.Run(time.Second)
	require.Len(t, ears[0].booms, heard)

	for _, speed := range []float64{0.1, 1, 16} {
		p.Seek(p.First())
		p.Pause(true)
		n.Run(200 * time.Millisecond)
		heard = len(ears[0].booms)
		require.NoError(t, p.SetSpeed(speed))
		p.Pause(false)
		n.Run(2 * time.Second)
		p.Pause(true)
		n.Run(200 * time.Millisecond)
		got := ears[0].booms[heard:]
		require.InDelta(t, min(2*replayRate*speed, 8*replayRate-1), len(got), 2)
		for i, of := range got {
			require.EqualValues(t, int(p.First())+1+i, of, "at speed %g", speed)
		}
	}
}

// Without the option, a recording has no messages.
func TestMessagesAreAnOption(t *testing.T) {
	g := recordTalk(t)
	_, p, ears := talkBack(t, g, g.clients[0])
	require.NotZero(t, p.Last())
	require.Empty(t, ears[0].booms)
	r, err := record.NewReader(bytes.NewReader(g.file.Bytes()))
	require.NoError(t, err)
	for _, err = r.Next(); err == nil; _, err = r.Next() {
		for _, note := range r.Notes() {
			require.NotEqualValues(t, 4, note.Kind)
		}
	}
}

// A program that lacks a recorded message type, or has it with other fields, plays the others.
func TestMessagesOfAnotherBuildAreLeftOut(t *testing.T) {
	g := recordTalk(t, record.Messages())
	type boom struct{ N uint16 }
	protocol := replayProtocol()
	var got []string
	netcode.Handle[boom](protocol, func(*netcode.Context, *boom) { t.Error("it has other fields") })
	netcode.Handle(protocol, func(_ *netcode.Context, m *whisper) { got = append(got, m.Text) }, netcode.Over(netcode.ReliableOrdered))
	var p *record.Player
	n := nettest.New(t, nettest.Config{
		Protocol: protocol, Clients: 1, Rate: replayRate, Server: netcode.Config{TickRate: replayRate},
		Setup: func(s *systems.ServerSystems, _ *ecs.World) {
			var err error
			p, err = record.Play(s.Server, bytes.NewReader(g.file.Bytes()))
			require.NoError(t, err)
			p.Pause(true)
		},
	})
	n.Run(time.Second)
	p.Follow(n.Clients[0].ID(), g.clients[0])
	p.Pause(false)
	n.Run(10 * time.Second)
	require.Equal(t, g.ears[0].texts, got)
}

// The player of a host is a client like any other: its messages are recorded.
func TestMessagesToAHostAreRecorded(t *testing.T) {
	p := talkingProtocol()
	server, err := netcode.NewServer(p, netcode.Config{TickRate: replayRate})
	require.NoError(t, err)
	host, err := netcode.NewClient(p, netcode.Config{TickRate: replayRate})
	require.NoError(t, err)
	was := listen(host)
	require.NoError(t, netcode.Host(server, host))
	g := &talkingGame{}
	stop, err := record.Start(server, &g.file, record.Messages())
	require.NoError(t, err)
	for frame := range 41 {
		now := time.Duration(frame) * time.Second / replayRate
		steps.OfServer(server).BeginFrame(now)
		steps.OfClient(host).BeginFrame(now)
		if frame > 0 {
			require.NoError(t, netcode.Send(server, netcode.To(host.ID()), &whisper{"host"}))
		}
		steps.OfServer(server).Dispatch(tick.Update)
		steps.OfClient(host).Dispatch(tick.Update)
		server.Store().Begin(server.Tick())
		server.Store().Commit()
		steps.OfClient(host).Send()
		steps.OfServer(server).Send()
	}
	require.NoError(t, stop())
	require.Len(t, was.texts, 40)
	n, _, ears := talkBack(t, g, host.ID())
	n.Run(3 * time.Second)
	require.Len(t, ears[1].texts, 40)
	require.Empty(t, ears[0].texts)
}

// Recording messages allocates nothing.
func TestRecordedMessagesAllocateNothing(t *testing.T) {
	server, err := netcode.NewServer(talkingProtocol(), netcode.Config{TickRate: replayRate})
	require.NoError(t, err)
	stop, err := record.Start(server, &nowhere{}, record.Messages())
	require.NoError(t, err)
	frame := 0
	m := &boom{}
	step := func() {
		steps.OfServer(server).BeginFrame(time.Duration(frame) * time.Second / replayRate)
		m.N++
		_ = netcode.Send(server, netcode.ToAll(), m)
		server.Store().Begin(server.Tick())
		server.Store().Commit()
		steps.OfServer(server).Send()
		frame++
	}
	for range 200 {
		step()
	}
	alloctest.Zero(t, 200, step)
	require.NoError(t, stop())
}

// nowhere discards all bytes.
type nowhere struct{}

func (*nowhere) Write(b []byte) (int, error) { return len(b), nil }

// seekCounter counts the chunks that are read.
type seekCounter struct {
	*bytes.Reader
	seeks int
}

func (c *seekCounter) Seek(offset int64, whence int) (int64, error) {
	c.seeks++
	return c.Reader.Seek(offset, whence)
}

// A seek reads only the destination's chunk, also during playback.
func TestASeekInPlayReadsNoChunkBetween(t *testing.T) {
	g := recordTalk(t, record.Messages())
	file := &seekCounter{Reader: bytes.NewReader(g.file.Bytes())}
	server, err := netcode.NewServer(talkingProtocol(), netcode.Config{TickRate: replayRate})
	require.NoError(t, err)
	p, err := record.Play(server, file)
	require.NoError(t, err)
	frame := 0
	run := func() {
		steps.OfServer(server).BeginFrame(time.Duration(frame) * time.Second / replayRate)
		steps.OfServer(server).Send()
		frame++
	}
	run()
	run()
	file.seeks = 0
	p.Seek(p.First() + 7*replayRate)
	run()
	require.LessOrEqual(t, file.seeks, 2)
}

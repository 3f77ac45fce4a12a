package main

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	netecs "github.com/arche-netcode/netcode/ecs"
	"github.com/arche-netcode/netcode/input"
	ecs "github.com/arche-netcode/netcode/internal/world"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/memory"
	"github.com/arche-netcode/netcode/wire"
)

// A hundred players run to one place, where all of them see each other: bormor.dev's test of Unreal's Iris (2025) as far as its description goes.
// They begin at most 800 metres from the middle of a flat map, and nothing stands in their way. Here everyone sees everyone from the beginning on.

const (
	playersScene  = "players"
	hundredCount  = 100
	hundredHz     = 30
	hundredWarm   = 5 * hundredHz
	hundredFrames = 30 * hundredHz
	hundredFar    = 800 // metres
	hundredSpeed  = 6   // m/s
)

// A player's components, in centimetres; the directions are those that its player wishes.
type (
	hundredPlace struct {
		X, Y float32 `net:"min=-1024,max=1024,step=0.01"`
	}
	hundredLook struct {
		Yaw float32 `net:"angle,bits=8"`
	}
	hundredSpeeds struct {
		X, Y float32 `net:"min=-16,max=16,step=0.01"`
	}
	hundredInput struct {
		X, Y float32 `net:"axis"`
	}
)

// hundred is a server with its players.
type hundred struct {
	now     time.Duration
	server  *netcode.Server
	group   *systems.ServerSystems
	socket  *countedSocket
	world   *ecs.World
	loop    *systems.Runner
	players []*hundredPlayer
	history [digestsKept]asOf
	faults  []error
}

type hundredPlayer struct {
	client *netcode.Client
	world  *ecs.World
	loop   *systems.Runner
}

func newHundred(n lossPoint) (*hundred, error) {
	p := netcode.NewProtocol()
	netcode.Replicate[components.Owner](p)
	netcode.Replicate[hundredPlace](p)
	netcode.Replicate[hundredLook](p)
	netcode.Replicate[hundredSpeeds](p)
	input.Register[hundredInput](p)
	config := netcode.Config{TickRate: hundredHz, SendBudget: -1, Clients: hundredCount}
	h := &hundred{world: ecs.New()}
	var err error
	if h.server, err = netcode.NewServer(p, config); err != nil {
		return nil, err
	}
	fault := func(err error) { h.faults = append(h.faults, err) }
	h.server.OnError(fault)
	network, clock := memory.NewNetwork(), func() time.Duration { return h.now }
	listen := func(seed int) (transport.Conn, error) {
		conn, err := network.Listen(transport.Addr{})
		return transport.Condition(conn, n.link(), uint64(seed), clock), err
	}
	conn, err := listen(0)
	if err != nil {
		return nil, err
	}
	h.socket = &countedSocket{socket: conn, headers: true}
	h.group = systems.NewServer(h.server, h.socket, clock)
	h.group.Add(tick.Update, systems.Func(h.play))
	h.loop = systems.NewRunner(h.world, h.group, hundredHz)
	make4 := generic.NewMap5[components.Replicated, components.Owner, hundredPlace, hundredLook, hundredSpeeds](h.world)
	h.server.OnConnect(func(id netcode.ClientID) {
		sin, cos := math.Sincos(float64(id) * 2.4)
		far := hundredFar * math.Sqrt(float64(id)/hundredCount)
		make4.NewWith(&components.Replicated{}, &components.Owner{Client: id}, &hundredPlace{float32(far * cos), float32(far * sin)}, &hundredLook{}, &hundredSpeeds{})
	})
	for i := range hundredCount {
		client, err := netcode.NewClient(p, config)
		if err != nil {
			return nil, err
		}
		client.OnError(fault)
		socket, err := listen(i + 1)
		if err != nil {
			return nil, err
		}
		player := &hundredPlayer{client: client, world: ecs.New()}
		player.loop = systems.NewRunner(player.world, systems.NewClient(client, socket, clock), hundredHz)
		h.players = append(h.players, player)
		if err := client.Connect(conn.LocalAddr()); err != nil {
			return nil, err
		}
	}
	return h, nil
}

// play moves each player as its input says, and lets it look there.
func (h *hundred) play(w *ecs.World) {
	if !h.server.TickDue() {
		return
	}
	all := generic.NewFilter4[components.Owner, hundredPlace, hundredLook, hundredSpeeds]()
	for query := all.Query(w); query.Next(); {
		owner, at, look, speed := query.Get()
		in, _ := input.At[hundredInput](h.server, owner.Client, h.server.Tick())
		speed.X += (in.X*hundredSpeed - speed.X) * 0.3
		speed.Y += (in.Y*hundredSpeed - speed.Y) * 0.3
		at.X, at.Y = at.X+speed.X/hundredHz, at.Y+speed.Y/hundredHz
		if in != (hundredInput{}) {
			look.Yaw = float32(math.Atan2(float64(in.Y), float64(in.X)))
		}
	}
}

// steer chooses a player's input: towards the middle, in slight curves, and around it once it is there.
func (p *hundredPlayer) steer(frame, i int) {
	id := p.client.ID()
	at, found := hundredPlace{}, false
	all := generic.NewFilter2[components.Owner, hundredPlace]()
	for query := all.Query(p.world); query.Next(); {
		if owner, place := query.Get(); owner.Client == id {
			at, found = *place, true
		}
	}
	if !found {
		return
	}
	angle := math.Atan2(float64(-at.Y), float64(-at.X)) + 0.4*math.Sin(float64(frame)/40+float64(i))
	if math.Hypot(float64(at.X), float64(at.Y)) < 10 {
		angle += math.Pi / 2
	}
	sin, cos := math.Sincos(angle)
	_ = input.Set(p.client, &hundredInput{float32(cos), float32(sin)}) // a client that is not connected has no input
}

// frame plays a frame of all, and returns the time that the server used of the processor, in ns.
func (h *hundred) frame(n int) float64 {
	h.now = time.Duration(n+1) * time.Second / hundredHz
	before := cpuTime()
	h.loop.Step()
	spent := cpuTime() - before
	was := &h.history[int64(h.server.Tick())%digestsKept]
	was.tick = h.server.Tick()
	was.digest = netecs.DigestStore(h.server.Store(), h.server.Protocol().Schema(), func(wire.NetworkID) bool { return true })
	for i, p := range h.players {
		p.steer(n, i)
		p.loop.Step()
	}
	return spent
}

// compareViews holds each player's world against the server's of its tick.
func (h *hundred) compareViews() error {
	for i, p := range h.players {
		t := p.client.Replica().Tick()
		was := &h.history[int64(t)%digestsKept]
		if p.client.State() != netcode.Connected || was.tick != t {
			return fmt.Errorf("player %d is at tick %d, the server at %d: %w", i, t, h.server.Tick(), p.client.Err())
		}
		if netecs.Digest(p.world, h.server.Protocol().Schema()) != was.digest {
			return fmt.Errorf("player %d: its world of tick %d is not the server's", i, t)
		}
	}
	return nil
}

// runHundred measures the bytes to one of the players, and the processor's time of a server's frame.
func runHundred(o options) error {
	for _, n := range []lossPoint{{roundTrip: 100 * time.Millisecond}, {roundTrip: 100 * time.Millisecond, loss: .05}} {
		h, err := newHundred(n)
		if err != nil {
			return err
		}
		var spent []float64
		var bytes, sent int64
		for frame := range hundredWarm + hundredFrames {
			if frame == hundredWarm {
				bytes, sent = h.socket.sentBytes, h.socket.sent
			}
			took := h.frame(frame)
			if frame < hundredWarm {
				continue
			}
			spent = append(spent, took)
			if n.loss == 0 && frame%hundredHz == 0 {
				if err := errors.Join(append(h.faults, h.compareViews())...); err != nil {
					return err
				}
			}
		}
		bytes, sent = h.socket.sentBytes-bytes, h.socket.sent-sent
		if err := errors.Join(h.faults...); err != nil {
			return err
		}
		params := map[string]any{
			"rtt_ms": int(n.roundTrip / time.Millisecond), "loss": n.loss, "players": hundredCount, "hz": hundredHz,
			"server_ms": median(spent) / 1e6, "server_p99_ms": quantile(spent, .99) / 1e6, "packets_a_tick": math.Round(float64(sent)/hundredFrames) / hundredCount,
		}
		o.report(result{
			Scenario: playersScene, Value: float64(bytes+sent*sceneHeader) / 1000 / hundredCount / (hundredFrames / hundredHz), Unit: "kB/s", Params: params,
		}.against((36 + 8 + 24) * hundredCount / 8 * hundredHz / 1000.))
	}
	return nil
}

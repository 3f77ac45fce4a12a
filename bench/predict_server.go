package main

import (
	"fmt"
	"math"
	"time"

	"github.com/mlange-42/arche/ecs"
	"github.com/mlange-42/arche/generic"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/input"
	"github.com/arche-netcode/netcode/predict"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/memory"
)

const (
	predictClients      = 64
	predictServerTarget = 1.05 // Times the tick of the same game without prediction.
	predictServerFrames = 120  // Frames before measuring.
)

// playedServer is a server with clients that each steer a body, with prediction or without.
type playedServer struct {
	now     time.Duration
	server  *netcode.Server
	world   ecs.World
	loop    *systems.Runner
	clients []*playedClient
	fault   error
	took    []float64 // ns of a frame.
}

type playedClient struct {
	client *netcode.Client
	world  ecs.World
	sim    *predict.Simulation // Nil without prediction.
	frame  []systems.System
}

// steering moves the bodies that players own, and a tenth of the others on circles.
type steering struct {
	owned  *generic.Filter4[components.Owner, quantPosition, quantRotation, quantVelocity]
	input  func(owner netcode.ClientID) predictInput
	mine   netcode.ClientID // At a client, that of its player: it moves no other.
	others bool
	step   int
}

func (s *steering) move(w *ecs.World) {
	if s.owned == nil {
		s.owned = generic.NewFilter4[components.Owner, quantPosition, quantRotation, quantVelocity]()
	}
	s.step++
	n := 0
	for query := s.owned.Query(w); query.Next(); n++ {
		owner, at, turn, speed := query.Get()
		p, r, v := position(*at), rotation(*turn), velocity(*speed)
		switch {
		case s.mine != 0 && owner.Client != s.mine:
		case owner.Client != 0:
			driveBody(&p, &r, &v, s.input(owner.Client), 0)
		case s.others && n%10 == 0:
			phase := float64(s.step)*.05 + float64(n)
			driveBody(&p, &r, &v, predictInput{X: float32(math.Cos(phase)), Y: float32(math.Sin(phase))}, 0)
		}
		*at, *turn, *speed = quantPosition(p), quantRotation(r), quantVelocity(v)
	}
}

// newPlayedServer makes a server of so many bodies, of which each of the clients owns one.
func newPlayedServer(bodies int, predicted bool) (*playedServer, error) {
	p := netcode.NewProtocol()
	netcode.Replicate[components.Owner](p)
	netcode.Replicate[quantPosition](p)
	netcode.Replicate[quantRotation](p)
	netcode.Replicate[quantVelocity](p)
	input.Register[predictInput](p)
	if predicted {
		predict.Register[quantPosition](p)
		predict.Register[quantRotation](p)
		predict.Register[quantVelocity](p)
	}
	config := netcode.Config{TickRate: tickHz, SendBudget: -1, Clients: predictClients}
	s := &playedServer{world: ecs.NewWorld()}
	var err error
	if s.server, err = netcode.NewServer(p, config); err != nil {
		return nil, err
	}
	s.server.OnError(func(err error) { s.fault = err })
	network := memory.NewNetwork()
	socket, err := network.Listen(transport.Addr{})
	if err != nil {
		return nil, err
	}
	s.start(socket, predicted)
	placePredicted[quantPosition, quantRotation, quantVelocity](&s.world, bodies-predictClients, 0, true)
	s.server.OnConnect(func(id netcode.ClientID) {
		placePredicted[quantPosition, quantRotation, quantVelocity](&s.world, 1, id, true)
	})
	for range predictClients {
		conn, err := network.Listen(transport.Addr{})
		if err != nil {
			return nil, err
		}
		if err := s.join(p, config, transport.Condition(conn, transport.Link{Delay: predictDelay}, uint64(len(s.clients)), s.clock), socket.LocalAddr(), predicted); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (s *playedServer) clock() time.Duration { return s.now }

// start adds the game's systems: as a simulation, or as they are.
func (s *playedServer) start(socket transport.Conn, predicted bool) {
	group := systems.NewServer(s.server, socket, s.clock)
	game := &steering{others: true}
	if predicted {
		predict.Simulate(group, predict.Config{}, predict.Func(func(step *predict.Step) {
			game.input = func(owner netcode.ClientID) predictInput {
				in, _ := predict.Input[predictInput](step, owner)
				return in
			}
			game.move(step.World)
		}))
	} else {
		game.input = func(owner netcode.ClientID) predictInput {
			in, _ := input.At[predictInput](s.server, owner, s.server.Tick())
			return in
		}
		group.Add(netcode.StageUpdate, systems.Func(func(w *ecs.World) {
			if s.server.TickDue() {
				game.move(w)
			}
		}))
	}
	s.loop = systems.NewRunner(&s.world, group, tickHz)
}

// join adds a client, which predicts its own body or nothing.
func (s *playedServer) join(p *netcode.Protocol, config netcode.Config, conn transport.Conn, address transport.Addr, predicted bool) error {
	client, err := netcode.NewClient(p, config)
	if err != nil {
		return err
	}
	client.OnError(func(err error) { s.fault = err })
	c := &playedClient{client: client, world: ecs.NewWorld()}
	group := systems.NewClient(client, conn, s.clock)
	if predicted {
		game := &steering{}
		c.sim = predict.Simulate(group, predict.Config{}, predict.Func(func(step *predict.Step) {
			game.mine = client.ID()
			game.input = func(owner netcode.ClientID) predictInput {
				in, _ := predict.Input[predictInput](step, owner)
				return in
			}
			game.move(step.World)
		}))
	}
	c.frame = group.Systems()
	for _, system := range c.frame {
		system.Initialize(&c.world)
	}
	s.clients = append(s.clients, c)
	return client.Connect(address)
}

// frame is a frame of all ends. It measures the server's.
func (s *playedServer) frame(measured bool) {
	s.now += time.Second / tickHz
	took := timed(s.loop.Step)
	if measured {
		s.took = append(s.took, took)
	}
	for i, c := range s.clients {
		at := s.now.Seconds() + float64(i)
		_ = input.Set(c.client, &predictInput{X: float32(math.Sin(at)), Y: float32(math.Cos(at))})
		for _, system := range c.frame {
			system.Update(&c.world)
		}
	}
}

func (s *playedServer) mispredicted() (sum uint64) {
	for _, c := range s.clients {
		sum += c.sim.Stats().Mispredictions
	}
	return sum
}

// runPredictServer measures the server's tick with 64 predicting clients against the same game without prediction, in turns.
func runPredictServer(o options) error {
	bodies := max(o.entities, 1000)
	var games [2]*playedServer
	for i := range games {
		var err error
		if games[i], err = newPlayedServer(bodies, i == 1); err != nil {
			return err
		}
		for range predictServerFrames {
			games[i].frame(false)
		}
	}
	for start := time.Now(); time.Since(start) < 4*o.budget || len(games[0].took) < 60; {
		for _, g := range games {
			g.frame(true)
		}
	}
	for _, g := range games {
		playing := 0
		for range g.server.Clients {
			playing++
		}
		if g.fault != nil || playing != predictClients {
			return fmt.Errorf("%d clients play, of %d: %w", playing, predictClients, g.fault)
		}
	}
	if wrong := games[1].mispredicted(); wrong > 0 {
		return fmt.Errorf("%d mispredictions where nobody interferes", wrong)
	}
	r := result{Scenario: "predict.server", Main: true, Value: median(games[1].took) / 1000, Unit: "us", Params: map[string]any{
		"entities": bodies, "clients": predictClients, "frames": len(games[0].took), "anchor": "the same game without prediction",
		"p99": quantile(games[1].took, .99) / 1000, "fastest": quantile(games[1].took, 0) / 1000, "anchor_fastest": quantile(games[0].took, 0) / 1000,
	}}
	o.report(r.against(median(games[0].took)/1000).ratioTarget(predictServerTarget, true))
	return nil
}

package main

import (
	"fmt"
	"math"
	"time"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/input"
	ecs "github.com/arche-netcode/netcode/internal/world"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/predict"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/tick"
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
	world   *ecs.World
	loop    *systems.Runner
	clients []*playedClient
	fault   error
	took    []float64 // ns of a frame.
}

type playedClient struct {
	client  *netcode.Client
	world   *ecs.World
	sim     *predict.Simulation // Nil without prediction.
	systems []systems.System
}

// steering moves the bodies that players own, and a tenth of the others on circles. It is the game of both servers.
type steering struct {
	bodies *generic.Filter4[components.Owner, quantPosition, quantRotation, quantVelocity] // At a client, those that it predicts.
	input  func(owner netcode.ClientID) predictInput
	steps  int
}

func newSteering() *steering {
	return &steering{bodies: generic.NewFilter4[components.Owner, quantPosition, quantRotation, quantVelocity]()}
}

// newPredictedSteering is the same game as a system of a simulation.
func newPredictedSteering() predict.System {
	s := newSteering()
	s.bodies.With(generic.T[components.Simulate]())
	return predict.Func(func(step *predict.Step) {
		s.input = func(owner netcode.ClientID) predictInput {
			in, _ := predict.Input[predictInput](step, owner)
			return in
		}
		s.steer(step.World)
	})
}

// steer takes a step.
func (s *steering) steer(w *ecs.World) {
	s.steps++
	n := 0
	for query := s.bodies.Query(w); query.Next(); n++ {
		owner, at, turn, speed := query.Get()
		p, r, v := position(*at), rotation(*turn), velocity(*speed)
		switch {
		case owner.Client != 0:
			driveBody(&p, &r, &v, s.input(owner.Client), 0)
		case n%10 == 0:
			phase := float64(s.steps)*.05 + float64(n)
			driveBody(&p, &r, &v, predictInput{X: float32(math.Cos(phase)), Y: float32(math.Sin(phase))}, 0)
		}
		*at, *turn, *speed = quantPosition(p), quantRotation(r), quantVelocity(v)
	}
}

// newPlayedServer makes a server with some bodies. Each client owns one of them.
func newPlayedServer(bodies int, predicted bool) (*playedServer, error) {
	p := predictProtocol[quantPosition, quantRotation, quantVelocity](predicted)
	config := netcode.Config{TickRate: tickHz, SendBudget: -1, Clients: predictClients}
	s := &playedServer{world: ecs.New()}
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
	placePredicted[quantPosition, quantRotation, quantVelocity](s.world, bodies-predictClients, 0, true)
	s.server.OnConnect(func(id netcode.ClientID) {
		placePredicted[quantPosition, quantRotation, quantVelocity](s.world, 1, id, true)
	})
	for range predictClients {
		conn, err := network.Listen(transport.Addr{})
		if err != nil {
			return nil, err
		}
		slow := transport.Condition(conn, transport.Link{Delay: predictDelay}, uint64(len(s.clients)), s.clock)
		if err := s.addClient(p, config, slow, socket.LocalAddr(), predicted); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (s *playedServer) clock() time.Duration { return s.now }

// start adds the game: as a simulation, or as a plain system.
func (s *playedServer) start(socket transport.Conn, predicted bool) {
	group := systems.NewServer(s.server, socket, s.clock)
	if predicted {
		predict.Simulate(group, predict.Config{}, newPredictedSteering())
	} else {
		game := newSteering()
		game.input = func(owner netcode.ClientID) predictInput {
			in, _ := input.At[predictInput](s.server, owner, s.server.Tick())
			return in
		}
		group.Add(tick.Update, systems.Func(func(w *ecs.World) {
			if s.server.TickDue() {
				game.steer(w)
			}
		}))
	}
	s.loop = systems.NewRunner(s.world, group, tickHz)
}

// addClient adds a client, which predicts its own body or nothing.
func (s *playedServer) addClient(p *netcode.Protocol, config netcode.Config, conn transport.Conn, server transport.Addr, predicted bool) error {
	client, err := netcode.NewClient(p, config)
	if err != nil {
		return err
	}
	client.OnError(func(err error) { s.fault = err })
	c := &playedClient{client: client, world: ecs.New()}
	group := systems.NewClient(client, conn, s.clock)
	if predicted {
		c.sim = predict.Simulate(group, predict.Config{}, newPredictedSteering())
	}
	c.systems = group.Systems()
	for _, system := range c.systems {
		system.Initialize(c.world)
	}
	s.clients = append(s.clients, c)
	return client.Connect(server)
}

// serveFrame runs a frame of the server, and returns its time in ns.
func (s *playedServer) serveFrame() float64 {
	s.now += time.Second / tickHz
	return timed(s.loop.Step)
}

// playFrame runs a frame of the clients.
func (s *playedServer) playFrame() {
	for i, c := range s.clients {
		at := s.now.Seconds() + float64(i)
		_ = input.Set(c.client, &predictInput{X: float32(math.Sin(at)), Y: float32(math.Cos(at))})
		for _, system := range c.systems {
			system.Update(c.world)
		}
	}
}

// check returns an error if a client does not predict its body, and that alone, or if it was wrong.
func (s *playedServer) check() error {
	for _, c := range s.clients {
		if stats := c.sim.Stats(); stats.Started != 1 || stats.Mispredictions != 0 {
			return fmt.Errorf("client %d predicts %d bodies, with %d mispredictions where nobody interferes", c.client.ID(), stats.Started, stats.Mispredictions)
		}
	}
	return nil
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
	}
	// The clients of both run between the frames of the servers, which of the two begins by turns: neither finds more in the cache.
	for frame, start := 0, time.Now(); time.Since(start) < 4*o.budget || len(games[0].took) < 60; frame++ {
		for i := range games {
			g := games[(i+frame)%2]
			if took := g.serveFrame(); frame >= predictServerFrames {
				g.took = append(g.took, took)
			}
		}
		for _, g := range games {
			g.playFrame()
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
	if err := games[1].check(); err != nil {
		return err
	}
	r := result{Scenario: "predict.server", Main: true, Value: median(games[1].took) / 1000, Unit: "us", Params: map[string]any{
		"entities": bodies, "clients": predictClients, "frames": len(games[0].took), "anchor": "the same game without prediction",
		"p99": quantile(games[1].took, .99) / 1000, "fastest": quantile(games[1].took, 0) / 1000, "anchor_fastest": quantile(games[0].took, 0) / 1000,
	}}
	o.report(r.against(median(games[0].took)/1000).ratioTarget(predictServerTarget, true))
	return nil
}

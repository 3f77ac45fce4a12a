package main

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/consistent"
	"github.com/arche-netcode/netcode/extend"
	ecs "github.com/arche-netcode/netcode/internal/world"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/memory"
)

const (
	wholeEntities = 500 // each is written in each tick
	wholeFrames   = 300 // that are looked at
	wholeHz       = 30
)

// stamped is written in each tick: the tick's number, and what no code can guess.
type stamped struct{ Tick, Noise uint32 }

// wholeRun counts the frames of a client.
type wholeRun struct {
	torn   int       // frames with entities of more than one tick
	age    histogram // by frame: ticks from the oldest entity to the server's tick
	bytes  int64     // that the server sent
	frames int
	stats  consistent.Stats
}

// playWhole plays a world in which each tick writes every entity.
func playWhole(p lossPoint, whole bool) (r *wholeRun, err error) {
	r = &wholeRun{}
	protocol := netcode.NewProtocol()
	netcode.Replicate[stamped](protocol)
	if whole {
		consistent.Register(protocol)
	}
	now := time.Duration(0)
	clock := func() time.Duration { return now }
	network, address := memory.NewNetwork(), transport.MustParseAddr("127.0.0.1:1")
	var links []*transport.Conditioner
	listen := func(a transport.Addr) transport.Conn {
		end, fault := network.Listen(a)
		if fault != nil {
			err = fault
			return nil
		}
		links = append(links, transport.Condition(end, transport.Link{Delay: p.roundTrip / 2}, uint64(len(links)+1), clock))
		return links[len(links)-1]
	}
	config := netcode.Config{TickRate: wholeHz, SendBudget: -1, Random: rand.NewChaCha8([32]byte{1})}
	server, err := netcode.NewServer(protocol, config)
	if err != nil {
		return r, err
	}
	client, err := netcode.NewClient(protocol, config)
	if err != nil {
		return r, err
	}
	serverWorld, clientWorld := ecs.New(1024), ecs.New(1024)
	loops := []*systems.Runner{
		systems.NewRunner(serverWorld, systems.NewServer(server, listen(address), clock), wholeHz),
		systems.NewRunner(clientWorld, systems.NewClient(client, listen(transport.Addr{}), clock), wholeHz),
	}
	if err != nil {
		return r, err
	}
	if err := client.Connect(address); err != nil {
		return r, err
	}
	return r, r.playAt(p, &wholeEnds{server, client, serverWorld, clientWorld, loops, links, &now})
}

// wholeEnds is a server, a client and the links between them.
type wholeEnds struct {
	server                   *netcode.Server
	client                   *netcode.Client
	serverWorld, clientWorld *ecs.World
	loops                    []*systems.Runner
	links                    []*transport.Conditioner
	now                      *time.Duration
}

// playAt joins over a good network, and then measures frames over a bad one.
func (r *wholeRun) playAt(p lossPoint, e *wholeEnds) error {
	bodies, random := generic.NewMap2[stamped, components.Replicated](e.serverWorld), rand.New(rand.NewPCG(1, 2))
	for range wholeEntities {
		bodies.New()
	}
	written, seen := generic.NewFilter1[stamped](), generic.NewFilter1[stamped]()
	step := func() {
		*e.now += time.Second / wholeHz
		for q := written.Query(e.serverWorld); q.Next(); {
			*q.Get() = stamped{Tick: uint32(e.server.Tick() + 1), Noise: random.Uint32()}
		}
		for _, l := range e.loops {
			l.Step()
		}
	}
	extend.OfServer(e.server).Extend(extend.ServerHooks{Sent: func(_ extend.Session, packet []byte) { r.bytes += int64(len(packet)) }})
	for range 3 * wholeHz {
		step()
	}
	for _, l := range e.links {
		l.SetLink(p.link())
	}
	for r.bytes = 0; r.frames < wholeFrames; r.frames++ {
		step()
		r.look(e.clientWorld, seen, e.server.Tick())
	}
	var whole bool
	if r.stats, whole = consistent.Of(e.client); e.client.State() != netcode.Connected || whole && r.torn > 0 {
		return fmt.Errorf("%d torn frames, the client is %v", r.torn, e.client.State())
	}
	return nil
}

// look takes in a frame of the client.
func (r *wholeRun) look(w *ecs.World, seen *generic.Filter1[stamped], now netcode.Tick) {
	oldest, newest := uint32(1<<32-1), uint32(0)
	for q := seen.Query(w); q.Next(); {
		oldest, newest = min(oldest, q.Get().Tick), max(newest, q.Get().Tick)
	}
	if oldest != newest {
		r.torn++
	}
	r.age.add(int(now) - int(oldest))
}

// reportWhole prints how many frames are torn without package consistent, and how old what is shown is with it.
func reportWhole(o options, p lossPoint) error {
	torn, err := playWhole(p, false)
	if err != nil {
		return err
	}
	whole, err := playWhole(p, true)
	if err != nil {
		return err
	}
	params := func() map[string]any {
		return map[string]any{"rtt_ms": int(p.roundTrip / time.Millisecond), "loss": p.loss, "burst_length": p.burst.Length, "entities": wholeEntities, "frames": wholeFrames}
	}
	line := result{Scenario: "loss.torn", Value: float64(whole.torn), Unit: "frames", Params: params()}.valueTarget(0, true)
	line.Params["without"] = torn.torn
	o.report(line)
	line = result{Scenario: "loss.whole", Value: float64(whole.age.quantile(0.5)), Unit: "ticks", Params: params()}
	line = line.against(float64(torn.age.quantile(0.5)))
	line.Params["anchor"] = "the oldest entity of the torn world"
	line.Params["p99"], line.Params["anchor_p99"] = whole.age.quantile(0.99), torn.age.quantile(0.99)
	line.Params["behind_mean"], line.Params["behind_most"] = whole.stats.MeanBehind, whole.stats.MaxBehind
	line.Params["bytes"] = float64(whole.bytes) / float64(torn.bytes)
	line.Params["shown"], line.Params["repaired"] = whole.stats.Complete, whole.stats.Repaired
	o.report(line)
	return nil
}

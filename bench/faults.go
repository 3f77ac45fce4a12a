package main

import (
	"errors"
	"runtime"
	"slices"
	"time"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	ecs "github.com/arche-netcode/netcode/internal/world"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/nettest/adversary"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/memory"
)

// Load with faults on: the figures of docs/reliability.md as a load.
const (
	faultsRate   = 60
	faultsLoss   = .1
	faultsChurn  = 10 // joins and leaves a second
	faultsTarget = 8  // ms, of the 99th percentile of a tick
	faultsTime   = 20 * time.Second
	faultsBudget = 64 << 10 // bytes a second to one client: the default of Config.SendBudget
)

// faultsSpot is the component of all entities.
type faultsSpot struct {
	X, Y float32 `net:"min=-512,max=512,step=0.01"`
}

// faultsClient is an honest client.
type faultsClient struct {
	*netcode.Client
	loop   *systems.Runner
	leaves int // the frame in which it leaves; 0: never
}

// faultsLoad is a server in one process with its clients, on a virtual clock. Only the server's frames are timed.
type faultsLoad struct {
	now     time.Duration
	network *memory.Network
	p       *netcode.Protocol
	server  *netcode.Server
	loop    *systems.Runner
	world   *ecs.World
	bodies  []ecs.Entity
	honest  []*faultsClient
	flooder *adversary.Client
	ticks   []time.Duration
	serial  uint64
	joins   int
}

func runFaults(o options) error {
	entities, clients, span := orInt(o.entities, 1000), orInt(o.clients, 64), o.budget
	if span <= 0 {
		span = faultsTime
	}
	l, err := newFaultsLoad(entities, clients)
	if err != nil {
		return err
	}
	if err := l.playFrames(int(span.Seconds()*faultsRate), clients); err != nil {
		return err
	}
	slices.Sort(l.ticks)
	ms := func(share float64) float64 {
		return float64(l.ticks[int(float64(len(l.ticks)-1)*share)].Microseconds()) / 1000
	}
	params := map[string]any{
		"entities": entities, "clients": clients, "hz": faultsRate, "loss": faultsLoss, "churn": faultsChurn, "seconds": span.Seconds(),
		"flood": l.flooder.Told("Flood") + l.flooder.Told("Messages"), "joins": l.joins, "p50": ms(.5), "longest": ms(1), "in_step": l.inStep(),
		"bytes": l.mostBytes(),
	}
	o.report(result{Scenario: "faults.tick", Params: params, Value: ms(.99), Unit: "ms at the 99th percentile", Main: true}.
		valueTarget(faultsTarget, l.inStep() == len(l.honest) && l.mostBytes() <= faultsBudget))
	return nil
}

func orInt(given, usual int) int {
	if given > 0 {
		return given
	}
	return usual
}

func newFaultsLoad(entities, clients int) (*faultsLoad, error) {
	l := &faultsLoad{network: memory.NewNetwork(), p: netcode.NewProtocol(), world: ecs.New()}
	netcode.Replicate[faultsSpot](l.p)
	conn, err := l.listen()
	if err != nil {
		return nil, err
	}
	l.server, err = netcode.NewServer(l.p, netcode.Config{TickRate: faultsRate, Clients: 2 * clients, SilenceTimeout: time.Hour, Entities: 2 * entities})
	if err != nil {
		return nil, err
	}
	l.loop = systems.NewRunner(l.world, systems.NewServer(l.server, conn, l.clock), faultsRate)
	maker := generic.NewMap2[components.Replicated, faultsSpot](l.world)
	for range entities {
		l.bodies = append(l.bodies, maker.NewWith(&components.Replicated{}, &faultsSpot{}))
	}
	for range clients - 1 {
		if err := l.connect(conn.LocalAddr(), 0); err != nil {
			return nil, err
		}
	}
	socket, err := l.listen()
	if err != nil {
		return nil, err
	}
	l.flooder = adversary.NewClient(adversary.Config{Protocol: l.p, Conn: socket, Remote: conn.LocalAddr(), Now: l.clock, Seed: 1})
	return l, nil
}

func (l *faultsLoad) clock() time.Duration { return l.now }

// listen opens an end behind a link that loses.
func (l *faultsLoad) listen() (transport.Conn, error) {
	conn, err := l.network.Listen(transport.Addr{})
	if err != nil {
		return nil, err
	}
	l.serial++
	return transport.Condition(conn, transport.Link{Delay: 30 * time.Millisecond, Jitter: 5 * time.Millisecond, Loss: faultsLoss}, l.serial, l.clock), nil
}

// connect adds an honest client.
func (l *faultsLoad) connect(server transport.Addr, leaves int) error {
	socket, err := l.listen()
	if err != nil {
		return err
	}
	c, err := netcode.NewClient(l.p, netcode.Config{})
	if err != nil {
		return err
	}
	w := ecs.New()
	l.honest = append(l.honest, &faultsClient{Client: c, loop: systems.NewRunner(w, systems.NewClient(c, socket, l.clock), faultsRate), leaves: leaves})
	return c.Connect(server)
}

// playFrames plays so many frames after all have joined. The first client is dead from then on; the flooder floods.
func (l *faultsLoad) playFrames(frames, clients int) error {
	dead := l.honest[0]
	at := generic.NewMap[faultsSpot](l.world)
	address := l.flooderRemote()
	for frame := -3 * faultsRate; frame < frames; frame++ {
		l.now += time.Second / faultsRate
		for i := range len(l.bodies) / 10 {
			b := at.Get(l.bodies[(i*10+frame+3*faultsRate)%len(l.bodies)])
			b.X, b.Y = float32(frame%100), b.Y+.01
		}
		began := time.Now()
		l.loop.Step()
		if frame >= 0 {
			l.ticks = append(l.ticks, time.Since(began))
		}
		if frame == 0 {
			l.honest = slices.DeleteFunc(l.honest, func(c *faultsClient) bool { return c == dead })
			runtime.GC()
		}
		l.flooder.Step()
		if frame >= 0 {
			l.flooder.Flood(50)
			if frame%(faultsRate/faultsChurn) == 0 {
				l.joins++
				if err := l.connect(address, frame+2*faultsRate); err != nil {
					return err
				}
			}
		}
		l.frames(frame)
	}
	if len(l.ticks) == 0 {
		return errors.New("no frame was timed")
	}
	return nil
}

func (l *faultsLoad) flooderRemote() transport.Addr { return l.flooder.Remote() }

// frames lets each client take a frame.
func (l *faultsLoad) frames(frame int) {
	for _, c := range l.honest {
		if c.leaves == frame && frame > 0 {
			c.Close()
		}
		c.loop.Step()
	}
	l.honest = slices.DeleteFunc(l.honest, func(c *faultsClient) bool { return c.leaves > 0 && frame > c.leaves+faultsRate })
}

// inStep returns how many honest clients are connected and within half a second of the server, or on their way in or out.
func (l *faultsLoad) inStep() (n int) {
	for _, c := range l.honest {
		if c.leaves > 0 || c.State() == netcode.Connected && l.server.Tick()-c.Replica().Tick() < faultsRate/2 {
			n++
		}
	}
	return n
}

// mostBytes returns the bytes a second that the server has sent to the client to which it sent most.
func (l *faultsLoad) mostBytes() (most int) {
	for id := range l.server.Clients {
		if stats, ok := l.server.ClientStats(id); ok {
			most = max(most, int(float64(stats.Packets.BytesSent)/l.now.Seconds()))
		}
	}
	return most
}

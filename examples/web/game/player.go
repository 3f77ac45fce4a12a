package game

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mlange-42/arche/ecs"
	"github.com/mlange-42/arche/generic"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	netecs "github.com/arche-netcode/netcode/ecs"
	"github.com/arche-netcode/netcode/input"
	"github.com/arche-netcode/netcode/predict"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
)

// Socket is a client's transport: transport/web, transport/webtransport and transport/websocket have one each.
type Socket interface {
	systems.Socket
	Server() transport.Addr
	Done() <-chan struct{} // Closed when the connection has ended.
	Err() error
}

// Body is a body as it is drawn.
type Body struct {
	X, Y float32
	Hue  uint8
	Own  bool // The player's avatar, which is predicted.
}

// Panel is the figures beside the field.
type Panel struct {
	State
	Connected bool
	RTT       float64 // In milliseconds, smoothed.
	Loss      float64 // Of the client's packets, from 0 to 1.
	Rate      float64 // Received in the last second, in kB/s.
	Replayed  uint64  // Ticks that were simulated again.
	Bodies    int     // On the screen.
	OwnX      float32
	OwnY      float32
}

// Player is a client of the game.
type Player struct {
	Stick func() Stick                      // The input of a frame.
	Draw  func(bodies []Body, panel *Panel) // Called at the end of each frame. The bodies are good until it returns.

	Group      *systems.ClientSystems // For a page about this client: join.Show.
	Simulation *predict.Simulation

	client *netcode.Client
	world  ecs.World
	loop   *systems.Runner
	socket Socket
	shown  *generic.Filter2[components.Smooth[Position], Look]
	owners generic.Map1[components.Owner]
	bodies []Body
	panel  Panel
	ended  error

	now      func() time.Duration
	measured time.Duration // When Rate was.
	received uint64        // Bytes until then.
}

// NewPlayer makes a client on a socket, and begins to connect.
func NewPlayer(socket Socket) (*Player, error) {
	client, err := netcode.NewClient(NewProtocol(), config())
	if err != nil {
		return nil, err
	}
	p := &Player{
		client: client, world: ecs.NewWorld(), socket: socket, now: systems.WallClock(),
		Stick: func() Stick { return Stick{} }, Draw: func([]Body, *Panel) {},
		shown: generic.NewFilter2[components.Smooth[Position], Look](),
	}
	p.owners = generic.NewMap1[components.Owner](&p.world)
	group := systems.NewClient(client, socket, p.now)
	p.Group, p.Simulation = group, predict.Simulate(group, predict.Config{}, predict.Func(move))
	group.Add(tick.PreUpdate, systems.Func(p.decide))
	group.Add(tick.PostLateUpdate, systems.Func(p.show))
	p.loop = systems.NewRunner(&p.world, group, frameRate)
	return p, client.Connect(socket.Server())
}

// Run plays until ctx is done or the connection has ended, and returns the reason.
func (p *Player) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	p.client.OnDisconnect(func(_ netcode.ClientID, reason *netcode.CloseError) { cancel(reason) })
	go func() {
		select {
		case <-p.socket.Done():
			cancel(fmt.Errorf("the transport ended: %w", p.socket.Err()))
		case <-ctx.Done():
		}
	}()
	err := p.loop.Run(ctx)
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) && !errors.Is(cause, context.DeadlineExceeded) {
		return cause
	}
	return err
}

// decide is a system: the input of this frame.
func (p *Player) decide(*ecs.World) {
	if p.client.State() == netcode.Connected {
		stick := p.Stick()
		_ = input.Set(p.client, &stick) // An impossible one is left out.
	}
}

// show is a system: it draws.
func (p *Player) show(w *ecs.World) {
	p.bodies = p.bodies[:0]
	owner := ecs.ComponentID[components.Owner](w)
	for query := p.shown.Query(w); query.Next(); {
		at, look := query.Get()
		own := query.Has(owner) && p.owners.Get(query.Entity()).Client == p.client.ID()
		p.bodies = append(p.bodies, Body{at.Value.X, at.Value.Y, look.Hue, own})
		if own {
			p.panel.OwnX, p.panel.OwnY = at.Value.X, at.Value.Y
		}
	}
	p.measure()
	p.Draw(p.bodies, &p.panel)
}

// measure renews the panel, twice a second.
func (p *Player) measure() {
	p.panel.Connected = p.client.State() == netcode.Connected
	p.panel.Bodies = len(p.bodies)
	if p.now()-p.measured < time.Second/2 {
		return
	}
	rtt, _ := p.client.RTT()
	packets := p.client.Stats().Packets
	p.panel.RTT, p.panel.Loss = float64(rtt)/float64(time.Millisecond), shownLoss(p.client.Loss(), packets.Acked+packets.Lost)
	received := packets.BytesReceived
	p.panel.Rate = float64(received-p.received) / (p.now() - p.measured).Seconds() / 1000
	p.received, p.measured = received, p.now()
	p.panel.Replayed = p.Simulation.Stats().Replayed
	if replica := p.client.Replica(); replica != nil {
		p.panel.State = State{int64(replica.Tick()), hashText(netecs.Digest(&p.world, p.client.Protocol().Schema())), replica.Len()}
	}
}

// shownLoss is the loss on the panel: the first packet that is lost is no loss of 100 %, so missing outcomes count as packets that arrived.
func shownLoss(loss float64, outcomes uint64) float64 {
	return loss * float64(min(outcomes, lossOutcomes)) / lossOutcomes
}

// lossOutcomes is the number of packets from which a loss counts fully.
const lossOutcomes = 32

func hashText(hash uint64) string { return fmt.Sprintf("%016x", hash) }

package systems

import (
	"time"

	"github.com/mlange-42/arche/ecs"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/tick"
)

// HostSystems are the systems of a server and of the player in its process, who share one world: those of the server, and
// at each stage the player's messages beside the server's.
type HostSystems struct {
	*ServerSystems
	Client *netcode.Client // The player's.

	begun bool // The first frame was, and the player joined the game in it, or could not.
}

// NewHost makes the systems of a server, of which client plays at it: netcode.Host. The socket is the server's; the player
// needs none. Its messages are handled before the server's own of the same stage. The player joins in the first frame, as a client
// whose connection comes about: OnConnect of both ends tells, and may be set until then; client.ID() is 0 before. The error
// wraps netcode.ErrHost and names the cause, see netcode.CanHost; where the server is full or closing only in
// the first frame, OnError of both ends is given it, and nobody plays. NewHost panics on an argument that is nil.
func NewHost(server *netcode.Server, client *netcode.Client, socket Socket, now func() time.Duration) (*HostSystems, error) {
	mustBeThere(server != nil, "NewHost", "the server")
	mustBeThere(client != nil, "NewHost", "the client")
	mustBeThere(there(socket), "NewHost", "the socket")
	mustBeThere(now != nil, "NewHost", "the clock")
	if err := netcode.CanHost(server, client); err != nil {
		return nil, err
	}
	return &HostSystems{ServerSystems: NewServer(server, socket, now), Client: client}, nil
}

// Systems implements Group: those of ServerSystems, with the player's among them.
func (h *HostSystems) Systems() []System {
	return h.list(h.Server, func(stage tick.Stage) (before, after []System) {
		before, after = h.around(stage)
		switch stage {
		case tick.Initialization:
			before = append(before, &guest{h.Client, h.Receive.Now, h.enter})
		case tick.EarlyUpdate:
			before = append(before, &guest{h.Client, nil, h.apply})
		case tick.PostLateUpdate:
			after = append([]System{&guest{h.Client, nil, h.leave}}, after...)
		}
		return append(before, &Dispatch{End: h.Client, Stage: stage}), after
	})
}

// enter begins the player's frame, and in the first one its game. There is nothing to receive, and nothing to apply.
func (h *HostSystems) enter(now time.Duration) {
	h.Client.Enter(netcode.StepReceive)
	h.Client.BeginFrame(now)
	if h.begun {
		return
	}
	h.begun = true
	if err := netcode.Host(h.Server, h.Client); err != nil {
		h.Server.Report(err)
		h.Client.Report(err)
	}
}

// apply is where others bring what they received into their worlds.
func (h *HostSystems) apply(time.Duration) { h.Client.Enter(netcode.StepApply) }

// leave ends it.
func (h *HostSystems) leave(time.Duration) {
	h.Client.Enter(netcode.StepSend)
	h.Client.Send()
}

// Close implements Group: the player leaves, and all clients are told that the server is shutting down.
func (h *HostSystems) Close() {
	h.begun = true // One that was closed before its first frame plays no game.
	h.Client.Close()
	h.ServerSystems.Close()
}

// Closed implements Group.
func (h *HostSystems) Closed() bool { return h.ServerSystems.Closed() && h.Client.Closed() }

// guest is one end of the frame of a host's player.
type guest struct {
	client *netcode.Client
	now    func() time.Duration
	do     func(now time.Duration)
}

// Initialize implements System.
func (g *guest) Initialize(*ecs.World) {}

// Update implements System.
func (g *guest) Update(*ecs.World) {
	now := time.Duration(0)
	if g.now != nil {
		now = g.now()
	}
	g.do(now)
}

// Finalize implements System.
func (g *guest) Finalize(*ecs.World) {}

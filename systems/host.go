package systems

import (
	"time"

	"github.com/arche-netcode/netcode"
	netecs "github.com/arche-netcode/netcode/ecs"
	"github.com/arche-netcode/netcode/internal/steps"
	"github.com/arche-netcode/netcode/tick"
)

// HostSystems has the systems of a server and of the player in its process, who share one world. They are the server's
// systems, and also handle the player's messages. Attach opens the game for other players through a socket. Detach closes
// it for them, and the host continues.
type HostSystems struct {
	*ServerSystems
	Client *netcode.Client // The player.
	View   *HostView       // The world as the player sees it.
	// Payload is for OnApprove of the server: as Client.ConnectWith has one. Set it before the first frame.
	Payload []byte

	order *order // The player's order of systems.
	begun bool   // The first frame has run: the player has joined, or could not.
}

// NewHost makes the systems of a server whose player is client: see netcode.Host. The socket is the server's; the player
// needs none. The player's messages are handled before the server's messages of the same stage.
//
// The player joins in the first frame: then OnConnect of both ends is called. Before that, client.ID() is 0. If the
// server is full or closing in the first frame, OnError of both ends gets the error, and there is no player. The returned
// error wraps errs.ErrHost and names the cause: see netcode.Host. NewHost panics on a nil argument.
func NewHost(server *netcode.Server, client *netcode.Client, socket Socket, now func() time.Duration) (*HostSystems, error) {
	mustBeThere(server != nil, "NewHost", "the server")
	mustBeThere(client != nil, "NewHost", "the client")
	mustBeThere(there(socket), "NewHost", "the socket (systems.Offline{} is one to nobody)")
	mustBeThere(now != nil, "NewHost", "the clock")
	if err := steps.OfServer(server).CanHost(client); err != nil {
		return nil, err
	}
	h := &HostSystems{ServerSystems: NewServer(server, socket, now), Client: client}
	h.View = newHostView(h)
	return h, nil
}

// Systems implements Group. It lists a server's frame with the player's steps. The player's messages are handled before
// the server's messages of the same stage.
func (h *HostSystems) Systems() []System {
	f := h.newFrame(h.Client, h.Server)
	f.run(h.Receive, &detacher{h.ServerSystems}, h.Away, player(func() { h.begin(h.Receive.Now()) }))
	f.stage(tick.Initialization)
	f.run(player(func() { enter(h.Client, &h.order, StepApply); h.View.update() })) // There is no state to apply: the player shares the world.
	h.update(f)
	f.stage(tick.PostLateUpdate)
	f.run(player(h.send), h.Send)
	return f.systems
}

// player returns a step of the player's frame as a system.
func player(step func()) System { return Func(func(*netecs.World) { step() }) }

// begin begins the player's frame. In the first frame the player joins.
func (h *HostSystems) begin(now time.Duration) {
	enter(h.Client, &h.order, StepReceive)
	steps.OfClient(h.Client).BeginFrame(now)
	if h.begun {
		return
	}
	h.begun = true
	if err := steps.OfServer(h.Server).Host(h.Client, h.Payload); err != nil {
		h.Server.Report(err)
		h.Client.Report(err)
	}
}

// send ends the player's frame.
func (h *HostSystems) send() {
	enter(h.Client, &h.order, StepSend)
	steps.OfClient(h.Client).Send()
}

// Close implements Group. The player leaves, and all clients are told that the server is shutting down.
func (h *HostSystems) Close() {
	h.begun = true // A host that was closed before its first frame never joins.
	h.Client.Close()
	h.ServerSystems.Close()
}

// Closed implements Group.
func (h *HostSystems) Closed() bool { return h.ServerSystems.Closed() && h.Client.Closed() }

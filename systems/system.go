package systems

import (
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/mlange-42/arche/ecs"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/tick"
)

// System is one step of a frame, in the shape of arche-model's System.
type System interface {
	// Initialize is called once, before the first frame.
	Initialize(w *ecs.World)
	// Update is called once a frame.
	Update(w *ecs.World)
	// Finalize is called once, after the last frame.
	Finalize(w *ecs.World)
}

// ErrOtherWorld is reported once to OnError if Capture or Apply is updated with another world than it was initialised with. It
// replicates the world of Initialize all the same.
var ErrOtherWorld = errors.New("systems: Update was given another world than Initialize, and the one of Initialize is what is replicated: " +
	"give all systems of an end the same *ecs.World")

// ErrServersWorld is reported to OnError, once for each connection, if the systems of a client run in the world of the server that
// it is connected to. Every entity would be there twice, so nothing is applied.
var ErrServersWorld = errors.New("systems: the client runs in the world of the server that it is connected to, so nothing is applied: " +
	"give the client a world of its own, or let the player play in the server's by NewHost")

// Func is a System that is one function, called once a frame. It needs the world only if it asks for it.
type Func func(w *ecs.World)

// Initialize does nothing.
func (f Func) Initialize(*ecs.World) {}

// Update calls the function.
func (f Func) Update(w *ecs.World) { f(w) }

// Finalize does nothing.
func (f Func) Finalize(*ecs.World) {}

// Socket sends and receives datagrams; a transport.Conn is one. Neither call blocks, and Receive returns 0 bytes and no
// error when nothing waits.
type Socket interface {
	// Send sends one datagram. It does not keep the slice.
	Send(to netcode.Addr, datagram []byte) error
	// Receive fills buf with the next datagram that waits. It returns its length and sender.
	Receive(buf []byte) (n int, from netcode.Addr, err error)
}

// End is a netcode.Server or a netcode.Client: what they have in common.
type End interface {
	// BeginFrame starts a frame. now is the time since any fixed moment and never runs backwards.
	BeginFrame(now time.Duration)
	// ReceiveAfter takes one datagram that came some time before this frame. It does not keep the slice.
	ReceiveAfter(from netcode.Addr, packet []byte, waited time.Duration)
	// Dispatch gives the messages that wait for a stage to their handlers.
	Dispatch(stage tick.Stage)
	// Send ends the frame: it builds the packets, which wait for Drain.
	Send()
	// Drain gives out the datagrams that wait to be sent, in order. Each is valid until the function returns.
	Drain(send func(to netcode.Addr, packet []byte))
	// Report passes an error that has no caller to OnError and to the log.
	Report(err error)
}

// Group is a server's or a client's systems together with the game's own, as a Runner runs them.
type Group interface {
	// Systems lists all systems in the order of the frame.
	Systems() []System
	// Close starts to end all connections.
	Close()
	// Closed reports whether the other ends were told and no more frames are needed.
	Closed() bool
}

// stages stores the game's own systems by stage, and lists a frame.
type stages struct {
	game   [tick.NumStages][]System
	listed bool // Systems was called
}

// Add puts systems of the game into a stage, after those that are there already. They run after the handlers of the stage's
// messages. Simulation belongs in FixedUpdate or Update: what runs after PreLateUpdate is not captured in this frame. Add
// everything before Systems is called, which the first frame of a Runner does: Add panics after that, since the systems
// would never run. It also panics on a stage that is none, and on a system that is nil.
func (s *stages) Add(stage netcode.Stage, systems ...System) {
	if !stage.Valid() {
		panic(fmt.Sprintf("systems: Add: %v is no stage", stage))
	}
	if s.listed {
		panic(fmt.Sprintf("systems: Add(%v): too late, the systems are listed already: add before the first frame", stage))
	}
	for i, system := range systems {
		if system == nil {
			panic(fmt.Sprintf("systems: Add(%v): system %d of %d is nil", stage, i+1, len(systems)))
		}
	}
	s.game[stage] = append(s.game[stage], systems...)
}

// frame lists the systems of a frame in order.
type frame struct {
	ends    []End // whose messages each stage dispatches
	game    *stages
	systems []System
}

// newFrame starts the list. The game can add no systems afterwards.
func (s *stages) newFrame(ends ...End) *frame {
	s.listed = true
	return &frame{ends: ends, game: s}
}

// run lists systems of this package.
func (f *frame) run(systems ...System) { f.systems = append(f.systems, systems...) }

// stage lists the dispatches of some stages, each with the game's systems of it.
func (f *frame) stage(list ...tick.Stage) {
	for _, stage := range list {
		for _, end := range f.ends {
			f.run(&Dispatch{End: end, Stage: stage})
		}
		f.run(f.game.game[stage]...)
	}
}

// mustBeAlone panics if another group drives an end: each would begin frames, and receive and send for it.
func mustBeAlone(end End, call, what string) {
	if !orderOf(end).attach() {
		panic("systems: " + call + ": " + what + " is in another group already: one group drives it, until Runner.Close or the systems' Finalize")
	}
}

// mustBeThere panics on an argument that is nil when it is given, and not in the first frame that needs it.
func mustBeThere(given bool, call, what string) {
	if !given {
		panic("systems: " + call + ": " + what + " is nil")
	}
}

// there reports whether an interface contains something that is not a nil pointer, as the socket of a failed Listen.
func there(v any) bool {
	if v == nil {
		return false
	}
	p := reflect.ValueOf(v)
	return p.Kind() != reflect.Pointer || !p.IsNil()
}

// mustBePrivate panics with a *netcode.PlainError if the internet may reach a socket in clear.
func mustBePrivate(server *netcode.Server, socket Socket) {
	if err := server.MayListen(socket); err != nil {
		panic(err)
	}
	server.SetProver(socket)
}

// mustBeGiven panics on a function that is nil when it is given, and not when it is called.
func mustBeGiven(given bool, call string) {
	if !given {
		panic("systems: " + call + ": the function is nil")
	}
}

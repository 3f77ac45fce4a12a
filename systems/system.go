package systems

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/arche-netcode/netcode"
	netecs "github.com/arche-netcode/netcode/ecs"
	"github.com/arche-netcode/netcode/extend"
	"github.com/arche-netcode/netcode/internal/steps"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
)

// System is one step of a frame, with the methods of arche-model's System.
type System interface {
	// Initialize is called once, before the first frame.
	Initialize(w *netecs.World)
	// Update is called once a frame.
	Update(w *netecs.World)
	// Finalize is called once, after the last frame.
	Finalize(w *netecs.World)
}

// ErrOtherWorld is reported once to OnError if Tick or Apply is updated with another world than it was initialised
// with. It continues with the world of Initialize.
var ErrOtherWorld = errors.New("systems: Update was given another world than Initialize, and the one of Initialize is what is replicated: " +
	"give all systems of an end the same *netecs.World")

// ErrServersWorld is reported to OnError, once for each connection, if a client's systems run in the world of the server
// that it is connected to. Nothing is applied, since every entity would exist twice.
var ErrServersWorld = errors.New("systems: the client runs in the world of the server that it is connected to, so nothing is applied: " +
	"give the client a world of its own, or let the player play in the server's by NewHost")

// Func is a System of one function, called once a frame.
type Func func(w *netecs.World)

// Initialize does nothing.
func (f Func) Initialize(*netecs.World) {}

// Update calls the function.
func (f Func) Update(w *netecs.World) { f(w) }

// Finalize does nothing.
func (f Func) Finalize(*netecs.World) {}

// Socket sends and receives datagrams; a transport.Conn is a Socket. Neither call blocks. Receive returns 0 bytes and no
// error when no datagram waits.
type Socket interface {
	// Send sends one datagram. It does not keep the slice.
	Send(to transport.Addr, datagram []byte) error
	// Receive writes the next waiting datagram into buf. It returns its length and sender.
	Receive(buf []byte) (n int, from transport.Addr, err error)
}

// End is a *netcode.Server or a *netcode.Client.
type End interface {
	// Report passes an error that has no caller to OnError and to the log.
	Report(err error)
}

// Group has the systems of a server or client together with the game's own. A Runner runs it.
type Group interface {
	// Systems lists all systems in the order of the frame.
	Systems() []System
	// Close starts to end all connections.
	Close()
	// Closed reports whether the other ends were told and no more frames are needed.
	Closed() bool
}

// stages stores the game's own systems by stage and lists a frame.
type stages struct {
	game   [tick.NumStages][]System
	listed bool // Systems was called.
}

// Add adds systems of the game to a stage, after its present systems. They run after the handlers of the stage's
// messages. Simulation belongs in FixedUpdate or Update: changes after PreLateUpdate are not captured in this frame.
//
// Call Add before Systems, which a Runner calls: a later Add panics, since the systems would never run. Add also panics
// on an unknown stage and on a nil system.
func (s *stages) Add(stage tick.Stage, systems ...System) {
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
	ends    []End // The ends whose messages each stage dispatches.
	game    *stages
	systems []System
}

// newFrame starts the list. From then on Add panics.
func (s *stages) newFrame(ends ...End) *frame {
	s.listed = true
	return &frame{ends: ends, game: s}
}

// run lists systems of this package.
func (f *frame) run(systems ...System) { f.systems = append(f.systems, systems...) }

// stage lists the dispatches of some stages, each followed by the game's systems of the stage.
func (f *frame) stage(list ...tick.Stage) {
	for _, stage := range list {
		for _, end := range f.ends {
			f.run(&Dispatch{End: end, Stage: stage})
		}
		f.run(f.game.game[stage]...)
	}
}

// mustBeAlone panics if another group runs an end: both would begin frames, receive and send for it.
func mustBeAlone(end End, call, what string) {
	if !orderOf(end).attach() {
		panic("systems: " + call + ": " + what + " is in another group already: one group drives it, until Runner.Close or the systems' Finalize")
	}
}

// mustBeThere panics on a nil argument early, in place of a panic in the first frame that needs it.
func mustBeThere(given bool, call, what string) {
	if !given {
		panic("systems: " + call + ": " + what + " is nil")
	}
}

// there reports whether an interface has a value that is not a nil pointer. The socket of a failed Listen is a nil
// pointer.
func there(v any) bool {
	if v == nil {
		return false
	}
	p := reflect.ValueOf(v)
	return p.Kind() != reflect.Pointer || !p.IsNil()
}

// mustBePrivate panics with a *errs.PlainError if the internet may reach an unencrypted socket.
func mustBePrivate(server *netcode.Server, socket Socket) {
	if err := server.MayListen(socket); err != nil {
		panic(err)
	}
	steps.OfServer(server).SetProver(socket)
}

// mustBeGiven panics on a nil function early, in place of a panic when it is called.
func mustBeGiven(given bool, call string) {
	if !given {
		panic("systems: " + call + ": the function is nil")
	}
}

// Step is one action of netcode in a frame, numbered in the order of the frame.
type Step uint8

// The steps without the dispatches. A server's frame has StepReceive, the dispatches with StepTick after
// PreLateUpdate, StepSend. A client's frame has StepReceive, the dispatches with StepApply before EarlyUpdate, StepSend.
const (
	StepReceive Step = 0
	StepApply   Step = 1 + Step(tick.EarlyUpdate)*2
	StepTick    Step = 3 + Step(tick.PreLateUpdate)*2
	StepSend    Step = 4 + Step(tick.PostLateUpdate)*2
)

// StepDispatch returns the step that passes a stage's messages to their handlers.
func StepDispatch(stage tick.Stage) Step { return 2 + Step(stage)*2 }

// String returns the name of the step's system.
func (s Step) String() string {
	switch {
	case s == StepReceive:
		return "Receive"
	case s == StepApply:
		return "Apply"
	case s == StepTick:
		return "Tick"
	case s == StepSend:
		return "Send"
	case s < StepSend && s%2 == 0:
		return fmt.Sprintf("Dispatch(%s)", tick.Stage(s/2-1))
	}
	return fmt.Sprintf("Step(%d)", uint8(s))
}

// OrderError reports that the systems of netcode run in a wrong order, or that one does not run.
type OrderError struct {
	Step  Step // The step that came too late, or not at all.
	After Step // The step that came before Step and should come after it.
	Twice bool // Step ran twice in a row.
	Gone  bool // Step is missing in the first frame. For Dispatch(FixedUpdate), which a frame may lack: in many frames.
}

// Error implements error.
func (e *OrderError) Error() string {
	if e.Twice {
		return fmt.Sprintf("netcode: the system %s ran twice in one frame: run each system of Systems() once a frame", e.Step)
	}
	if e.Gone && e.Step == StepDispatch(tick.FixedUpdate) {
		return fmt.Sprintf("netcode: the system %s has not run in the first %d frames: what is sent to that stage waits for it", e.Step, fixedWithin)
	}
	if e.Gone {
		return fmt.Sprintf("netcode: the system %s has not run by the end of the first frame: add the systems as Systems() lists them", e.Step)
	}
	return fmt.Sprintf("netcode: the system %s runs after %s: keep them in the order of Systems()", e.Step, e.After)
}

// enter notes that a system begins a step of an end's frame. A wrong order or a missing step in the first frame is
// reported to OnError as an *OrderError. FixedUpdate may be missing in the first frames. cached is the caller's pointer
// to the order of the end.
func enter(end End, cached **order, step Step) {
	if *cached == nil {
		*cached = orderOf(end)
	}
	if o := *cached; !o.done {
		o.enter(step)
	}
}

// orderOf returns the order that is stored with an end. An end that is neither a server nor a client gets a new one that
// checks nothing.
func orderOf(end any) *order {
	if o, ok := extend.ExtensionOf[*order](end); ok {
		return o
	}
	of, _ := end.(netcode.Endpoint)
	if s := netcode.ServerOf(of); s != nil {
		o := newOrder(s.Report, StepReceive, StepTick, StepSend)
		extend.OfServer(s).Extend(extend.ServerHooks{State: o})
		return o
	}
	if c := netcode.ClientOf(of); c != nil {
		o := newOrder(c.Report, StepReceive, StepApply, StepSend)
		extend.OfClient(c).Extend(extend.ClientHooks{State: o})
		return o
	}
	return &order{done: true}
}

// attach notes that a group runs the end. It returns false if a group does already.
func (o *order) attach() bool {
	was := o.attached
	o.attached = true
	return !was
}

// fixedWithin bounds the frames until the first FixedUpdate of a game.
const fixedWithin = 1000

// order is stored with a server or client. It checks the first frame and reports each misplaced step once. A step that runs
// twice in a row ends the check.
type order struct {
	attached bool // A group of systems runs the end.

	want  uint32 // Bit s: a frame needs step s.
	seen  uint32
	last  Step
	begun bool
	// The step last ran twice in a row.
	repeated bool
	frames   int // The number of finished frames.
	done     bool
	report   func(error)
}

// newOrder makes an order that expects the dispatches and these steps.
func newOrder(report func(error), steps ...Step) *order {
	o := &order{report: report}
	for _, s := range steps {
		o.want |= 1 << s
	}
	for stage := range tick.Stage(tick.NumStages) {
		o.want |= 1 << StepDispatch(stage)
	}
	return o
}

// enter notes that a step begins, until the check is over. The first frame ends with StepSend, or when a step repeats
// that a frame has only once. A step that is missing then is missing in the frame or runs after Send. FixedUpdate may
// begin later.
func (o *order) enter(s Step) {
	fixed := s == StepDispatch(tick.FixedUpdate)
	switch {
	case s > StepSend:
		return
	case o.frames > 0:
		o.wait(s)
		return
	case o.repeated && s != o.last:
		o.frames, o.done = 1, true
		o.report(&OrderError{Step: o.last, Twice: true})
		return
	case o.seen&(1<<s) != 0 && !fixed && s == o.last && !o.repeated:
		o.repeated = true // Twice in one frame, or the only step of two frames: the next step tells.
		return
	case o.seen&(1<<s) != 0 && !fixed:
		o.finish()
		return
	}
	if o.begun && s < o.last {
		o.report(&OrderError{Step: s, After: o.last})
	}
	o.begun = true
	o.seen |= 1 << s
	o.last = max(o.last, s)
	if s == StepSend {
		o.finish()
	}
}

// finish reports the steps that the first frame lacked.
func (o *order) finish() {
	fixed := uint32(1) << StepDispatch(tick.FixedUpdate)
	o.frames, o.done = 1, o.seen&fixed != 0
	for s := StepReceive; s <= StepSend; s++ {
		if o.want&^o.seen&^fixed&(1<<s) != 0 {
			o.report(&OrderError{Step: s, Gone: true})
		}
	}
}

// wait waits for the first FixedUpdate in the frames after the first.
func (o *order) wait(s Step) {
	switch s {
	case StepDispatch(tick.FixedUpdate):
		o.done = true
	case StepSend:
		if o.frames++; o.frames >= fixedWithin {
			o.done = true
			o.report(&OrderError{Step: StepDispatch(tick.FixedUpdate), Gone: true})
		}
	}
}

package systems

import (
	"fmt"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/tick"
)

// Step is one thing that a frame does for netcode, in the order of the frame.
type Step uint8

// The steps that are not dispatches. A server's frame is StepReceive, the dispatches with StepCapture after that of
// PreLateUpdate, StepSend. A client's frame is StepReceive, the dispatches with StepApply before that of EarlyUpdate,
// StepSend.
const (
	StepReceive Step = 0
	StepApply   Step = 1 + Step(tick.EarlyUpdate)*2
	StepCapture Step = 3 + Step(tick.PreLateUpdate)*2
	StepSend    Step = 4 + Step(tick.PostLateUpdate)*2
)

// StepDispatch is the step that hands a stage's messages to their handlers.
func StepDispatch(stage tick.Stage) Step { return 2 + Step(stage)*2 }

// String names the step as the system that takes it.
func (s Step) String() string {
	switch {
	case s == StepReceive:
		return "Receive"
	case s == StepApply:
		return "Apply"
	case s == StepCapture:
		return "Capture"
	case s == StepSend:
		return "Send"
	case s < StepSend && s%2 == 0:
		return fmt.Sprintf("Dispatch(%s)", tick.Stage(s/2-1))
	}
	return fmt.Sprintf("Step(%d)", uint8(s))
}

// OrderError says that the systems of netcode run in a wrong order, or that one of them does not run at all.
type OrderError struct {
	Step  Step // The step that came too late, or not at all.
	After Step // The step that came before it and should not have.
	Gone  bool // Step has not come by the end of the first frame; Dispatch(FixedUpdate), which a frame may lack, in many.
}

// Error implements error.
func (e *OrderError) Error() string {
	if e.Gone && e.Step == StepDispatch(tick.FixedUpdate) {
		return fmt.Sprintf("netcode: the system %s has not run in the first %d frames: what is sent to that stage waits for it", e.Step, fixedWithin)
	}
	if e.Gone {
		return fmt.Sprintf("netcode: the system %s has not run by the end of the first frame: add the systems as Systems() lists them", e.Step)
	}
	return fmt.Sprintf("netcode: the system %s runs after %s: keep them in the order of Systems()", e.Step, e.After)
}

// enter notes that a system takes a step of the frame of an end. In the first frame a step that is out of order or does not come
// is reported to OnError, as *OrderError. The first frames may have no fixed step. cached is the caller's order of that end.
func enter(end End, cached **order, step Step) {
	if *cached == nil {
		*cached = orderOf(end)
	}
	(*cached).enter(step)
}

// orderOf returns the order that is kept with an end. An end that is neither a server nor a client has one of its own, which
// watches nothing.
func orderOf(end any) *order {
	if o, ok := netcode.ExtensionOf[*order](end); ok {
		return o
	}
	of, _ := end.(netcode.Endpoint)
	if s := netcode.ServerOf(of); s != nil {
		o := newOrder(s.Report, StepReceive, StepCapture, StepSend)
		s.Extend(netcode.ServerHooks{State: o})
		return o
	}
	if c := netcode.ClientOf(of); c != nil {
		o := newOrder(c.Report, StepReceive, StepApply, StepSend)
		c.Extend(netcode.ClientHooks{State: o})
		return o
	}
	return &order{done: true}
}

// attach notes that a group of systems drives the end, and returns false if one does already.
func (o *order) attach() bool {
	was := o.attached
	o.attached = true
	return !was
}

// fixedWithin bounds the frames until the first fixed step of a game.
const fixedWithin = 1000

// order is kept with a server or a client. It watches the first frame and reports each step that is out of place once.
type order struct {
	attached bool // A group of systems drives the end.

	want   uint32 // Bit s: the frame needs step s.
	seen   uint32
	last   Step
	begun  bool
	frames int // How many are over.
	done   bool
	report func(error)
}

// newOrder watches for the dispatches and for these steps.
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

// enter notes that a step begins. The first frame ends with StepSend, or when a step comes again that a frame has
// only once: what has not come by then is missing, or runs after Send. Only the fixed steps of the game may begin later.
func (o *order) enter(s Step) {
	if !o.done {
		o.watch(s)
	}
}

// watch is enter as long as there is something to find out.
func (o *order) watch(s Step) {
	fixed := s == StepDispatch(tick.FixedUpdate)
	switch {
	case s > StepSend:
		return
	case o.frames > 0:
		o.wait(s)
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

// finish reports what the first frame lacked.
func (o *order) finish() {
	fixed := uint32(1) << StepDispatch(tick.FixedUpdate)
	o.frames, o.done = 1, o.seen&fixed != 0
	for s := StepReceive; s <= StepSend; s++ {
		if o.want&^o.seen&^fixed&(1<<s) != 0 {
			o.report(&OrderError{Step: s, Gone: true})
		}
	}
}

// wait watches the frames after the first for a fixed step.
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

package systems

import (
	"errors"
	"net/netip"
	"time"

	"github.com/mlange-42/arche/ecs"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/tick"
)

// System is one step of a frame, in the shape of arche-model's System: Initialize runs once before the first frame,
// Update once a frame, Finalize once after the last.
type System interface {
	// Initialize is called once, before the first frame.
	Initialize(w *ecs.World)
	// Update is called once a frame.
	Update(w *ecs.World)
	// Finalize is called once, after the last frame.
	Finalize(w *ecs.World)
}

// ErrOtherWorld is told to OnError, once, where Capture or Apply is updated with another world than it was initialised with: the
// one of Initialize is replicated all the same.
var ErrOtherWorld = errors.New("systems: Update was given another world than Initialize, and the one of Initialize is what is replicated: " +
	"give all systems of an end the same *ecs.World")

// ErrServersWorld is told to OnError, once for each connection, where the systems of a client run in the world of the very server that it is
// connected to. Every entity would be there twice, so nothing is applied.
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
	// Send sends one datagram, which is the caller's again when it returns.
	Send(to netip.AddrPort, datagram []byte) error
	// Receive fills buf with the next datagram that waits, and says how long it is and where it came from.
	Receive(buf []byte) (n int, from netip.AddrPort, err error)
}

// End is a netcode.Server or a netcode.Client: what they have in common.
type End interface {
	// Enter notes that a system takes a step of the frame, so that a wrong order can be told of.
	Enter(step netcode.Step)
	// BeginFrame starts a frame. now is the time since any fixed moment and never runs backwards.
	BeginFrame(now time.Duration)
	// Receive takes in one datagram, which is the caller's again when it returns.
	Receive(from netip.AddrPort, packet []byte)
	// Dispatch hands the messages that wait for a stage to their handlers.
	Dispatch(stage tick.Stage)
	// Send ends the frame: it builds the packets, which wait for Drain.
	Send()
	// Drain hands out the datagrams that wait to be sent, in order. Each is good until the function returns.
	Drain(send func(to netip.AddrPort, packet []byte))
	// Report passes an error that has no caller to OnError and to the log.
	Report(err error)
}

package systems

import (
	"net/netip"
	"time"

	"github.com/mlange-42/arche/ecs"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/tick"
)

// System is one step of a frame, in the shape of arche-model's System: Initialize runs once before the first frame,
// Update once a frame, Finalize once after the last.
type System interface {
	Initialize(w *ecs.World)
	Update(w *ecs.World)
	Finalize(w *ecs.World)
}

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
	Send(to netip.AddrPort, datagram []byte) error
	Receive(buf []byte) (n int, from netip.AddrPort, err error)
}

// End is a netcode.Server or a netcode.Client: what they have in common.
type End interface {
	Enter(step netcode.Step)
	BeginFrame(now time.Duration)
	Receive(from netip.AddrPort, packet []byte)
	Dispatch(stage tick.Stage)
	Send()
	Drain(send func(to netip.AddrPort, packet []byte))
	Report(err error)
}

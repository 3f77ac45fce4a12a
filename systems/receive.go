package systems

import (
	"fmt"
	"io"
	"time"

	netecs "github.com/arche-netcode/netcode/ecs"
	"github.com/arche-netcode/netcode/internal/steps"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
)

const (
	// maxDatagrams bounds the datagrams of one frame, so that a flood cannot stop the game.
	maxDatagrams = 8192
	// maxFaults bounds the socket errors of one frame.
	maxFaults = 16
	// maxDatagram is the size of the largest possible datagram, in bytes.
	maxDatagram = 1 << 16
)

// Receive begins the frame and passes the waiting datagrams of the socket to the server or client. It runs first, in
// stage Initialization.
type Receive struct {
	End    End                  // The receiver of the datagrams.
	Socket Socket               // The source of the datagrams.
	Now    func() time.Duration // Time since any fixed moment.

	end    steps.Frame // The steps of End.
	buffer []byte
	faults faults
	order  *order
}

// Initialize implements System.
func (r *Receive) Initialize(*netecs.World) {
	r.end, r.buffer = steps.Of(r.End), make([]byte, maxDatagram)
}

// Update implements System.
func (r *Receive) Update(*netecs.World) {
	enter(r.End, &r.order, StepReceive)
	if r.buffer == nil {
		r.Initialize(nil)
	}
	r.end.BeginFrame(r.Now())
	r.takeAll()
}

// takeAll passes the waiting datagrams to the end.
func (r *Receive) takeAll() {
	bad := 0
	socket, shared := r.Socket.(interface{ Rank(session bool) }) // A transport.Ranker: hosts share its queue.
	end, knows := r.end.(interface {
		Knows(from transport.Addr) bool
	})
	for range maxDatagrams {
		n, from, err := r.Socket.Receive(r.buffer)
		switch {
		case err != nil:
			r.faults.report(r.End, "receiving", err)
			if bad++; bad == maxFaults {
				return
			}
		case n == 0:
			return
		default:
			r.faults.last = ""
			waited := time.Duration(0)
			if socket, ok := r.Socket.(interface{ Waited() time.Duration }); ok { // A transport.Timed.
				waited = socket.Waited()
			}
			r.end.ReceiveAfter(from, r.buffer[:n], waited)
			if shared && knows {
				socket.Rank(end.Knows(from))
			}
		}
	}
}

// Finalize implements System. It closes a socket that implements io.Closer; the socket's goroutine ends with it. Another
// group may then run the server or client.
func (r *Receive) Finalize(*netecs.World) {
	orderOf(r.End).attached = false
	if socket, ok := r.Socket.(io.Closer); ok {
		if err := socket.Close(); err != nil {
			r.faults.report(r.End, "closing", err)
		}
	}
}

// Dispatch passes the messages of a stage to their handlers. Each stage begins with one.
type Dispatch struct {
	End   End        // The server or client with the messages.
	Stage tick.Stage // Dispatch runs at its start.

	end   steps.Frame // The steps of End.
	order *order
}

// Initialize implements System.
func (d *Dispatch) Initialize(*netecs.World) {}

// Update implements System.
func (d *Dispatch) Update(*netecs.World) {
	enter(d.End, &d.order, StepDispatch(d.Stage))
	if d.end == nil {
		d.end = steps.Of(d.End)
	}
	d.end.Dispatch(d.Stage)
}

// Finalize implements System.
func (d *Dispatch) Finalize(*netecs.World) {}

// faults reports a persistent socket error once, and not in every frame.
type faults struct{ last string }

// report reports an error unless its text equals the last one.
func (f *faults) report(end End, doing string, err error) {
	if text := err.Error(); text != f.last {
		f.last = text
		end.Report(fmt.Errorf("netcode: %s: %w", doing, err))
	}
}

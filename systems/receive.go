package systems

import (
	"io"
	"time"

	"github.com/mlange-42/arche/ecs"

	"github.com/arche-netcode/netcode"
)

const (
	// maxDatagrams is how many datagrams one frame takes, so that a flood cannot hold it up for ever.
	maxDatagrams = 8192
	// maxFaults is how many socket faults one frame bears.
	maxFaults = 16
	// maxDatagram is the size of the largest datagram there is, in bytes.
	maxDatagram = 1 << 16
)

// Receive begins the frame and hands the datagrams that wait in the socket to the server or client. It runs first, in
// stage Initialization.
type Receive struct {
	End    End                  // That is given the datagrams.
	Socket Socket               // Where they wait.
	Now    func() time.Duration // Time since any fixed moment.

	buffer []byte
	faults faults
}

// Initialize implements System.
func (r *Receive) Initialize(*ecs.World) { r.buffer = make([]byte, maxDatagram) }

// Update implements System.
func (r *Receive) Update(*ecs.World) {
	r.End.Enter(netcode.StepReceive)
	r.End.BeginFrame(r.Now())
	if r.buffer == nil {
		r.Initialize(nil)
	}
	bad := 0
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
			r.End.Receive(from, r.buffer[:n])
		}
	}
}

// Finalize implements System. It closes the socket, if that can be closed: its goroutine ends with it. Another group may then
// drive the server or client.
func (r *Receive) Finalize(*ecs.World) {
	if end, ok := r.End.(attachable); ok {
		end.Detach()
	}
	if socket, ok := r.Socket.(io.Closer); ok {
		if err := socket.Close(); err != nil {
			r.faults.report(r.End, "closing", err)
		}
	}
}

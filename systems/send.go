package systems

import (
	"fmt"

	netecs "github.com/arche-netcode/netcode/ecs"
	"github.com/arche-netcode/netcode/internal/steps"
	"github.com/arche-netcode/netcode/transport"
)

// Send builds the packets of the frame and passes them to the socket. It runs last, after everything of stage
// PostLateUpdate.
type Send struct {
	End    End    // The builder of the packets.
	Socket Socket // The destination of the packets.

	send    func(to transport.Addr, packet []byte) // Methods, bound once: binding in each frame would allocate.
	sendAll func(to []transport.Addr, runs [][]byte, sizes []int)
	end     steps.Frame // The steps of End.
	all     allDrainer  // Nil if the end or the socket takes one packet at a time.
	socket  allSocket
	fault   error // The first error of the frame.
	faults  faults
	order   *order
}

// allSocket is a socket that sends packets to several addresses at once: transport.BatchSender.
type allSocket interface {
	SendAll(to []transport.Addr, runs [][]byte, sizes []int) (failed int, err error)
}

// allDrainer is an end that may have packets for several addresses.
type allDrainer interface {
	DrainAll(send func(to []transport.Addr, runs [][]byte, sizes []int))
}

// Initialize implements System.
func (s *Send) Initialize(*netecs.World) {
	s.send, s.sendAll = s.toSocket, s.allToSocket
	s.end = steps.Of(s.End)
	s.all, _ = s.end.(allDrainer)
	if s.socket, _ = s.Socket.(allSocket); s.socket == nil {
		s.all = nil
	}
}

// Update implements System.
func (s *Send) Update(*netecs.World) {
	enter(s.End, &s.order, StepSend)
	if s.send == nil {
		s.Initialize(nil)
	}
	s.end.Send()
	if s.all != nil {
		s.all.DrainAll(s.sendAll)
	} else {
		s.end.Drain(s.send)
	}
	if s.fault != nil {
		s.faults.report(s.End, "sending", s.fault)
		s.fault = nil
	}
}

// Finalize implements System.
func (s *Send) Finalize(*netecs.World) {}

// toSocket sends one datagram. A failed send counts as loss; a frame reports its first error.
func (s *Send) toSocket(to transport.Addr, packet []byte) {
	if err := s.Socket.Send(to, packet); err != nil && s.fault == nil {
		s.fault = fmt.Errorf("to %v: %w", to, err)
	}
}

// allToSocket sends the datagrams for several addresses.
func (s *Send) allToSocket(to []transport.Addr, runs [][]byte, sizes []int) {
	if i, err := s.socket.SendAll(to, runs, sizes); err != nil && s.fault == nil {
		s.fault = fmt.Errorf("to %v: %w", to[i], err)
	}
}

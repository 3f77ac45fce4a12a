package systems

import (
	"fmt"

	"github.com/arche-netcode/netcode"
	netecs "github.com/arche-netcode/netcode/ecs"
)

// Send builds the packets of the frame and passes them to the socket. It runs last, after everything of stage
// PostLateUpdate.
type Send struct {
	End    End    // The builder of the packets.
	Socket Socket // The destination of the packets.

	send    func(to netcode.Addr, packet []byte) // Methods, bound once: binding in each frame would allocate.
	sendAll func(to []netcode.Addr, runs [][]byte, sizes []int)
	end     allDrainer // Nil if the end or the socket takes one packet at a time.
	socket  allSocket
	fault   error // The first error of the frame.
	faults  faults
	order   *order
}

// allSocket is a socket that sends packets to several addresses at once: transport.BatchSender.
type allSocket interface {
	SendAll(to []netcode.Addr, runs [][]byte, sizes []int) (failed int, err error)
}

// allDrainer is an end that may have packets for several addresses.
type allDrainer interface {
	DrainAll(send func(to []netcode.Addr, runs [][]byte, sizes []int))
}

// Initialize implements System.
func (s *Send) Initialize(*netecs.World) {
	s.send, s.sendAll = s.toSocket, s.allToSocket
	s.end, _ = s.End.(allDrainer)
	if s.socket, _ = s.Socket.(allSocket); s.socket == nil {
		s.end = nil
	}
}

// Update implements System.
func (s *Send) Update(*netecs.World) {
	enter(s.End, &s.order, StepSend)
	s.End.Send()
	if s.send == nil {
		s.Initialize(nil)
	}
	if s.end != nil {
		s.end.DrainAll(s.sendAll)
	} else {
		s.End.Drain(s.send)
	}
	if s.fault != nil {
		s.faults.report(s.End, "sending", s.fault)
		s.fault = nil
	}
}

// Finalize implements System.
func (s *Send) Finalize(*netecs.World) {}

// toSocket sends one datagram. A failed send counts as loss; a frame reports its first error.
func (s *Send) toSocket(to netcode.Addr, packet []byte) {
	if err := s.Socket.Send(to, packet); err != nil && s.fault == nil {
		s.fault = fmt.Errorf("to %v: %w", to, err)
	}
}

// allToSocket sends the datagrams for several addresses.
func (s *Send) allToSocket(to []netcode.Addr, runs [][]byte, sizes []int) {
	if i, err := s.socket.SendAll(to, runs, sizes); err != nil && s.fault == nil {
		s.fault = fmt.Errorf("to %v: %w", to[i], err)
	}
}

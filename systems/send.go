package systems

import (
	"fmt"
	"net/netip"

	"github.com/mlange-42/arche/ecs"

	"github.com/arche-netcode/netcode"
)

// Send builds the packets of the frame and hands them to the socket. It runs last, after everything of stage
// PostLateUpdate.
type Send struct {
	End    End
	Socket Socket

	send   func(to netip.AddrPort, packet []byte) // The method, kept: a fresh one each frame would be an allocation.
	fault  error
	faults faults
}

// Initialize implements System.
func (s *Send) Initialize(*ecs.World) { s.send = s.toSocket }

// Update implements System.
func (s *Send) Update(*ecs.World) {
	s.End.Enter(netcode.StepSend)
	s.End.Send()
	if s.send == nil {
		s.Initialize(nil)
	}
	s.End.Drain(s.send)
	if s.fault != nil {
		s.faults.report(s.End, "sending", s.fault)
		s.fault = nil
	}
}

// Finalize implements System.
func (s *Send) Finalize(*ecs.World) {}

// toSocket sends one datagram. One that cannot be sent is as good as lost; a frame reports the first.
func (s *Send) toSocket(to netip.AddrPort, packet []byte) {
	if err := s.Socket.Send(to, packet); err != nil && s.fault == nil {
		s.fault = fmt.Errorf("to %v: %w", to, err)
	}
}

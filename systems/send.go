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
	End    End    // That builds the packets.
	Socket Socket // That takes them.

	send   func(to netip.AddrPort, packet []byte) // The methods, kept: fresh ones each frame would be allocations.
	runs   func(to netip.AddrPort, packets []byte, size int)
	volley func(to []netip.AddrPort, runs [][]byte, sizes []int)
	drain  runDrainer // Nil where either end knows single packets only.
	runner runSocket
	all    allDrainer // Nil where either end knows one address at a time only.
	aller  allSocket
	fault  error
	faults faults
}

// Initialize implements System.
func (s *Send) Initialize(*ecs.World) {
	s.send, s.runs, s.volley = s.toSocket, s.runToSocket, s.allToSocket
	s.drain, _ = s.End.(runDrainer)
	if s.runner, _ = s.Socket.(runSocket); s.runner == nil {
		s.drain = nil
	}
	s.all, _ = s.End.(allDrainer)
	if s.aller, _ = s.Socket.(allSocket); s.aller == nil {
		s.all = nil
	}
}

// runSocket is a socket that takes several packets to one address at once: transport.Runner.
type runSocket interface {
	SendRun(to netip.AddrPort, packets []byte, size int) error
}

// runDrainer is an end that may have several packets for one address.
type runDrainer interface {
	DrainRuns(send func(to netip.AddrPort, packets []byte, size int))
}

// allSocket is a socket that takes packets to several addresses at once: transport.Volleyer.
type allSocket interface {
	SendAll(to []netip.AddrPort, runs [][]byte, sizes []int) (failed int, err error)
}

// allDrainer is an end that may have packets for several addresses.
type allDrainer interface {
	DrainAll(send func(to []netip.AddrPort, runs [][]byte, sizes []int))
}

// Update implements System.
func (s *Send) Update(*ecs.World) {
	s.End.Enter(netcode.StepSend)
	s.End.Send()
	if s.send == nil {
		s.Initialize(nil)
	}
	switch {
	case s.all != nil:
		s.all.DrainAll(s.volley)
	case s.drain != nil:
		s.drain.DrainRuns(s.runs)
	default:
		s.End.Drain(s.send)
	}
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

// runToSocket sends several datagrams to one address.
func (s *Send) runToSocket(to netip.AddrPort, packets []byte, size int) {
	if err := s.runner.SendRun(to, packets, size); err != nil && s.fault == nil {
		s.fault = fmt.Errorf("to %v: %w", to, err)
	}
}

// allToSocket sends what there is for several addresses.
func (s *Send) allToSocket(to []netip.AddrPort, runs [][]byte, sizes []int) {
	if i, err := s.aller.SendAll(to, runs, sizes); err != nil && s.fault == nil {
		s.fault = fmt.Errorf("to %v: %w", to[i], err)
	}
}

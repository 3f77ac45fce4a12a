//go:build !unix || aix

package udp

import (
	"net"
	"net/netip"
)

// sender sends through the standard library, on systems without a non-blocking send.
type sender struct {
	socket   *net.UDPConn
	segments bool // Always false: the library sends one datagram at a time.
}

func (s *sender) open(socket *net.UDPConn) error {
	s.socket = socket
	return nil
}

// send never reports a full kernel: the library waits for room instead.
func (s *sender) send(to netip.AddrPort, _ netip.Addr, datagram []byte) (full bool, err error) {
	_, err = s.socket.WriteToUDPAddrPort(datagram, to)
	return false, err
}

// sendRun returns ok = false: the system has no GSO.
func (s *sender) sendRun(netip.AddrPort, netip.Addr, []byte, int) (full, ok bool, err error) {
	return false, false, nil
}

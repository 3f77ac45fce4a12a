//go:build !unix || aix

package udp

import (
	"net"
	"net/netip"
)

// sender sends by the standard library where the system has no call that refuses to wait.
type sender struct {
	socket   *net.UDPConn
	segments bool // Never: the library sends one datagram at a time.
}

func (s *sender) open(socket *net.UDPConn) error {
	s.socket = socket
	return nil
}

// send never reports that the kernel was full: the library waits for room instead.
func (s *sender) send(to netip.AddrPort, datagram []byte) (full bool, err error) {
	_, err = s.socket.WriteToUDPAddrPort(datagram, to)
	return false, err
}

// sendRun tells that the system takes one datagram at a time.
func (s *sender) sendRun(netip.AddrPort, []byte, int) (full, ok bool, err error) {
	return false, false, nil
}

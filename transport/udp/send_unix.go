//go:build unix && !aix

package udp

import (
	"errors"
	"net"
	"net/netip"
	"strconv"
	"sync"
	"syscall"

	"github.com/arche-netcode/netcode/transport"
)

// maxZones is the maximum number of cached names of network interfaces.
const maxZones = 64

// sender sends without blocking. The standard library would park the goroutine until the kernel has room. Here the datagram is
// dropped and the tick continues, since newer state replaces it. sender contains the memory of the call, so that sending does not
// allocate.
type sender struct {
	mu    sync.Mutex
	raw   syscall.RawConn
	ipv6  bool                     // address family of the socket
	write func(descriptor uintptr) // writeOnce
	zones map[string]uint32

	segments bool // the kernel supports GSO
	inet4    syscall.SockaddrInet4
	inet6    syscall.SockaddrInet6
	datagram []byte
	control  []byte // control data: size of segments, source address; nil: none
	room     [controlSize]byte
	err      error
}

func (s *sender) open(socket *net.UDPConn) error {
	raw, err := socket.SyscallConn()
	if err != nil {
		return err
	}
	s.raw = raw
	s.write = s.writeOnce
	var failed error
	err = raw.Control(func(descriptor uintptr) {
		name, err := syscall.Getsockname(int(descriptor))
		_, s.ipv6 = name.(*syscall.SockaddrInet6)
		failed = err
		s.segments = canSegment(int(descriptor))
	})
	if err == nil {
		err = failed
	}
	return err
}

// send sends one datagram from an address of this machine, or from one that the kernel chooses if local is zero. full means that the
// kernel had no room.
func (s *sender) send(to netip.AddrPort, local netip.Addr, datagram []byte) (full bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err = s.address(to); err != nil {
		return false, err
	}
	if local.IsValid() {
		full, err = s.writeAll(datagram, appendLocal(s.room[:0], s.ipv6, local))
		if err == nil || !isGone(err) {
			return full, err
		}
	}
	return s.writeAll(datagram, nil)
}

// isGone reports whether the kernel cannot send from an address, such as one that the machine no longer has.
func isGone(err error) bool {
	return err == syscall.EINVAL || err == syscall.EADDRNOTAVAIL || err == syscall.ENETUNREACH || err == syscall.ENODEV
}

// sendRun sends datagrams of size bytes each; the last may be shorter. ok is false if the kernel cannot send them in one call;
// then nothing was sent.
func (s *sender) sendRun(to netip.AddrPort, local netip.Addr, datagrams []byte, size int) (full, ok bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.segments {
		return false, false, nil
	}
	if err := s.address(to); err != nil {
		return false, true, err
	}
	control := appendSegments(s.room[:0], size)
	if local.IsValid() {
		control = appendLocal(control, s.ipv6, local)
	}
	full, err = s.writeAll(datagrams, control)
	switch {
	case err == nil:
		return full, true, nil
	case errors.Is(err, net.ErrClosed):
		return false, true, err
	case errors.Is(err, syscall.EIO) || errors.Is(err, syscall.EOPNOTSUPP) || errors.Is(err, syscall.ENOPROTOOPT):
		s.segments = false // the network device does not support it
	}
	return false, false, nil // the caller sends singly, to learn which datagram fails
}

// writeAll writes one datagram, or several with the control message. It uses RawConn.Control, which locks the descriptor as Write
// does, but without the preparations to wait.
func (s *sender) writeAll(data, control []byte) (full bool, err error) {
	s.datagram, s.control, s.err = data, control, nil
	err = s.raw.Control(s.write)
	s.datagram, s.control = nil, nil
	if err != nil {
		return false, err
	}
	switch s.err {
	case nil:
		return false, nil
	case syscall.EAGAIN, syscall.ENOBUFS:
		return true, nil
	case syscall.EMSGSIZE:
		return false, transport.ErrTooLarge
	}
	return false, s.err
}

// writeOnce writes once, without waiting for room.
func (s *sender) writeOnce(descriptor uintptr) {
	for again := true; again; again = s.err == syscall.EINTR {
		if s.control == nil {
			s.err = syscall.Sendto(int(descriptor), s.datagram, syscall.MSG_DONTWAIT, s.to())
		} else {
			_, s.err = syscall.SendmsgN(int(descriptor), s.datagram, s.control, s.to(), syscall.MSG_DONTWAIT)
		}
	}
}

// to returns the socket address that address has set.
func (s *sender) to() syscall.Sockaddr {
	if s.ipv6 {
		return &s.inet6
	}
	return &s.inet4
}

// address sets the socket address for the family of the socket. An IPv6 socket reaches IPv4 by IPv4-mapped addresses.
func (s *sender) address(to netip.AddrPort) error {
	if s.ipv6 {
		zone, err := s.zone(to.Addr().Zone())
		if err != nil {
			return err
		}
		s.inet6.Addr, s.inet6.Port, s.inet6.ZoneId = to.Addr().As16(), int(to.Port()), zone
		return nil
	}
	if !to.Addr().Is4() {
		return transport.ErrAddress
	}
	s.inet4.Addr, s.inet4.Port = to.Addr().As4(), int(to.Port())
	return nil
}

// zone returns the index of a network interface by its name, which is the zone of a link-local address.
func (s *sender) zone(name string) (uint32, error) {
	if name == "" {
		return 0, nil
	}
	if index, ok := s.zones[name]; ok {
		return index, nil
	}
	index, err := strconv.ParseUint(name, 10, 32)
	if err != nil {
		link, err := net.InterfaceByName(name)
		if err != nil {
			return 0, err
		}
		index = uint64(link.Index)
	}
	if s.zones == nil || len(s.zones) >= maxZones {
		s.zones = map[string]uint32{}
	}
	s.zones[name] = uint32(index)
	return uint32(index), nil
}

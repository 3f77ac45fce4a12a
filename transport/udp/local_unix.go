//go:build linux || darwin || freebsd

package udp

import (
	"net"
	"net/netip"
	"syscall"
)

// tellLocal makes the kernel tell to which address of this machine each datagram came, and reports whether it does. A socket that is
// bound to one address needs no telling.
func tellLocal(socket *net.UDPConn) bool {
	raw, err := socket.SyscallConn()
	if err != nil || !socket.LocalAddr().(*net.UDPAddr).IP.IsUnspecified() {
		return false
	}
	done := false
	err = raw.Control(func(descriptor uintptr) {
		if name, err := syscall.Getsockname(int(descriptor)); err == nil {
			if _, ipv6 := name.(*syscall.SockaddrInet6); ipv6 {
				done = syscall.SetsockoptInt(int(descriptor), syscall.IPPROTO_IPV6, receiveLocal6, 1) == nil
				return
			}
		}
		done = syscall.SetsockoptInt(int(descriptor), syscall.IPPROTO_IP, receiveLocal4, 1) == nil
	})
	return err == nil && done
}

// localOf returns the address of this machine in a control message of a read, zero if it has none. Nothing can be sent from the address
// of a group or of all.
func localOf(level, kind int, data []byte) (local netip.Addr) {
	switch {
	case level == syscall.IPPROTO_IP && kind == local4 && len(data) >= localAt4+4:
		local = netip.AddrFrom4([4]byte(data[localAt4:]))
	case level == syscall.IPPROTO_IPV6 && kind == local6 && len(data) >= 16:
		local = netip.AddrFrom16([16]byte(data)).Unmap()
	}
	if local.IsUnspecified() || local.IsMulticast() {
		return netip.Addr{}
	}
	return local
}

// appendLocal appends a control message that makes the kernel send from an address.
func appendLocal(control []byte, ipv6 bool, local netip.Addr) []byte {
	if ipv6 { // struct in6_pktinfo: the address, and an interface that the kernel chooses.
		control, data := appendControl(control, syscall.IPPROTO_IPV6, local6, 20)
		ip := local.As16() // IPv4 in IPv6 on such a socket.
		copy(data, ip[:])
		return control
	}
	control, data := appendControl(control, syscall.IPPROTO_IP, sendLocal4, sendLocalSize4)
	ip := local.As4()
	copy(data[localAt4:], ip[:])
	return control
}

package udp

import (
	"net"
	"syscall"
)

// keepWhole asks the kernel to set DF on all datagrams and to send them whatever it believes of the path (RFC 8899, 4.4). A kernel that
// does not know it fragments: then sessions find a size that arrives in pieces, which is as good.
func keepWhole(socket *net.UDPConn) {
	raw, err := socket.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(descriptor uintptr) {
		_ = syscall.SetsockoptInt(int(descriptor), syscall.IPPROTO_IP, syscall.IP_MTU_DISCOVER, syscall.IP_PMTUDISC_PROBE)
		_ = syscall.SetsockoptInt(int(descriptor), syscall.IPPROTO_IPV6, syscall.IPV6_MTU_DISCOVER, syscall.IPV6_PMTUDISC_PROBE)
	})
}

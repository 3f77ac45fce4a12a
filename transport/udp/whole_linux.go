package udp

import (
	"net"
	"syscall"
)

// keepWhole sets DF on all datagrams and makes the kernel ignore its path MTU (RFC 8899, section 4.4). A kernel without this
// option fragments. Sessions then find a size that arrives in fragments, which works as well.
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

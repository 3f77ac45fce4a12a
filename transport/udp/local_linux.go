package udp

import "syscall"

// The options and messages of IP_PKTINFO and IPV6_PKTINFO. struct in_pktinfo has an interface, the address to send from, and that of the
// datagram.
const (
	receiveLocal4  = syscall.IP_PKTINFO
	local4         = syscall.IP_PKTINFO
	sendLocal4     = syscall.IP_PKTINFO
	localAt4       = 4
	sendLocalSize4 = 12
	receiveLocal6  = syscall.IPV6_RECVPKTINFO
	local6         = syscall.IPV6_PKTINFO
)

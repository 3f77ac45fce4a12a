package udp

import "syscall"

// The options and messages of IP_RECVDSTADDR, with the address alone, and IPV6_PKTINFO.
const (
	receiveLocal4  = syscall.IP_RECVDSTADDR
	local4         = syscall.IP_RECVDSTADDR
	sendLocal4     = syscall.IP_SENDSRCADDR
	localAt4       = 0
	sendLocalSize4 = 4
	receiveLocal6  = syscall.IPV6_RECVPKTINFO
	local6         = syscall.IPV6_PKTINFO
)

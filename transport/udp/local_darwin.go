package udp

// The options and messages of IP_PKTINFO and IPV6_PKTINFO, of netinet/in.h and netinet6/in6.h.
const (
	receiveLocal4  = 26 // IP_RECVPKTINFO
	local4         = 26 // IP_PKTINFO
	sendLocal4     = 26
	localAt4       = 4
	sendLocalSize4 = 12
	receiveLocal6  = 61 // IPV6_RECVPKTINFO
	local6         = 46 // IPV6_PKTINFO
)

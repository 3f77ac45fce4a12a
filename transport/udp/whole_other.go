//go:build !linux

package udp

import "net"

// keepWhole does nothing: the system decides about fragmentation.
func keepWhole(*net.UDPConn) {}

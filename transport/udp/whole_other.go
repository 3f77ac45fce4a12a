//go:build !linux

package udp

import "net"

// keepWhole does nothing: the system decides.
func keepWhole(*net.UDPConn) {}

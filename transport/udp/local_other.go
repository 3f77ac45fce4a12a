//go:build !linux && !darwin && !freebsd

package udp

import (
	"net"
	"net/netip"
)

// tellLocal returns false: the system chooses the address from which a datagram is sent.
func tellLocal(*net.UDPConn) bool { return false }

func localOf(level, kind int, data []byte) netip.Addr { return netip.Addr{} }

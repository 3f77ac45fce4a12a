//go:build !linux

package udp

import "net"

// coalesce returns false: only Linux has GRO.
func coalesce(*net.UDPConn) bool { return false }

func sizeOf(level, kind int, data []byte) int { return 0 }

// canSegment returns false: only Linux has GSO.
func canSegment(int) bool { return false }

func appendSegments(control []byte, size int) []byte { return control }

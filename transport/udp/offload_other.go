//go:build !linux

package udp

import "net"

// coalesce returns false: only Linux has GRO.
func coalesce(*net.UDPConn) bool { return false }

func sizeOf([]byte) int { return 0 }

const controlSize = 1

// canSegment returns false: only Linux has GSO.
func canSegment(int) bool { return false }

func segmentControl(*[controlSize]byte, int) []byte { return nil }

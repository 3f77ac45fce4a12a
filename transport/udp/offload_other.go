//go:build !linux

package udp

import "net"

// coalesce says no: only Linux reads several datagrams as one.
func coalesce(*net.UDPConn) bool { return false }

func sizeOf([]byte) int { return 0 }

const controlSize = 1

// canSegment says no: only Linux cuts writes into datagrams.
func canSegment(int) bool { return false }

func segmentControl(*[controlSize]byte, int) []byte { return nil }

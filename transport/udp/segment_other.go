//go:build unix && !aix && !linux

package udp

const controlSize = 1

// canSegment says no: only Linux cuts writes into datagrams.
func canSegment(int) bool { return false }

func segmentControl(*[controlSize]byte, int) []byte { return nil }

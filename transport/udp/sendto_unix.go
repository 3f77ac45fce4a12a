//go:build unix && !aix && (!linux || (!amd64 && !arm64))

package udp

import "syscall"

// writeOne sends one datagram.
func (s *sender) writeOne(descriptor uintptr) error {
	return syscall.Sendto(int(descriptor), s.datagram, syscall.MSG_DONTWAIT, s.to())
}

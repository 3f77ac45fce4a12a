package main

import (
	"encoding/binary"
	"net"
	"syscall"
)

// Numbers of linux/udp.h that package syscall does not name.
const (
	udpSegment = 103
	udpGRO     = 104
)

// segmentControl is the control message that lets one write carry many packets of the given size.
func segmentControl(size uint16) []byte {
	control := make([]byte, syscall.CmsgSpace(2))
	length := uint64(syscall.CmsgLen(2))
	// struct cmsghdr starts with a size_t and two ints; what precedes the ints is the size_t's width.
	ints := syscall.SizeofCmsghdr - 8
	if ints == 8 {
		binary.NativeEndian.PutUint64(control, length)
	} else {
		binary.NativeEndian.PutUint32(control, uint32(length))
	}
	binary.NativeEndian.PutUint32(control[ints:], syscall.IPPROTO_UDP)
	binary.NativeEndian.PutUint32(control[ints+4:], udpSegment)
	binary.NativeEndian.PutUint16(control[syscall.CmsgLen(0):], size)
	return control
}

// coalesce lets one read return many packets of a sender that segments.
func coalesce(socket *net.UDPConn) error {
	raw, err := socket.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	if err := raw.Control(func(fd uintptr) {
		failed = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_UDP, udpGRO, 1)
	}); err != nil {
		return err
	}
	return failed
}

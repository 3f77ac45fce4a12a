package udp

import (
	"encoding/binary"
	"syscall"
)

// udpSegment is UDP_SEGMENT of linux/udp.h, which package syscall does not name: the kernel cuts one write into datagrams
// of so many bytes, of which the last may have fewer.
const udpSegment = 103

// controlSize is room for a control message with a number of 16 bits, on machines of 32 and 64 bits.
const controlSize = 32

// canSegment asks the kernel whether it knows segments: one that does not would take no notice of being asked to cut, and
// send everything as one datagram.
func canSegment(descriptor int) bool {
	_, err := syscall.GetsockoptInt(descriptor, syscall.IPPROTO_UDP, udpSegment)
	return err == nil
}

// segmentControl is the control message that lets a write carry datagrams of a size.
func segmentControl(room *[controlSize]byte, size int) []byte {
	control := room[:syscall.CmsgSpace(2)]
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
	binary.NativeEndian.PutUint16(control[syscall.CmsgLen(0):], uint16(size))
	return control
}

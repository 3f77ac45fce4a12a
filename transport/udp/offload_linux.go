package udp

import (
	"encoding/binary"
	"net"
	"syscall"
)

// udpGRO is UDP_GRO of linux/udp.h, which package syscall does not define. One read then returns consecutive datagrams of one
// sender, all of one size; the last may be shorter.
const udpGRO = 104

// coalesce enables GRO and reports whether the kernel supports it. Within one machine a run then stays in one piece from sender
// to receiver.
func coalesce(socket *net.UDPConn) bool {
	raw, err := socket.SyscallConn()
	if err != nil {
		return false
	}
	done := false
	err = raw.Control(func(descriptor uintptr) {
		done = syscall.SetsockoptInt(int(descriptor), syscall.IPPROTO_UDP, udpGRO, 1) == nil
	})
	return err == nil && done
}

// sizeOf returns the size of the datagrams in a read, 0 for a single one. control is the kernel's control data.
func sizeOf(control []byte) int {
	header := syscall.CmsgLen(0)
	ints := syscall.SizeofCmsghdr - 8 // struct cmsghdr starts with a size_t and two ints
	for len(control) >= header {
		length := int(binary.NativeEndian.Uint32(control))
		if ints == 8 {
			length = int(binary.NativeEndian.Uint64(control))
		}
		if length < header || length > len(control) {
			return 0
		}
		level, kind := binary.NativeEndian.Uint32(control[ints:]), binary.NativeEndian.Uint32(control[ints+4:])
		if level == syscall.IPPROTO_UDP && kind == udpGRO && length >= header+4 {
			return int(int32(binary.NativeEndian.Uint32(control[header:])))
		}
		control = control[min(syscall.CmsgSpace(length-header), len(control)):]
	}
	return 0
}

// udpSegment is UDP_SEGMENT of linux/udp.h, which package syscall does not define. The kernel splits one write into datagrams of
// that size; the last may be shorter.
const udpSegment = 103

// controlSize is the room for a control message with a 16-bit number, on machines of 32 and 64 bits.
const controlSize = 32

// canSegment reports whether the kernel supports GSO. A kernel without it would ignore the control message and send everything as
// one datagram.
func canSegment(descriptor int) bool {
	_, err := syscall.GetsockoptInt(descriptor, syscall.IPPROTO_UDP, udpSegment)
	return err == nil
}

// segmentControl returns the control message that makes the kernel split a write into datagrams of size bytes.
func segmentControl(room *[controlSize]byte, size int) []byte {
	control := room[:syscall.CmsgSpace(2)]
	length := uint64(syscall.CmsgLen(2))
	// struct cmsghdr starts with a size_t and two ints; ints is the width of the size_t.
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

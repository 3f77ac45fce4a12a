package udp

import (
	"encoding/binary"
	"net"
	"syscall"
)

// udpGRO is UDP_GRO of linux/udp.h, which package syscall does not name: one read returns datagrams of one sender that came
// together, one behind the other, all of a size but for the last, which may be shorter.
const udpGRO = 104

// coalesce asks the kernel for that, and reports whether it does it. Within one machine a run that was sent in one call then
// stays in one piece on its whole way; else the sender's call cuts it into as many as it has datagrams.
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

// sizeOf is of which size the datagrams of a read are, 0 where it was one.
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

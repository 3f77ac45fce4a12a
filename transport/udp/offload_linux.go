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

// sizeOf returns the size of the datagrams in a read, as a control message has it, 0 if it is another one.
func sizeOf(level, kind int, data []byte) int {
	if level == syscall.IPPROTO_UDP && kind == udpGRO && len(data) >= 4 {
		return int(int32(binary.NativeEndian.Uint32(data)))
	}
	return 0
}

// udpSegment is UDP_SEGMENT of linux/udp.h, which package syscall does not define. The kernel splits one write into datagrams of
// that size; the last may be shorter.
const udpSegment = 103

// canSegment reports whether the kernel supports GSO. A kernel without it would ignore the control message and send everything as
// one datagram.
func canSegment(descriptor int) bool {
	_, err := syscall.GetsockoptInt(descriptor, syscall.IPPROTO_UDP, udpSegment)
	return err == nil
}

// appendSegments appends a control message that makes the kernel split a write into datagrams of size bytes.
func appendSegments(control []byte, size int) []byte {
	control, data := appendControl(control, syscall.IPPROTO_UDP, udpSegment, 2)
	binary.NativeEndian.PutUint16(data, uint16(size))
	return control
}

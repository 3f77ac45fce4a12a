//go:build linux || darwin || freebsd

package udp

import (
	"encoding/binary"
	"syscall"
)

// controlSize is the room for the control data of a write: the size of segments and an address, on machines of 32 and 64 bits.
const controlSize = 96

// lengthSize is the width of the length at the start of struct cmsghdr, a size_t on Linux and 32 bits elsewhere. Two ints follow.
const lengthSize = syscall.SizeofCmsghdr - 8

// nextControl reads the first message of control data. ok is false if there is no whole one.
func nextControl(control []byte) (level, kind int, data, rest []byte, ok bool) {
	header := syscall.CmsgLen(0)
	if len(control) < header {
		return 0, 0, nil, nil, false
	}
	length := int(binary.NativeEndian.Uint32(control))
	if lengthSize == 8 {
		length = int(binary.NativeEndian.Uint64(control))
	}
	if length < header || length > len(control) {
		return 0, 0, nil, nil, false
	}
	level, kind = int(binary.NativeEndian.Uint32(control[lengthSize:])), int(binary.NativeEndian.Uint32(control[lengthSize+4:]))
	return level, kind, control[header:length], control[min(syscall.CmsgSpace(length-header), len(control)):], true
}

// appendControl appends a message of size bytes, all zero, to control data with enough room, and returns these bytes.
func appendControl(control []byte, level, kind, size int) (longer, data []byte) {
	n := len(control)
	control = control[:n+syscall.CmsgSpace(size)]
	message := control[n:]
	clear(message)
	if lengthSize == 8 {
		binary.NativeEndian.PutUint64(message, uint64(syscall.CmsgLen(size)))
	} else {
		binary.NativeEndian.PutUint32(message, uint32(syscall.CmsgLen(size)))
	}
	binary.NativeEndian.PutUint32(message[lengthSize:], uint32(level))
	binary.NativeEndian.PutUint32(message[lengthSize+4:], uint32(kind))
	return control, message[syscall.CmsgLen(0):syscall.CmsgLen(size)]
}

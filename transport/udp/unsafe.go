//go:build linux && (amd64 || arm64)

package udp

import (
	"syscall"
	"unsafe"
)

// sendmmsg sends messages in one call and returns the number sent. If that is 0, errno is the error of the first message.
func sendmmsg(descriptor uintptr, messages []message) (n int, errno syscall.Errno) {
	// SAFETY: message has the layout of the kernel's struct mmsghdr (a test checks its size and offsets), and there is at least one.
	// It points to Go memory that it keeps alive and that is never moved. The pointer is converted in the call itself.
	sent, _, errno := syscall.Syscall6(sysSendmmsg, descriptor, uintptr(unsafe.Pointer(&messages[0])), uintptr(len(messages)), syscall.MSG_DONTWAIT, 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(sent), 0
}

// sendto sends one datagram of at least one byte. name is the address in the kernel's form.
func sendto(descriptor uintptr, datagram, name []byte) syscall.Errno {
	// SAFETY: both slices have at least one byte of Go memory, which they keep alive and which is not moved during the call. The
	// kernel only reads it. The pointers are converted in the call itself.
	_, _, errno := syscall.RawSyscall6(syscall.SYS_SENDTO, descriptor, uintptr(unsafe.Pointer(&datagram[0])), uintptr(len(datagram)),
		syscall.MSG_DONTWAIT, uintptr(unsafe.Pointer(&name[0])), uintptr(len(name)))
	return errno
}

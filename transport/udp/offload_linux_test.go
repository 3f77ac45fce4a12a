package udp

import (
	"encoding/binary"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// said is a control message with a number of 32 bits.
func said(level, kind, value uint32) []byte {
	b := make([]byte, syscall.CmsgSpace(4))
	if syscall.SizeofCmsghdr == 16 {
		binary.NativeEndian.PutUint64(b, uint64(syscall.CmsgLen(4)))
	} else {
		binary.NativeEndian.PutUint32(b, uint32(syscall.CmsgLen(4)))
	}
	binary.NativeEndian.PutUint32(b[syscall.SizeofCmsghdr-8:], level)
	binary.NativeEndian.PutUint32(b[syscall.SizeofCmsghdr-4:], kind)
	binary.NativeEndian.PutUint32(b[syscall.CmsgLen(0):], value)
	return b
}

func TestSegmentSizeOfJoinedDatagrams(t *testing.T) {
	other, size := said(syscall.IPPROTO_IP, 8, 77), said(syscall.IPPROTO_UDP, udpGRO, 1171)
	require.Equal(t, 1171, sizeOf(size))
	require.Equal(t, 1171, sizeOf(append(append([]byte(nil), other...), size...)))
	require.Zero(t, sizeOf(other))
	require.Zero(t, sizeOf(nil))
	for n := range len(size) {
		cut := append(append([]byte(nil), other...), size[:n]...)
		require.NotPanics(t, func() { sizeOf(cut) })
	}
	size[0] = 0 // no length
	require.Zero(t, sizeOf(size))
}

package udp

import (
	"encoding/binary"
	"net/netip"
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
	sizeOf := func(control []byte) int {
		size, _ := (&Conn{}).readControl(control)
		return size
	}
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

// A local address that was appended is read again, for each family.
func TestControlDataOfAWrite(t *testing.T) {
	for _, ipv6 := range []bool{false, true} {
		at := netip.MustParseAddr("192.0.2.7")
		var room [controlSize]byte
		control := appendLocal(appendSegments(room[:0], 1200), ipv6, at)
		level, kind, data, rest, ok := nextControl(control)
		require.True(t, ok)
		require.Equal(t, []int{syscall.IPPROTO_UDP, udpSegment, 2}, []int{level, kind, len(data)})
		require.EqualValues(t, 1200, binary.NativeEndian.Uint16(data))
		level, kind, data, rest, ok = nextControl(rest)
		require.True(t, ok)
		require.Equal(t, at, localOf(level, kind, data))
		require.Empty(t, rest)
	}
	require.Zero(t, localOf(syscall.IPPROTO_IP, local4, make([]byte, 12)), "no address")
	require.Zero(t, localOf(syscall.IPPROTO_IP, local4, make([]byte, 7)), "cut")
	require.Zero(t, localOf(syscall.IPPROTO_IPV6, local6, make([]byte, 15)), "cut")
	require.Zero(t, localOf(syscall.IPPROTO_IP, local4, []byte{0, 0, 0, 0, 224, 0, 0, 1, 224, 0, 0, 1}), "a group")
}

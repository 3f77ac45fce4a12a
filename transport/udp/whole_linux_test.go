package udp

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// Datagrams of a socket are not cut on their way.
func TestDatagramsStayWhole(t *testing.T) {
	c := listen(t, "127.0.0.1:0", Config{})
	raw, err := c.socket.SyscallConn()
	require.NoError(t, err)
	require.NoError(t, raw.Control(func(descriptor uintptr) {
		way, err := syscall.GetsockoptInt(int(descriptor), syscall.IPPROTO_IP, syscall.IP_MTU_DISCOVER)
		require.NoError(t, err)
		require.Equal(t, syscall.IP_PMTUDISC_PROBE, way)
	}))
}

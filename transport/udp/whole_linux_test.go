package udp

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// Datagrams of a socket are not to be cut on their way, of either family, unless that is asked for.
func TestDatagramsStayWhole(t *testing.T) {
	for _, fragments := range []bool{false, true} {
		c := listen(t, "127.0.0.1:0", Config{Fragments: fragments})
		raw, err := c.socket.SyscallConn()
		require.NoError(t, err)
		require.NoError(t, raw.Control(func(descriptor uintptr) {
			way, err := syscall.GetsockoptInt(int(descriptor), syscall.IPPROTO_IP, syscall.IP_MTU_DISCOVER)
			require.NoError(t, err)
			require.Equal(t, !fragments, way == syscall.IP_PMTUDISC_PROBE)
		}))
	}
}

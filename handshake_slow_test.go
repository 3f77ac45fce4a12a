package netcode_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/nettest"
	"github.com/arche-netcode/netcode/transport"
)

// Three round trips of 1.5 s fit into HandshakeTimeout, also where the server's cookies change between the first Hellos.
func TestClientsJoinOverSlowLinks(t *testing.T) {
	for phase := range 20 {
		n := nettest.New(t, nettest.Config{Protocol: protocol(), Link: transport.Link{Delay: 750 * time.Millisecond}})
		n.Run(time.Duration(phase) * 250 * time.Millisecond)
		c := n.Join()
		n.Run(5 * time.Second)
		require.Equal(t, netcode.Connected, c.Client.State(), "began %v after the cookie", time.Duration(phase)*250*time.Millisecond)
	}
}
